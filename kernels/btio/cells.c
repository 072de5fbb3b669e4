#include "cells.h"

#include <stdlib.h>

static int modulo(int a, int p)
{
    return ((a % p) + p) % p;
}

static int root_of_square(int ranks)
{
    int p = 1;
    while (p * p < ranks)
        p++;
    return p * p == ranks ? p : 0;
}

/* The first `points % p` cells are one point longer than the others. */
static int first_point(int points, int p, int cell)
{
    const int extra = points % p;
    return points / p * cell + (cell < extra ? cell : extra);
}

static void place_cell(cells *c, int n)
{
    const int p = c->count, i = c->rank % p, j = c->rank / p;
    c->at[n][CELL_X] = modulo(i + n, p);
    c->at[n][CELL_Y] = modulo(j - n, p);
    c->at[n][CELL_Z] = n;
    c->block[n] = (gridio_block){.start = {0}, .count = {0, 0, 0, COMPONENTS}};
    for (int d = 0; d < 3; d++) {
        c->low[n][d] = first_point(c->points, p, c->at[n][d]);
        c->size[n][d] = first_point(c->points, p, c->at[n][d] + 1) - c->low[n][d];
        c->block[n].start[2 - d] = c->low[n][d];
        c->block[n].count[2 - d] = c->size[n][d];
    }
}

/* Of the first cell's neighbours; those of the others are of the same ranks. */
static void find_neighbours(cells *c)
{
    const int p = c->count, i = c->rank % p, j = c->rank / p;
    c->successor[CELL_X] = modulo(i + 1, p) + p * j;
    c->successor[CELL_Y] = i + p * modulo(j + 1, p);
    c->successor[CELL_Z] = modulo(i - 1, p) + p * modulo(j + 1, p);
    c->predecessor[CELL_X] = modulo(i - 1, p) + p * j;
    c->predecessor[CELL_Y] = i + p * modulo(j - 1, p);
    c->predecessor[CELL_Z] = modulo(i + 1, p) + p * modulo(j - 1, p);
}

bool cells_create(cells *c, int points, MPI_Comm comm)
{
    *c = (cells){.comm = comm, .points = points};
    MPI_Comm_rank(comm, &c->rank);
    MPI_Comm_size(comm, &c->ranks);
    c->count = root_of_square(c->ranks);
    if (c->count == 0 || points < c->count)
        return false;
    c->at = malloc((size_t)c->count * sizeof *c->at);
    c->low = malloc((size_t)c->count * sizeof *c->low);
    c->size = malloc((size_t)c->count * sizeof *c->size);
    c->block = malloc((size_t)c->count * sizeof *c->block);
    for (int n = 0; n < c->count; n++)
        place_cell(c, n);
    find_neighbours(c);
    return true;
}

void cells_free(cells *c)
{
    free(c->at);
    free(c->low);
    free(c->size);
    free(c->block);
}

gridio_variable cells_variable(const cells *c)
{
    return (gridio_variable){.name = "u",
                             .units = "1",
                             .type = GRIDIO_FLOAT64,
                             .dimensions = 4,
                             .size = {c->points, c->points, c->points, COMPONENTS},
                             .dimension_name = {"z", "y", "x", "component"},
                             .tiled = true,
                             .every_step = true};
}
