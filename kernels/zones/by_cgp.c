/* By the parallel CGNS calls: first all ranks create all zones and arrays, then each fills in its
 * own. */
#include "cache.h"
#include "allocation.h"
#include "info.h"
#include "program.h"
#include "stream_records.h"
#include "zones.h"

#include <pcgnslib.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where things are in the open file: those of a zone are the same in all zones. */
struct places {
    int file, base, solution;
    int *zone;     /* of each zone */
    int array[64]; /* of each array: its number among the coordinates, or among the solution's
                      fields */
};

static int failed(struct zone_set *zones, const char *what)
{
    snprintf(zones->problem.sentence, sizeof zones->problem.sentence, "cannot %s '%.500s': %.400s",
             what, zones->io.path, cg_get_error());
    return -1;
}

static int agree(struct zone_set *zones, int status)
{
    return failure_agree(&zones->problem, status != 0, zones->comm);
}

static DataType_t data_type(const struct zone_set *zones)
{
    return zones->type == GRIDIO_FLOAT64 ? RealDouble : RealSingle;
}

/* --- what the records say --- */

static void zone_name(int zone, char *name, size_t room)
{
    snprintf(name, room, "Zone%06d", zone + 1);
}

static char *place_in_file(int zone, int array)
{
    char of_zone[32], of_array[32], name[128];
    zone_name(zone, of_zone, sizeof of_zone);
    zone_array_name(array, of_array, sizeof of_array);
    snprintf(name, sizeof name, "Base/%s/%s/%s", of_zone,
             array < COORDINATES ? "GridCoordinates" : "FlowSolution", of_array);
    return strdup(name);
}

static bool is_mine(const struct zone_set *zones, int zone)
{
    return (zones->zones == 1 || zone == zones->rank) && zone_elements(zones) > 0;
}

void zones_describe_for_cgp(struct zone_set *zones)
{
    const int64_t n = zones->points;
    zones->io.variables = zones->zones * zones->arrays;
    zones->io.variable = gridio_allocate((size_t)zones->io.variables, sizeof *zones->io.variable);
    for (int index = 0; index < zones->io.variables; index++)
        zones->io.variable[index] = (struct stream_variable){
            .blocks = is_mine(zones, index / zones->arrays),
            .block = zones->part,
            .description = {.name = place_in_file(index / zones->arrays, index % zones->arrays),
                            .units = "1",
                            .type = zones->type,
                            .dimensions = 3,
                            .size = {n, n, n},
                            .dimension_name = {"k", "j", "i"},
                            .tiled = true,
                            .every_step = true}};
    zones->io.method_in_use = zones->collective ? "cgp-collective" : "cgp-independent";
    zones->io.format_in_use = "cgns";
}

/* --- creating --- */

static int open_file(struct zone_set *zones, struct places *at, bool to_write)
{
    char path[4200];
    MPI_Info info = info_from_hints(zones->io.hints);
    snprintf(path, sizeof path, "%s%s", zones->io.path, to_write ? ".partial" : "");
    cgp_mpi_comm(zones->comm);
    cgp_mpi_info(info);
    cgp_pio_mode(zones->collective ? CGP_COLLECTIVE : CGP_INDEPENDENT);
    const int status = cgp_open(path, to_write ? CG_MODE_WRITE : CG_MODE_READ, &at->file);
    if (info != MPI_INFO_NULL)
        MPI_Info_free(&info);
    return status == CG_OK ? 0 : failed(zones, "open");
}

static int create_arrays(struct zone_set *zones, struct places *at, int zone)
{
    char name[32];
    for (int array = 0; array < COORDINATES; array++) {
        zone_array_name(array, name, sizeof name);
        if (cgp_coord_write(at->file, at->base, at->zone[zone], data_type(zones), name,
                            &at->array[array]) != CG_OK)
            return failed(zones, "create a coordinate in");
    }
    if (zones->arrays == COORDINATES)
        return 0;
    if (cg_sol_write(at->file, at->base, at->zone[zone], "FlowSolution", Vertex, &at->solution) !=
        CG_OK)
        return failed(zones, "create a flow solution in");
    for (int array = COORDINATES; array < zones->arrays; array++) {
        zone_array_name(array, name, sizeof name);
        if (cgp_field_write(at->file, at->base, at->zone[zone], at->solution, data_type(zones),
                            name, &at->array[array]) != CG_OK)
            return failed(zones, "create a field in");
    }
    return 0;
}

static int create_all(struct zone_set *zones, struct places *at)
{
    const cgsize_t n = zones->points, size[9] = {n, n, n, n - 1, n - 1, n - 1, 0, 0, 0};
    char name[32];
    if (cg_base_write(at->file, "Base", 3, 3, &at->base) != CG_OK)
        return failed(zones, "create the base of");
    for (int zone = 0; zone < zones->zones; zone++) {
        zone_name(zone, name, sizeof name);
        if (cg_zone_write(at->file, at->base, name, size, Structured, &at->zone[zone]) != CG_OK)
            return failed(zones, "create a zone in");
        if (create_arrays(zones, at, zone) != 0)
            return -1;
    }
    return 0;
}

/* --- moving --- */

/* This rank's part, counted from 1, i first. */
static void range(const struct zone_set *zones, cgsize_t *first, cgsize_t *last)
{
    for (int axis = 0; axis < 3; axis++) {
        first[axis] = zones->part.start[2 - axis] + 1;
        last[axis] = zones->part.start[2 - axis] + zones->part.count[2 - axis];
    }
}

