/* By the parallel CGNS calls: first all ranks create all zones and arrays, then each fills in its own. */
#include "cache.h"
#include "info.h"
#include "program.h"
#include "stream_records.h"
#include "zones.h"

#include <pcgnslib.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where things are in the open file: those of a zone are the same in all zones. */
typedef struct {
    int file, base, solution;
    int *zone;     /* of each zone */
    int array[64]; /* of each array: its number among the coordinates, or among the solution's fields */
} places;

static int failed(zone_set *z, const char *what)
{
    snprintf(z->problem.sentence, sizeof z->problem.sentence, "cannot %s '%.500s': %.400s", what, z->io.path,
             cg_get_error());
    return -1;
}

static int agree(zone_set *z, int status)
{
    return failure_agree(&z->problem, status != 0, z->comm);
}

static DataType_t data_type(const zone_set *z)
{
    return z->type == GRIDIO_FLOAT64 ? RealDouble : RealSingle;
}

/* --- what the records say -------------------------------------------------------------------------------------------
 */

static void zone_name(int zone, char *name, size_t room)
{
    snprintf(name, room, "Zone%06d", zone + 1);
}

static char *place_in_file(int zone, int array)
{
    char of_zone[32], of_array[32], name[128];
    zone_name(zone, of_zone, sizeof of_zone);
    zone_array_name(array, of_array, sizeof of_array);
    snprintf(name, sizeof name, "Base/%s/%s/%s", of_zone, array < COORDINATES ? "GridCoordinates" : "FlowSolution",
             of_array);
    return strdup(name);
}

static bool is_mine(const zone_set *z, int zone)
{
    return (z->zones == 1 || zone == z->rank) && zone_elements(z) > 0;
}

void zones_describe_for_cgp(zone_set *z)
{
    const int64_t n = z->points;
    z->io.variables = z->zones * z->arrays;
    z->io.variable = calloc((size_t)z->io.variables, sizeof *z->io.variable);
    for (int v = 0; v < z->io.variables; v++)
        z->io.variable[v] = (stream_variable){.blocks = is_mine(z, v / z->arrays),
                                              .block = z->part,
                                              .variable = {.name = place_in_file(v / z->arrays, v % z->arrays),
                                                           .units = "1",
                                                           .type = z->type,
                                                           .dimensions = 3,
                                                           .size = {n, n, n},
                                                           .dimension_name = {"k", "j", "i"},
                                                           .tiled = true,
                                                           .every_step = true}};
    z->io.method_in_use = z->collective ? "cgp-collective" : "cgp-independent";
    z->io.format_in_use = "cgns";
}

/* --- creating -------------------------------------------------------------------------------------------------------
 */

static int open_file(zone_set *z, places *at, bool to_write)
{
    char path[4200];
    MPI_Info info = info_from_hints(z->io.hints);
    snprintf(path, sizeof path, "%s%s", z->io.path, to_write ? ".partial" : "");
    cgp_mpi_comm(z->comm);
    cgp_mpi_info(info);
    cgp_pio_mode(z->collective ? CGP_COLLECTIVE : CGP_INDEPENDENT);
    const int status = cgp_open(path, to_write ? CG_MODE_WRITE : CG_MODE_READ, &at->file);
    if (info != MPI_INFO_NULL)
        MPI_Info_free(&info);
    return status == CG_OK ? 0 : failed(z, "open");
}

static int create_arrays(zone_set *z, places *at, int zone)
{
    char name[32];
    for (int array = 0; array < COORDINATES; array++) {
        zone_array_name(array, name, sizeof name);
        if (cgp_coord_write(at->file, at->base, at->zone[zone], data_type(z), name, &at->array[array]) != CG_OK)
            return failed(z, "create a coordinate in");
    }
    if (z->arrays == COORDINATES)
        return 0;
    if (cg_sol_write(at->file, at->base, at->zone[zone], "FlowSolution", Vertex, &at->solution) != CG_OK)
        return failed(z, "create a flow solution in");
    for (int array = COORDINATES; array < z->arrays; array++) {
        zone_array_name(array, name, sizeof name);
        if (cgp_field_write(at->file, at->base, at->zone[zone], at->solution, data_type(z), name, &at->array[array]) !=
            CG_OK)
            return failed(z, "create a field in");
    }
    return 0;
}

static int create_all(zone_set *z, places *at)
{
    const cgsize_t n = z->points, size[9] = {n, n, n, n - 1, n - 1, n - 1, 0, 0, 0};
    char name[32];
    if (cg_base_write(at->file, "Base", 3, 3, &at->base) != CG_OK)
        return failed(z, "create the base of");
    for (int zone = 0; zone < z->zones; zone++) {
        zone_name(zone, name, sizeof name);
        if (cg_zone_write(at->file, at->base, name, size, Structured, &at->zone[zone]) != CG_OK)
            return failed(z, "create a zone in");
        if (create_arrays(z, at, zone) != 0)
            return -1;
    }
    return 0;
}

/* --- moving ---------------------------------------------------------------------------------------------------------
 */

/* This rank's part, counted from 1, i first. */
static void range(const zone_set *z, cgsize_t *first, cgsize_t *last)
{
    for (int d = 0; d < 3; d++) {
        first[d] = z->part.start[2 - d] + 1;
        last[d] = z->part.start[2 - d] + z->part.count[2 - d];
    }
}

