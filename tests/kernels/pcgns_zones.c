/* Zones by the parallel CGNS calls and, compiled with -DSERIAL, the same file by the CGNS project's
 * serial library: both must be equal.
 *
 *     pcgns_zones write PATH independent|collective|shared     (serial: write PATH ZONES)
 *     pcgns_zones read PATH independent|collective
 *     pcgns_zones fail PATH
 *
 * independent and collective: a zone for every rank, larger by one for each. shared: one zone, its
 * planes shared out. fail: what must be refused, on every rank alike. */
#ifdef SERIAL
#include <cgnslib.h>
#else
#include <pcgnslib.h>
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ELEMENTS_AT_MOST = 20 * 20 * 20, COORDINATES = 3, FIELDS = 3 };

static const char *const COORDINATE[COORDINATES] = {"CoordinateX", "CoordinateY", "CoordinateZ"};
static const char *const FIELD[FIELDS] = {"Density", "Pressure", "Counter"};
static const DataType_t FIELD_TYPE[FIELDS] = {RealDouble, RealSingle, Integer};

static int rank, ranks = 1;

static void stop(void)
{
#ifdef SERIAL
    cg_error_exit();
#else
    cgp_error_exit();
#endif
}

#define DO(call)                                                                                   \
    do {                                                                                           \
        if ((call) != CG_OK)                                                                       \
            stop();                                                                                \
    } while (0)

static void sizes_of(int zone, cgsize_t *size)
{
    for (int d = 0; d < 3; d++) {
        size[d] = 3 + d + zone;
        size[3 + d] = size[d] - 1;
        size[6 + d] = 0;
    }
}

/* Element (i, j, k) of array number n of a zone, so that every one is different. */
static double value(int zone, int n, long i, long j, long k)
{
    return 1e6 * zone + 1e5 * n + 1e4 + 400.0 * (double)k + 20.0 * (double)j + (double)i;
}

/* Fills first … last, in Fortran's order, with values of the given type. */
static void fill(int zone, int n, DataType_t type, const cgsize_t *first, const cgsize_t *last,
                 void *data)
{
    long at = 0;
    for (cgsize_t k = first[2]; k <= last[2]; k++)
        for (cgsize_t j = first[1]; j <= last[1]; j++)
            for (cgsize_t i = first[0]; i <= last[0]; i++, at++) {
                const double v = value(zone, n, i, j, k);
                if (type == RealDouble)
                    ((double *)data)[at] = v;
                else if (type == RealSingle)
                    ((float *)data)[at] = (float)v;
                else
                    ((int *)data)[at] = (int)v;
            }
}

#ifdef SERIAL

static void write_file(const char *path, int zones)
{
    static double data[ELEMENTS_AT_MOST];
    const cgsize_t first[3] = {1, 1, 1};
    int file, base, zone, solution, number;
    DO(cg_set_file_type(CG_FILE_HDF5));
    DO(cg_open(path, CG_MODE_WRITE, &file));
    DO(cg_base_write(file, "Base", 3, 3, &base));
    for (int z = 0; z < zones; z++) {
        char name[33];
        cgsize_t size[9];
        sizes_of(z, size);
        snprintf(name, sizeof name, "Zone%d", z);
        DO(cg_zone_write(file, base, name, size, Structured, &zone));
        for (int c = 0; c < COORDINATES; c++) {
            fill(z, c, RealDouble, first, size, data);
            DO(cg_coord_write(file, base, zone, RealDouble, COORDINATE[c], data, &number));
        }
        DO(cg_sol_write(file, base, zone, "Cells", CellCenter, &solution));
        DO(cg_sol_write(file, base, zone, "Vertices", Vertex, &solution));
        for (int f = 0; f < FIELDS; f++) {
            const int on_cells = f < 2;
            fill(z, 3 + f, FIELD_TYPE[f], first, on_cells ? size + 3 : size, data);
            DO(cg_field_write(file, base, zone, on_cells ? 1 : 2, FIELD_TYPE[f], FIELD[f], data,
                              &number));
        }
    }
    DO(cg_close(file));
}

int main(int argc, char **argv)
{
    (void)rank, (void)ranks;
    if (argc != 4)
        return 2;
    write_file(argv[2], atoi(argv[3]));
    return 0;
}

#else

typedef struct {
    int zone, coordinate[COORDINATES], field[FIELDS];
} numbers;

