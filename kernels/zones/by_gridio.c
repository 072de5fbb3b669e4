/* Through gridio: an array of all zones is one variable. */
#include "program.h"
#include "zones.h"

#include <stdlib.h>
#include <string.h>

/* One zone: [k][j][i] and the rank's part of it. Several: [zone][k][j][i] and the rank's own zone. */
static stream_variable describe(const zone_set *z, int array)
{
    const int64_t n = z->points;
    stream_variable v = {.blocks = 1,
                         .block = z->part,
                         .variable = {.units = "1",
                                      .type = z->type,
                                      .dimensions = 3,
                                      .size = {n, n, n},
                                      .dimension_name = {"k", "j", "i"},
                                      .tiled = true,
                                      .every_step = true}};
    char name[32];
    zone_array_name(array, name, sizeof name);
    v.variable.name = strdup(name);
    if (z->zones == 1)
        return v;
    v.variable.dimensions = 4;
    memmove(v.variable.size + 1, v.variable.size, 3 * sizeof *v.variable.size);
    memmove(v.variable.dimension_name + 1, v.variable.dimension_name, 3 * sizeof *v.variable.dimension_name);
    v.variable.size[0] = z->zones;
    v.variable.dimension_name[0] = "zone";
    v.block = (gridio_block){.start = {z->rank, 0, 0, 0}, .count = {1, n, n, n}};
    return v;
}

void zones_describe_for_gridio(zone_set *z)
{
    z->io.variables = z->arrays;
    z->io.variable = calloc((size_t)z->arrays, sizeof *z->io.variable);
    for (int array = 0; array < z->arrays; array++)
        z->io.variable[array] = describe(z, array);
}

int zones_write_by_gridio(zone_set *z)
{
    const int64_t iteration = z->io.step;
    int status = stream_write_begin(&z->io);
    for (int array = 0; array < z->arrays && status == DONE; array++) {
        aside_begin();
        zone_fill(z, z->zones == 1 ? 0 : z->rank, array, iteration);
        aside_end();
        status = stream_write(&z->io, array, z->buffer);
    }
    return status == DONE ? stream_write_end(&z->io, iteration) : status;
}

/* What is read was written by one iteration, number 0. */
int zones_read_by_gridio(zone_set *z)
{
    int status = stream_read_begin(&z->io);
    for (int array = 0; array < z->arrays && status == DONE; array++) {
        status = stream_read(&z->io, array, z->buffer);
        aside_begin();
        if (status == DONE && policy.fingerprints)
            zone_is_right(z, 0, array, 0);
        aside_end();
    }
    return status == DONE ? stream_read_end(&z->io, z->io.step) : status;
}