static int move(zone_set *z, const places *at, int zone, int array, void *data, bool to_write)
{
    const int f = at->file, b = at->base, n = at->zone[zone], s = at->solution, a = at->array[array];
    cgsize_t first[3], last[3];
    int status;
    range(z, first, last);
    if (array < COORDINATES)
        status = to_write ? cgp_coord_write_data(f, b, n, a, first, last, data)
                          : cgp_coord_read_data(f, b, n, a, first, last, data);
    else
        status = to_write ? cgp_field_write_data(f, b, n, s, a, first, last, data)
                          : cgp_field_read_data(f, b, n, s, a, first, last, data);
    return status == CG_OK ? 0 : failed(z, to_write ? "write" : "read");
}

static int write_array(zone_set *z, const places *at, int zone, int array)
{
    const bool mine = is_mine(z, zone);
    if (mine) {
        aside_begin();
        zone_fill(z, zone, array, z->io.step);
        aside_end();
        stream_moved(&z->io, zone * z->arrays + array, z->buffer);
    }
    return TIMED(&z->io.spent, WRITE, move(z, at, zone, array, mine ? z->buffer : NULL, true));
}

static int read_array(zone_set *z, const places *at, int zone, int array)
{
    const bool mine = is_mine(z, zone);
    const int status = TIMED(&z->io.spent, READ, move(z, at, zone, array, mine ? z->buffer : NULL, false));
    if (status != 0 || !mine)
        return status;
    stream_moved(&z->io, zone * z->arrays + array, z->buffer);
    aside_begin();
    if (policy.fingerprints)
        zone_is_right(z, zone, array, 0);
    aside_end();
    return 0;
}

/* Independently a rank makes its own calls only; collectively all ranks make all. */
static int move_all(zone_set *z, const places *at, int (*move_array)(zone_set *, const places *, int, int))
{
    int status = 0;
    for (int zone = 0; zone < z->zones; zone++)
        for (int array = 0; array < z->arrays; array++)
            if (z->collective || is_mine(z, zone))
                status |= move_array(z, at, zone, array);
    return status;
}

static int close_file(zone_set *z, const places *at)
{
    return cgp_close(at->file) == CG_OK ? 0 : failed(z, "close");
}

/* --- one iteration --------------------------------------------------------------------------------------------------
 */

static void begin(zone_set *z)
{
    stream_begin(&z->io);
    z->io.fresh = true;
    snprintf(z->io.open_path, sizeof z->io.open_path, "%s", z->io.path);
    if (z->io.announced)
        return;
    z->io.announced = true;
    stream_record_start(&z->io);
}

static int64_t bytes_of_all(const zone_set *z)
{
    const int64_t n = z->points;
    return n * n * n * z->zones * z->arrays * (int64_t)stream_element_bytes(z->type);
}

static int end(zone_set *z)
{
    z->io.bytes_in_step = bytes_of_all(z);
    stream_end_at(&z->io, z->io.step, 0);
    return DONE;
}

/* The file gets its name when it is whole. */
static int give_name(zone_set *z)
{
    char partial[4200];
    int status = 0;
    snprintf(partial, sizeof partial, "%s.partial", z->io.path);
    if (z->rank == 0 && rename(partial, z->io.path) != 0)
        status = failure_of_system(&z->problem, "rename", partial);
    status = agree(z, status);
    if (policy.cold)
        cache_drop(z->io.path, z->comm);
    return status;
}

static int write_open(zone_set *z, places *at)
{
    int status = agree(z, TIMED(&z->io.spent, DEFINE, create_all(z, at)));
    if (status == DONE)
        status = agree(z, move_all(z, at, write_array));
    const int closed = agree(z, TIMED(&z->io.spent, CLOSE, close_file(z, at)));
    return status == DONE ? closed : status;
}

int zones_write_by_cgp(zone_set *z)
{
    places at = {.zone = calloc((size_t)z->zones, sizeof *at.zone)};
    begin(z);
    int status = agree(z, TIMED(&z->io.spent, OPEN, open_file(z, &at, true)));
    if (status == DONE)
        status = write_open(z, &at);
    if (status == DONE)
        status = give_name(z);
    free(at.zone);
    return status == DONE ? end(z) : status;
}

/* The zone's own arrays are found by their order, which is the one they were created in. */
static void find_all(zone_set *z, places *at)
{
    at->base = at->solution = 1;
    at->zone[0] = 1;
    for (int array = 0; array < z->arrays; array++)
        at->array[array] = array < COORDINATES ? array + 1 : array - COORDINATES + 1;
}

static int read_open(zone_set *z, places *at)
{
    find_all(z, at);
    const int status = agree(z, move_all(z, at, read_array));
    const int closed = agree(z, TIMED(&z->io.spent, CLOSE, close_file(z, at)));
    return status == DONE ? closed : status;
}

int zones_read_by_cgp(zone_set *z)
{
    places at = {.zone = calloc((size_t)z->zones, sizeof *at.zone)};
    begin(z);
    if (policy.cold)
        cache_drop(z->io.path, z->comm);
    int status = agree(z, TIMED(&z->io.spent, OPEN, open_file(z, &at, false)));
    if (status == DONE)
        status = read_open(z, &at);
    free(at.zone);
    return status == DONE ? end(z) : status;
}