/* All metadata and empty arrays, by all ranks. */
static void create(int file, int base, int z, numbers *made)
{
    char name[33];
    cgsize_t size[9];
    int cells, vertices;
    sizes_of(z, size);
    snprintf(name, sizeof name, "Zone%d", z);
    DO(cg_zone_write(file, base, name, size, Structured, &made->zone));
    for (int c = 0; c < COORDINATES; c++)
        DO(cgp_coord_write(file, base, made->zone, RealDouble, COORDINATE[c],
                           &made->coordinate[c]));
    DO(cg_sol_write(file, base, made->zone, "Cells", CellCenter, &cells));
    DO(cg_sol_write(file, base, made->zone, "Vertices", Vertex, &vertices));
    for (int f = 0; f < FIELDS; f++)
        DO(cgp_field_write(file, base, made->zone, f < 2 ? cells : vertices, FIELD_TYPE[f],
                           FIELD[f], &made->field[f]));
}

/* The part of a zone that this rank has: all of its own, nothing of others', or a share of the
 * planes of a shared one.
 */
static int part_of(int z, int is_shared, int on_cells, cgsize_t *first, cgsize_t *last)
{
    cgsize_t size[9];
    sizes_of(z, size);
    for (int d = 0; d < 3; d++) {
        first[d] = 1;
        last[d] = size[d + (on_cells ? 3 : 0)];
    }
    if (is_shared) {
        const cgsize_t planes = last[2];
        first[2] = planes * rank / ranks + 1;
        last[2] = planes * (rank + 1) / ranks;
        return last[2] >= first[2];
    }
    return z == rank;
}

static void write_data(int file, int base, int z, int is_shared, const numbers *made)
{
    static double data[ELEMENTS_AT_MOST];
    cgsize_t first[3], last[3];
    for (int c = 0; c < COORDINATES; c++) {
        const int mine = part_of(z, is_shared, 0, first, last);
        fill(z, c, RealDouble, first, last, data);
        DO(cgp_coord_write_data(file, base, made->zone, made->coordinate[c], first, last,
                                mine ? data : NULL));
    }
    for (int f = 0; f < FIELDS; f++) {
        const int on_cells = f < 2, mine = part_of(z, is_shared, on_cells, first, last);
        fill(z, 3 + f, FIELD_TYPE[f], first, last, data);
        DO(cgp_field_write_data(file, base, made->zone, on_cells ? 1 : 2, made->field[f], first,
                                last, mine ? data : NULL));
    }
}

static void write_file(const char *path, const char *how)
{
    const int is_shared = strcmp(how, "shared") == 0, zones = is_shared ? 1 : ranks;
    const PIOmode_t mode = strcmp(how, "independent") == 0 ? CGP_INDEPENDENT : CGP_COLLECTIVE;
    numbers made[16];
    int file, base;
    DO(cgp_mpi_comm(MPI_COMM_WORLD));
    DO(cgp_pio_mode(mode));
    DO(cgp_open(path, CG_MODE_WRITE, &file));
    DO(cg_base_write(file, "Base", 3, 3, &base));
    for (int z = 0; z < zones; z++)
        create(file, base, z, &made[z]);
    for (int z = 0; z < zones; z++)
        if (mode == CGP_COLLECTIVE || z == rank)
            write_data(file, base, z, is_shared, &made[z]);
    DO(cgp_close(file));
}

