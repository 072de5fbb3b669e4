#include "transport.h"

#include <math.h>

static const double PI = 3.14159265358979323846;

static double initial_value(const struct grid *grid, int variable, int z, int y, int x)
{
    const int waves_x = 1 + variable % 3, waves_y = 1 + variable % 2, waves_z = variable % 4;
    const double phase =
        2 * PI * ((double)waves_x * x / grid->size[X] + (double)waves_y * y / grid->size[Y]);
    return 1 + 0.5 * sin(phase) * cos(PI * waves_z * (z + 0.5) / grid->size[Z]);
}

void transport_initialize(const struct grid *grid, struct field *field)
{
    for (int index = 0; index < field->variables; index++)
        for (int z = 0; z < grid->count[Z]; z++)
            for (int y = 0; y < grid->count[Y]; y++)
                for (int x = 0; x < grid->count[X]; x++)
                    field->values[field_index(grid, index, z, y, x)] =
                        initial_value(grid, index, z, grid->start[Y] + y, grid->start[X] + x);
}

/* One row of cells along x; below and above are the same row where the grid ends there: no flux. */
static void step_row(int count, const double *restrict centre, const double *restrict south,
                     const double *restrict north, const double *restrict below,
                     const double *restrict above, double *restrict result)
{
    for (int x = 0; x < count; x++) {
        const double here = centre[x], west = centre[x - 1], east = centre[x + 1];
        result[x] = here - COURANT_X * (here - west) - COURANT_Y * (here - south[x]) +
                    DIFFUSION_HORIZONTAL * (east + west + north[x] + south[x] - 4 * here) +
                    DIFFUSION_VERTICAL * (below[x] + above[x] - 2 * here);
    }
}

/* The same with advection scaled in every cell; the factors are at most 1, so that the scheme stays
 * stable. */
static void step_row_in_wind(int count, const double *restrict centre, const double *restrict south,
                             const double *restrict north, const double *restrict below,
                             const double *restrict above, const double *restrict wind_x,
                             const double *restrict wind_y, double *restrict result)
{
    for (int x = 0; x < count; x++) {
        const double here = centre[x], west = centre[x - 1], east = centre[x + 1];
        result[x] = here - COURANT_X * wind_x[x] * (here - west) -
                    COURANT_Y * wind_y[x] * (here - south[x]) +
                    DIFFUSION_HORIZONTAL * (east + west + north[x] + south[x] - 4 * here) +
                    DIFFUSION_VERTICAL * (below[x] + above[x] - 2 * here);
    }
}

/* One row of one variable at z, y. */
static void step_one(const struct grid *grid, const struct field *old, struct field *new, int index,
                     int z, int y, const double *wind_x, const double *wind_y)
{
    const int top = grid->count[Z] - 1, cells = grid->count[X];
    const double *centre = &old->values[field_index(grid, index, z, y, 0)];
    const double *south = &old->values[field_index(grid, index, z, y - 1, 0)];
    const double *north = &old->values[field_index(grid, index, z, y + 1, 0)];
    const double *below = &old->values[field_index(grid, index, z > 0 ? z - 1 : z, y, 0)];
    const double *above = &old->values[field_index(grid, index, z < top ? z + 1 : z, y, 0)];
    double *result = &new->values[field_index(grid, index, z, y, 0)];
    if (wind_x)
        step_row_in_wind(cells, centre, south, north, below, above, wind_x, wind_y, result);
    else
        step_row(cells, centre, south, north, below, above, result);
}

void transport_step(const struct grid *grid, const struct field *old, struct field *new,
                    const double *wind_x, const double *wind_y)
{
    size_t row = 0; /* of the tile */
    for (int index = 0; index < old->variables; index++, row = 0)
        for (int z = 0; z < grid->count[Z]; z++)
            for (int y = 0; y < grid->count[Y]; y++, row += (size_t)grid->count[X])
                step_one(grid, old, new, index, z, y, wind_x ? wind_x + row : NULL,
                         wind_y ? wind_y + row : NULL);
}

double transport_mass(const struct grid *grid, const struct field *field, int variable)
{
    int64_t here = 0, all;
    for (int z = 0; z < grid->count[Z]; z++)
        for (int y = 0; y < grid->count[Y]; y++)
            for (int x = 0; x < grid->count[X]; x++)
                here += llround(ldexp(field->values[field_index(grid, variable, z, y, x)], 30));
    MPI_Allreduce(&here, &all, 1, MPI_INT64_T, MPI_SUM, grid->comm);
    return ldexp((double)all, -30);
}
