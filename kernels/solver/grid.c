#include "grid.h"
#include "allocation.h"

#include <stdlib.h>
#include <string.h>

/* The first `size % tiles` tiles are one cell longer than the others. */
static int tile_start(int size, int tiles, int tile)
{
    const int extra = size % tiles;
    return size / tiles * tile + (tile < extra ? tile : extra);
}

static bool choose_tiles(struct grid *grid, const int tiles[2])
{
    grid->tiles[0] = tiles[0];
    grid->tiles[1] = tiles[1];
    if (tiles[0] == 0)
        MPI_Dims_create(grid->ranks, 2, grid->tiles);
    return grid->tiles[0] * grid->tiles[1] == grid->ranks && grid->tiles[0] <= grid->size[Y] &&
           grid->tiles[1] <= grid->size[X];
}

bool grid_create(struct grid *grid, const int size[3], const int tiles[2], MPI_Comm comm)
{
    const int periodic[2] = {1, 1};
    int at[2];
    memcpy(grid->size, size, sizeof grid->size);
    MPI_Comm_size(comm, &grid->ranks);
    if (!choose_tiles(grid, tiles))
        return false;
    MPI_Cart_create(comm, 2, grid->tiles, periodic, 0, &grid->comm);
    MPI_Comm_rank(grid->comm, &grid->rank);
    MPI_Cart_coords(grid->comm, grid->rank, 2, at);
    grid->start[Z] = 0;
    grid->count[Z] = size[Z];
    for (int axis = 0; axis < 2; axis++) {
        grid->start[Y + axis] = tile_start(size[Y + axis], grid->tiles[axis], at[axis]);
        grid->count[Y + axis] =
            tile_start(size[Y + axis], grid->tiles[axis], at[axis] + 1) - grid->start[Y + axis];
    }
    return true;
}

void grid_free(struct grid *grid)
{
    MPI_Comm_free(&grid->comm);
}

struct field field_create(const struct grid *grid, int variables)
{
    const size_t cells = (size_t)variables * (size_t)grid->count[Z] * ((size_t)grid->count[Y] + 2) *
                         ((size_t)grid->count[X] + 2);
    return (struct field){.variables = variables, .values = gridio_allocate(cells, sizeof(double))};
}

/* One side's cells of all variables: those at `at` (in halo-included places) along dimension d. */
static MPI_Datatype side(const struct grid *grid, int variables, int axis, int at)
{
    int size[3] = {variables * grid->count[Z], grid->count[Y] + 2, grid->count[X] + 2};
    int part[3] = {size[0], grid->count[Y], grid->count[X]}, start[3] = {0, 1, 1};
    MPI_Datatype type;
    part[axis] = 1;
    start[axis] = at;
    MPI_Type_create_subarray(3, size, part, start, MPI_ORDER_C, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    return type;
}

struct halo halo_create(const struct grid *grid, int variables)
{
    struct halo halo;
    for (int axis = 0; axis < 2; axis++) {
        const int count = grid->count[Y + axis];
        MPI_Cart_shift(grid->comm, axis, 1, &halo.neighbour[2 * axis],
                       &halo.neighbour[2 * axis + 1]);
        halo.send[2 * axis] = side(grid, variables, Y + axis, 1);
        halo.send[2 * axis + 1] = side(grid, variables, Y + axis, count);
        halo.receive[2 * axis] = side(grid, variables, Y + axis, 0);
        halo.receive[2 * axis + 1] = side(grid, variables, Y + axis, count + 1);
    }
    return halo;
}

void halo_free(struct halo *halo)
{
    for (int i = 0; i < 4; i++) {
        MPI_Type_free(&halo->send[i]);
        MPI_Type_free(&halo->receive[i]);
    }
}

/* A message's tag is the side it leaves by: two ranks may be neighbours on both sides. */
void halo_exchange(const struct grid *grid, const struct halo *halo, struct field *field)
{
    MPI_Request requests[8];
    for (int i = 0; i < 4; i++)
        MPI_Irecv(field->values, 1, halo->receive[i], halo->neighbour[i], i ^ 1, grid->comm,
                  &requests[i]);
    for (int i = 0; i < 4; i++)
        MPI_Isend(field->values, 1, halo->send[i], halo->neighbour[i], i, grid->comm,
                  &requests[4 + i]);
    MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
}
