/* Through gridio: an array of all zones is one variable. */
#include "program.h"
#include "allocation.h"
#include "zones.h"

#include <stdlib.h>
#include <string.h>

/* One zone: [k][j][i] and the rank's part of it. Several: [zone][k][j][i] and the rank's own zone.
 */
static struct stream_variable describe(const struct zone_set *zones, int array)
{
    const int64_t n = zones->points;
    struct stream_variable variable = {.blocks = 1,
                                       .block = zones->part,
                                       .description = {.units = "1",
                                                       .type = zones->type,
                                                       .dimensions = 3,
                                                       .size = {n, n, n},
                                                       .dimension_name = {"k", "j", "i"},
                                                       .tiled = true,
                                                       .every_step = true}};
    char name[32];
    zone_array_name(array, name, sizeof name);
    variable.description.name = strdup(name);
    if (zones->zones == 1)
        return variable;
    variable.description.dimensions = 4;
    memmove(variable.description.size + 1, variable.description.size,
            3 * sizeof *variable.description.size);
    memmove(variable.description.dimension_name + 1, variable.description.dimension_name,
            3 * sizeof *variable.description.dimension_name);
    variable.description.size[0] = zones->zones;
    variable.description.dimension_name[0] = "zone";
    variable.block = (gridio_block){.start = {zones->rank, 0, 0, 0}, .count = {1, n, n, n}};
    return variable;
}

void zones_describe_for_gridio(struct zone_set *zones)
{
    zones->io.variables = zones->arrays;
    zones->io.variable = gridio_allocate((size_t)zones->arrays, sizeof *zones->io.variable);
    for (int array = 0; array < zones->arrays; array++)
        zones->io.variable[array] = describe(zones, array);
}

int zones_write_by_gridio(struct zone_set *zones)
{
    const int64_t iteration = zones->io.step;
    int status = stream_write_begin(&zones->io);
    for (int array = 0; array < zones->arrays && status == DONE; array++) {
        aside_begin();
        zone_fill(zones, zones->zones == 1 ? 0 : zones->rank, array, iteration);
        aside_end();
        status = stream_write(&zones->io, array, zones->buffer);
    }
    return status == DONE ? stream_write_end(&zones->io, iteration) : status;
}

/* What is read was written by one iteration, number 0. */
int zones_read_by_gridio(struct zone_set *zones)
{
    int status = stream_read_begin(&zones->io);
    for (int array = 0; array < zones->arrays && status == DONE; array++) {
        status = stream_read(&zones->io, array, zones->buffer);
        aside_begin();
        if (status == DONE && policy.fingerprints)
            zone_is_right(zones, 0, array, 0);
        aside_end();
    }
    return status == DONE ? stream_read_end(&zones->io, zones->io.step) : status;
}
