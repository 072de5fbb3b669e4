#include "cells.h"
#include "allocation.h"

#include <stdlib.h>

static int modulo(int number, int divisor)
{
    return ((number % divisor) + divisor) % divisor;
}

static int root_of_square(int ranks)
{
    int root = 1;
    while (root * root < ranks)
        root++;
    return root * root == ranks ? root : 0;
}

/* The first `points % p` cells are one point longer than the others. */
static int first_point(int points, int cells, int cell)
{
    const int extra = points % cells;
    return points / cells * cell + (cell < extra ? cell : extra);
}

static void place_cell(struct cells *cells, int n)
{
    const int edge = cells->count, i = cells->rank % edge, j = cells->rank / edge;
    cells->at[n][CELL_X] = modulo(i + n, edge);
    cells->at[n][CELL_Y] = modulo(j - n, edge);
    cells->at[n][CELL_Z] = n;
    cells->block[n] = (gridio_block){.start = {0}, .count = {0, 0, 0, COMPONENTS}};
    for (int axis = 0; axis < 3; axis++) {
        cells->low[n][axis] = first_point(cells->points, edge, cells->at[n][axis]);
        cells->size[n][axis] =
            first_point(cells->points, edge, cells->at[n][axis] + 1) - cells->low[n][axis];
        cells->block[n].start[2 - axis] = cells->low[n][axis];
        cells->block[n].count[2 - axis] = cells->size[n][axis];
    }
}

/* Of the first cell's neighbours; those of the others are of the same ranks. */
static void find_neighbours(struct cells *cells)
{
    const int edge = cells->count, i = cells->rank % edge, j = cells->rank / edge;
    cells->successor[CELL_X] = modulo(i + 1, edge) + edge * j;
    cells->successor[CELL_Y] = i + edge * modulo(j + 1, edge);
    cells->successor[CELL_Z] = modulo(i - 1, edge) + edge * modulo(j + 1, edge);
    cells->predecessor[CELL_X] = modulo(i - 1, edge) + edge * j;
    cells->predecessor[CELL_Y] = i + edge * modulo(j - 1, edge);
    cells->predecessor[CELL_Z] = modulo(i + 1, edge) + edge * modulo(j - 1, edge);
}

bool cells_create(struct cells *cells, int points, MPI_Comm comm)
{
    *cells = (struct cells){.comm = comm, .points = points};
    MPI_Comm_rank(comm, &cells->rank);
    MPI_Comm_size(comm, &cells->ranks);
    cells->count = root_of_square(cells->ranks);
    if (cells->count == 0 || points < cells->count)
        return false;
    cells->at = gridio_allocate((size_t)cells->count, sizeof *cells->at);
    cells->low = gridio_allocate((size_t)cells->count, sizeof *cells->low);
    cells->size = gridio_allocate((size_t)cells->count, sizeof *cells->size);
    cells->block = gridio_allocate((size_t)cells->count, sizeof *cells->block);
    for (int n = 0; n < cells->count; n++)
        place_cell(cells, n);
    find_neighbours(cells);
    return true;
}

void cells_free(struct cells *cells)
{
    free(cells->at);
    free(cells->low);
    free(cells->size);
    free(cells->block);
}

gridio_variable cells_variable(const struct cells *cells)
{
    return (gridio_variable){.name = "u",
                             .units = "1",
                             .type = GRIDIO_FLOAT64,
                             .dimensions = 4,
                             .size = {cells->points, cells->points, cells->points, COMPONENTS},
                             .dimension_name = {"z", "y", "x", "component"},
                             .tiled = true,
                             .every_step = true};
}
