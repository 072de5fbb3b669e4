/* Prints what a CGNS file holds, through the CGNS project's own serial library: an independent
 * reader.
 *
 *     cgns_dump FILE      one line per array: PATH TYPE DIMENSION… : BYTES in hexadecimal
 *
 * The path is BASE/ZONE/SOLUTION/FIELD, with the location of the solution behind the solution's
 * name, or BASE/DATA/ARRAY. Dimensions are in Fortran's order. Steps come first, one line per zone:
 * steps BASE/ZONE SOLUTION… */
#include <cgnslib.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void stop(void)
{
    cg_error_print();
    exit(1);
}

#define DO(call)                                                                                   \
    do {                                                                                           \
        if ((call) != CG_OK)                                                                       \
            stop();                                                                                \
    } while (0)

static size_t bytes_of(DataType_t type)
{
    return type == RealDouble || type == LongInteger ? 8 : type == Character ? 1 : 4;
}

static void print_bytes(const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        printf("%02x", bytes[i]);
    putchar('\n');
}

/* Every array of the node that cg_goto went to. */
static void dump_arrays(const char *path)
{
    int arrays;
    DO(cg_narrays(&arrays));
    for (int a = 1; a <= arrays; a++) {
        char name[33];
        DataType_t type;
        int dimensions;
        cgsize_t size[12];
        size_t elements = 1;
        DO(cg_array_info(a, name, &type, &dimensions, size));
        printf("%s/%s %s", path, name, DataTypeName[type]);
        for (int d = 0; d < dimensions; d++) {
            printf(" %ld", (long)size[d]);
            elements *= (size_t)size[d];
        }
        unsigned char *data = malloc(elements * bytes_of(type));
        DO(cg_array_read(a, data));
        printf(" : ");
        print_bytes(data, elements * bytes_of(type));
        free(data);
    }
}

static void dump_user_data(int file, int base, const char *base_name)
{
    int count;
    DO(cg_goto(file, base, "end"));
    DO(cg_nuser_data(&count));
    for (int u = 1; u <= count; u++) {
        char name[33], path[128];
        DO(cg_goto(file, base, "end"));
        DO(cg_user_data_read(u, name));
        DO(cg_goto(file, base, "UserDefinedData_t", u, "end"));
        snprintf(path, sizeof path, "%s/%s", base_name, name);
        dump_arrays(path);
    }
}

static void dump_steps(int file, int base, int zone, const char *path)
{
    char names[32 * 64 + 1] = "", name[33];
    int steps;
    if (cg_biter_read(file, base, name, &steps) != CG_OK ||
        cg_ziter_read(file, base, zone, name) != CG_OK)
        return;
    DO(cg_goto(file, base, "Zone_t", zone, "ZoneIterativeData_t", 1, "end"));
    DO(cg_array_read(1, names));
    printf("steps %s", path);
    for (int step = 0; step < steps; step++)
        printf(" %.*s", (int)strcspn(names + 32 * step, " "), names + 32 * step);
    putchar('\n');
}

static void dump_zone(int file, int base, int zone, const char *base_name)
{
    char name[33], path[128];
    cgsize_t size[9];
    int solutions;
    DO(cg_zone_read(file, base, zone, name, size));
    snprintf(path, sizeof path, "%s/%s", base_name, name);
    dump_steps(file, base, zone, path);
    DO(cg_nsols(file, base, zone, &solutions));
    if (cg_goto(file, base, "Zone_t", zone, "GridCoordinates_t", 1, "end") == CG_OK) {
        char coordinates[160];
        snprintf(coordinates, sizeof coordinates, "%s/GridCoordinates", path);
        dump_arrays(coordinates);
    }
    for (int s = 1; s <= solutions; s++) {
        char solution[33], under[192];
        GridLocation_t location;
        DO(cg_sol_info(file, base, zone, s, solution, &location));
        DO(cg_goto(file, base, "Zone_t", zone, "FlowSolution_t", s, "end"));
        snprintf(under, sizeof under, "%s/%s@%s", path, solution, GridLocationName[location]);
        dump_arrays(under);
    }
}

int main(int argc, char **argv)
{
    int file, bases;
    if (argc != 2)
        return 2;
    DO(cg_open(argv[1], CG_MODE_READ, &file));
    DO(cg_nbases(file, &bases));
    for (int b = 1; b <= bases; b++) {
        char name[33];
        int cells, space, zones;
        DO(cg_base_read(file, b, name, &cells, &space));
        DO(cg_nzones(file, b, &zones));
        for (int z = 1; z <= zones; z++)
            dump_zone(file, b, z, name);
        dump_user_data(file, b, name);
    }
    DO(cg_close(file));
    return 0;
}
