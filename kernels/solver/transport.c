#include "transport.h"

#include <math.h>

static const double PI = 3.14159265358979323846;

static double initial_value(const grid *g, int variable, int z, int y, int x)
{
    const int a = 1 + variable % 3, b = 1 + variable % 2, e = variable % 4;
    const double phase = 2 * PI * ((double)a * x / g->size[X] + (double)b * y / g->size[Y]);
    return 1 + 0.5 * sin(phase) * cos(PI * e * (z + 0.5) / g->size[Z]);
}

void transport_initialize(const grid *g, field *f)
{
    for (int v = 0; v < f->variables; v++)
        for (int z = 0; z < g->count[Z]; z++)
            for (int y = 0; y < g->count[Y]; y++)
                for (int x = 0; x < g->count[X]; x++)
                    f->values[field_index(g, v, z, y, x)] = initial_value(g, v, z, g->start[Y] + y, g->start[X] + x);
}

/* One row of cells along x; below and above are the same row where the grid ends there: no flux. */
static void step_row(int count, const double *restrict c, const double *restrict south, const double *restrict north,
                     const double *restrict below, const double *restrict above, double *restrict result)
{
    for (int x = 0; x < count; x++) {
        const double here = c[x], west = c[x - 1], east = c[x + 1];
        result[x] = here - COURANT_X * (here - west) - COURANT_Y * (here - south[x]) +
                    DIFFUSION_HORIZONTAL * (east + west + north[x] + south[x] - 4 * here) +
                    DIFFUSION_VERTICAL * (below[x] + above[x] - 2 * here);
    }
}

/* The same with advection scaled in every cell; the factors are at most 1, so that the scheme stays stable. */
static void step_row_in_wind(int count, const double *restrict c, const double *restrict south,
                             const double *restrict north, const double *restrict below, const double *restrict above,
                             const double *restrict wind_x, const double *restrict wind_y, double *restrict result)
{
    for (int x = 0; x < count; x++) {
        const double here = c[x], west = c[x - 1], east = c[x + 1];
        result[x] = here - COURANT_X * wind_x[x] * (here - west) - COURANT_Y * wind_y[x] * (here - south[x]) +
                    DIFFUSION_HORIZONTAL * (east + west + north[x] + south[x] - 4 * here) +
                    DIFFUSION_VERTICAL * (below[x] + above[x] - 2 * here);
    }
}

/* One row of one variable at z, y. */
static void step_one(const grid *g, const field *old, field *new, int v, int z, int y, const double *wind_x,
                     const double *wind_y)
{
    const int top = g->count[Z] - 1, cells = g->count[X];
    const double *c = &old->values[field_index(g, v, z, y, 0)];
    const double *south = &old->values[field_index(g, v, z, y - 1, 0)];
    const double *north = &old->values[field_index(g, v, z, y + 1, 0)];
    const double *below = &old->values[field_index(g, v, z > 0 ? z - 1 : z, y, 0)];
    const double *above = &old->values[field_index(g, v, z < top ? z + 1 : z, y, 0)];
    double *result = &new->values[field_index(g, v, z, y, 0)];
    if (wind_x)
        step_row_in_wind(cells, c, south, north, below, above, wind_x, wind_y, result);
    else
        step_row(cells, c, south, north, below, above, result);
}

void transport_step(const grid *g, const field *old, field *new, const double *wind_x, const double *wind_y)
{
    size_t row = 0; /* of the tile */
    for (int v = 0; v < old->variables; v++, row = 0)
        for (int z = 0; z < g->count[Z]; z++)
            for (int y = 0; y < g->count[Y]; y++, row += (size_t)g->count[X])
                step_one(g, old, new, v, z, y, wind_x ? wind_x + row : NULL, wind_y ? wind_y + row : NULL);
}

double transport_mass(const grid *g, const field *f, int variable)
{
    int64_t here = 0, all;
    for (int z = 0; z < g->count[Z]; z++)
        for (int y = 0; y < g->count[Y]; y++)
            for (int x = 0; x < g->count[X]; x++)
                here += llround(ldexp(f->values[field_index(g, variable, z, y, x)], 30));
    MPI_Allreduce(&here, &all, 1, MPI_INT64_T, MPI_SUM, g->comm);
    return ldexp((double)all, -30);
}