static void expect(int same, const char *what)
{
    if (same)
        return;
    fprintf(stderr, "rank %d: %s\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void check_structure(int file)
{
    int bases, cells, space, zones, coordinates, solutions, fields;
    char name[33];
    GridLocation_t location;
    ZoneType_t zone_type;
    DO(cg_nbases(file, &bases));
    DO(cg_base_read(file, 1, name, &cells, &space));
    DO(cg_nzones(file, 1, &zones));
    DO(cg_zone_type(file, 1, zones, &zone_type));
    DO(cg_ncoords(file, 1, zones, &coordinates));
    DO(cg_nsols(file, 1, zones, &solutions));
    DO(cg_nfields(file, 1, zones, 1, &fields));
    expect(bases == 1 && cells == 3 && space == 3 && strcmp(name, "Base") == 0, "the base differs");
    expect(zones == ranks && zone_type == Structured, "the zones differ");
    expect(coordinates == COORDINATES && solutions == 2 && fields == 2, "the arrays differ");
    DO(cg_sol_info(file, 1, zones, 1, name, &location));
    expect(location == CellCenter && strcmp(name, "Cells") == 0, "the solution differs");
}

/* Every rank reads what the next one wrote, as the file has it. */
static void read_file(const char *path, const char *how)
{
    static double data[ELEMENTS_AT_MOST], wanted[ELEMENTS_AT_MOST];
    const PIOmode_t mode = strcmp(how, "independent") == 0 ? CGP_INDEPENDENT : CGP_COLLECTIVE;
    const int next = (rank + 1) % ranks;
    int file;
    DO(cgp_pio_mode(mode));
    DO(cgp_open(path, CG_MODE_READ, &file));
    check_structure(file);
    for (int z = 0; z < ranks; z++) {
        cgsize_t size[9], wanted_size[9], first[3] = {2, 1, 2};
        char name[33];
        DataType_t type;
        if (mode == CGP_INDEPENDENT && z != next)
            continue;
        DO(cg_zone_read(file, 1, z + 1, name, size));
        sizes_of(z, wanted_size);
        expect(memcmp(size, wanted_size, sizeof size) == 0, "the zone's size differs");
        DO(cg_coord_info(file, 1, z + 1, 2, &type, name));
        expect(type == RealDouble && strcmp(name, "CoordinateY") == 0, "the coordinate differs");
        memset(data, 0, sizeof data);
        memset(wanted, 0, sizeof wanted);
        DO(cgp_coord_read_data(file, 1, z + 1, 2, first, size, z == next ? data : NULL));
        if (z == next)
            fill(z, 1, RealDouble, first, size, wanted);
        expect(memcmp(data, wanted, sizeof data) == 0, "a coordinate's values differ");
        memset(data, 0, sizeof data);
        memset(wanted, 0, sizeof wanted);
        DO(cgp_field_read_data(file, 1, z + 1, 1, 2, first, size + 3, z == next ? data : NULL));
        if (z == next)
            fill(z, 4, RealSingle, first, size + 3, wanted);
        expect(memcmp(data, wanted, sizeof data) == 0, "a field's values differ");
    }
    DO(cgp_close(file));
}

static void refuse(int code, const char *sentence)
{
    expect(code == CG_ERROR && strstr(cg_get_error(), sentence), cg_get_error());
}

static void fail_file(const char *path)
{
    const cgsize_t size[9] = {4, 4, 4, 3, 3, 3, 0, 0, 0}, wrong[9] = {4, 4, 4, 4, 4, 4, 0, 0, 0};
    const cgsize_t first[3] = {1, 1, 1}, beyond[3] = {4, 4, 5};
    static double data[ELEMENTS_AT_MOST];
    int file, base, zone, number;
    refuse(cgp_open("/nowhere/grid.cgns", CG_MODE_WRITE, &file),
           "cannot create '/nowhere/grid.cgns'");
    refuse(cgp_open("/nowhere/grid.cgns", CG_MODE_READ, &file), "cannot open '/nowhere/grid.cgns'");
    refuse(cgp_close(77), "77 is the number of no open file");
    DO(cgp_open(path, CG_MODE_WRITE, &file));
    refuse(cg_base_write(file, "Base", 4, 4, &base), "cells of 4 dimensions");
    DO(cg_base_write(file, "Base", 3, 3, &base));
    refuse(cg_base_write(file, "Base", 3, 3, &base), "has a node of that name already");
    refuse(cg_base_write(file, "a name of more than thirty-two letters", 3, 3, &base),
           "1 to 32 characters");
    refuse(cg_zone_write(file, base, "Zone", wrong, Structured, &zone),
           "one cell less than vertices");
    DO(cg_zone_write(file, base, "Zone", size, Structured, &zone));
    refuse(cgp_coord_write(file, base, 2, RealDouble, "CoordinateX", &number),
           "has no Zone_t number 2");
    DO(cgp_coord_write(file, base, zone, RealDouble, "CoordinateX", &number));
    /* one rank is wrong, in the collective mode, and the others are not left waiting */
    const int code = cgp_coord_write_data(file, base, zone, number, first,
                                          rank == 0 ? beyond : size, rank < 2 ? data : NULL);
    expect(code == (rank == 0 ? CG_ERROR : CG_OK), "the range's check");
    DO(cgp_close(file));
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc == 4 && strcmp(argv[1], "write") == 0)
        write_file(argv[2], argv[3]);
    else if (argc == 4 && strcmp(argv[1], "read") == 0)
        read_file(argv[2], argv[3]);
    else if (argc == 3 && strcmp(argv[1], "fail") == 0)
        fail_file(argv[2]);
    else
        MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Finalize();
    return 0;
}
#endif
