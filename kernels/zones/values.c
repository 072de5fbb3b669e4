#include "zones.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Names of the SIDS (Standard Interface Data Structures) as far as they go. */
void zone_array_name(int array, char *name, size_t room)
{
    static const char *const FIELDS[] = {"Density",   "VelocityX", "VelocityY",
                                         "VelocityZ", "Pressure",  "Temperature"};
    const int field = array - COORDINATES, named = sizeof FIELDS / sizeof *FIELDS;
    if (array < COORDINATES)
        snprintf(name, room, "Coordinate%c", 'X' + array);
    else if (field < named)
        snprintf(name, room, "%s", FIELDS[field]);
    else
        snprintf(name, room, "Field%d", field + 1);
}

int64_t zone_elements(const struct zone_set *zones)
{
    return zones->part.count[0] * zones->part.count[1] * zones->part.count[2];
}

/* A curved grid: a point's own coordinate, bent a little by the other two, the zones beside each
 * other along x. Fields are polynomials of the place. Other values at every iteration. */
static double value_at(const struct zone_set *zones, int zone, int array, int64_t iteration,
                       const int64_t kji[3])
{
    const double n = zones->points, x = (double)kji[2] / n, y = (double)kji[1] / n,
                 z = (double)kji[0] / n;
    const double own[COORDINATES] = {x, y, z};
    if (array >= COORDINATES)
        return 1 + x * y + 0.5 * z * (array + x) + 0.01 * zone + (double)iteration;
    return own[array] + 0.05 * x * y * z + (array == 0 ? zone : 0) + 0.001 * (double)iteration;
}

/* Calls visit for every element of this rank's part, in memory's order. */
static void for_elements(struct zone_set *zones, int zone, int array, int64_t iteration,
                         void (*visit)(struct zone_set *zones, int64_t at, double value))
{
    int64_t kji[3], at = 0;
    for (int64_t k = 0; k < zones->part.count[0]; k++)
        for (int64_t j = 0; j < zones->part.count[1]; j++)
            for (int64_t i = 0; i < zones->part.count[2]; i++, at++) {
                kji[0] = zones->part.start[0] + k;
                kji[1] = zones->part.start[1] + j;
                kji[2] = zones->part.start[2] + i;
                visit(zones, at, value_at(zones, zone, array, iteration, kji));
            }
}

static void put(struct zone_set *zones, int64_t at, double value)
{
    if (zones->type == GRIDIO_FLOAT64)
        ((double *)zones->buffer)[at] = value;
    else
        ((float *)zones->buffer)[at] = (float)value;
}

static void compare(struct zone_set *zones, int64_t at, double value)
{
    if (zones->type == GRIDIO_FLOAT64)
        zones->right = zones->right && ((double *)zones->buffer)[at] == value;
    else
        zones->right = zones->right && ((float *)zones->buffer)[at] == (float)value;
}

void zone_fill(struct zone_set *zones, int zone, int array, int64_t iteration)
{
    for_elements(zones, zone, array, iteration, put);
}

bool zone_is_right(struct zone_set *zones, int zone, int array, int64_t iteration)
{
    for_elements(zones, zone, array, iteration, compare);
    return zones->right;
}