static int move(struct zone_set *zones, const struct places *at, int zone, int array, void *data,
                bool to_write)
{
    const int file = at->file, base = at->base, of_zone = at->zone[zone], solution = at->solution,
              of_array = at->array[array];
    cgsize_t first[3], last[3];
    int status;
    range(zones, first, last);
    if (array < COORDINATES)
        status = to_write ? cgp_coord_write_data(file, base, of_zone, of_array, first, last, data)
                          : cgp_coord_read_data(file, base, of_zone, of_array, first, last, data);
    else
        status =
            to_write
                ? cgp_field_write_data(file, base, of_zone, solution, of_array, first, last, data)
                : cgp_field_read_data(file, base, of_zone, solution, of_array, first, last, data);
    return status == CG_OK ? 0 : failed(zones, to_write ? "write" : "read");
}

static int write_array(struct zone_set *zones, const struct places *at, int zone, int array)
{
    const bool mine = is_mine(zones, zone);
    if (mine) {
        aside_begin();
        zone_fill(zones, zone, array, zones->io.step);
        aside_end();
        stream_moved(&zones->io, zone * zones->arrays + array, zones->buffer);
    }
    return TIMED(&zones->io.spent, WRITE,
                 move(zones, at, zone, array, mine ? zones->buffer : NULL, true));
}

static int read_array(struct zone_set *zones, const struct places *at, int zone, int array)
{
    const bool mine = is_mine(zones, zone);
    const int status = TIMED(&zones->io.spent, READ,
                             move(zones, at, zone, array, mine ? zones->buffer : NULL, false));
    if (status != 0 || !mine)
        return status;
    stream_moved(&zones->io, zone * zones->arrays + array, zones->buffer);
    aside_begin();
    if (policy.fingerprints)
        zone_is_right(zones, zone, array, 0);
    aside_end();
    return 0;
}

/* Independently a rank makes its own calls only; collectively all ranks make all. */
static int move_all(struct zone_set *zones, const struct places *at,
                    int (*move_array)(struct zone_set *, const struct places *, int, int))
{
    int status = 0;
    for (int zone = 0; zone < zones->zones; zone++)
        for (int array = 0; array < zones->arrays; array++)
            if (zones->collective || is_mine(zones, zone))
                status |= move_array(zones, at, zone, array);
    return status;
}

static int close_file(struct zone_set *zones, const struct places *at)
{
    return cgp_close(at->file) == CG_OK ? 0 : failed(zones, "close");
}

/* --- one iteration --- */

static void begin(struct zone_set *zones)
{
    stream_begin(&zones->io);
    zones->io.fresh = true;
    snprintf(zones->io.open_path, sizeof zones->io.open_path, "%s", zones->io.path);
    if (zones->io.announced)
        return;
    zones->io.announced = true;
    stream_record_start(&zones->io);
}

static int64_t bytes_of_all(const struct zone_set *zones)
{
    const int64_t n = zones->points;
    return n * n * n * zones->zones * zones->arrays * (int64_t)stream_element_bytes(zones->type);
}

static int end(struct zone_set *zones)
{
    zones->io.bytes_in_step = bytes_of_all(zones);
    stream_end_at(&zones->io, zones->io.step, 0);
    return DONE;
}

/* The file gets its name when it is whole. */
static int give_name(struct zone_set *zones)
{
    char partial[4200];
    int status = 0;
    snprintf(partial, sizeof partial, "%s.partial", zones->io.path);
    if (zones->rank == 0 && rename(partial, zones->io.path) != 0)
        status = failure_of_system(&zones->problem, "rename", partial);
    status = agree(zones, status);
    if (policy.cold)
        cache_drop(zones->io.path, zones->comm);
    return status;
}

static int write_open(struct zone_set *zones, struct places *at)
{
    int status = agree(zones, TIMED(&zones->io.spent, DEFINE, create_all(zones, at)));
    if (status == DONE)
        status = agree(zones, move_all(zones, at, write_array));
    const int closed = agree(zones, TIMED(&zones->io.spent, CLOSE, close_file(zones, at)));
    return status == DONE ? closed : status;
}

int zones_write_by_cgp(struct zone_set *zones)
{
    struct places at = {.zone = gridio_allocate((size_t)zones->zones, sizeof *at.zone)};
    begin(zones);
    int status = agree(zones, TIMED(&zones->io.spent, OPEN, open_file(zones, &at, true)));
    if (status == DONE)
        status = write_open(zones, &at);
    if (status == DONE)
        status = give_name(zones);
    free(at.zone);
    return status == DONE ? end(zones) : status;
}

/* The zone's own arrays are found by their order, which is the one they were created in. */
static void find_all(struct zone_set *zones, struct places *at)
{
    at->base = at->solution = 1;
    at->zone[0] = 1;
    for (int array = 0; array < zones->arrays; array++)
        at->array[array] = array < COORDINATES ? array + 1 : array - COORDINATES + 1;
}

static int read_open(struct zone_set *zones, struct places *at)
{
    find_all(zones, at);
    const int status = agree(zones, move_all(zones, at, read_array));
    const int closed = agree(zones, TIMED(&zones->io.spent, CLOSE, close_file(zones, at)));
    return status == DONE ? closed : status;
}

int zones_read_by_cgp(struct zone_set *zones)
{
    struct places at = {.zone = gridio_allocate((size_t)zones->zones, sizeof *at.zone)};
    begin(zones);
    if (policy.cold)
        cache_drop(zones->io.path, zones->comm);
    int status = agree(zones, TIMED(&zones->io.spent, OPEN, open_file(zones, &at, false)));
    if (status == DONE)
        status = read_open(zones, &at);
    free(at.zone);
    return status == DONE ? end(zones) : status;
}
