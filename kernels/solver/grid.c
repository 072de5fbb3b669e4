#include "grid.h"

#include <stdlib.h>
#include <string.h>

/* The first `size % tiles` tiles are one cell longer than the others. */
static int tile_start(int size, int tiles, int tile)
{
    const int extra = size % tiles;
    return size / tiles * tile + (tile < extra ? tile : extra);
}

static bool choose_tiles(grid *g, const int tiles[2])
{
    g->tiles[0] = tiles[0];
    g->tiles[1] = tiles[1];
    if (tiles[0] == 0)
        MPI_Dims_create(g->ranks, 2, g->tiles);
    return g->tiles[0] * g->tiles[1] == g->ranks && g->tiles[0] <= g->size[Y] && g->tiles[1] <= g->size[X];
}

bool grid_create(grid *g, const int size[3], const int tiles[2], MPI_Comm comm)
{
    const int periodic[2] = {1, 1};
    int at[2];
    memcpy(g->size, size, sizeof g->size);
    MPI_Comm_size(comm, &g->ranks);
    if (!choose_tiles(g, tiles))
        return false;
    MPI_Cart_create(comm, 2, g->tiles, periodic, 0, &g->comm);
    MPI_Comm_rank(g->comm, &g->rank);
    MPI_Cart_coords(g->comm, g->rank, 2, at);
    g->start[Z] = 0;
    g->count[Z] = size[Z];
    for (int d = 0; d < 2; d++) {
        g->start[Y + d] = tile_start(size[Y + d], g->tiles[d], at[d]);
        g->count[Y + d] = tile_start(size[Y + d], g->tiles[d], at[d] + 1) - g->start[Y + d];
    }
    return true;
}

void grid_free(grid *g)
{
    MPI_Comm_free(&g->comm);
}

field field_create(const grid *g, int variables)
{
    const size_t cells =
        (size_t)variables * (size_t)g->count[Z] * ((size_t)g->count[Y] + 2) * ((size_t)g->count[X] + 2);
    return (field){.variables = variables, .values = calloc(cells, sizeof(double))};
}

void field_copy_tile(const grid *g, const field *f, int variable, double *tile)
{
    const size_t row = (size_t)g->count[X];
    for (int z = 0; z < g->count[Z]; z++)
        for (int y = 0; y < g->count[Y]; y++, tile += row)
            memcpy(tile, &f->values[field_index(g, variable, z, y, 0)], row * sizeof *tile);
}

/* One side's cells of all variables: those at `at` (in halo-included places) along dimension d. */
static MPI_Datatype side(const grid *g, int variables, int d, int at)
{
    int size[3] = {variables * g->count[Z], g->count[Y] + 2, g->count[X] + 2};
    int part[3] = {size[0], g->count[Y], g->count[X]}, start[3] = {0, 1, 1};
    MPI_Datatype type;
    part[d] = 1;
    start[d] = at;
    MPI_Type_create_subarray(3, size, part, start, MPI_ORDER_C, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    return type;
}

halo halo_create(const grid *g, int variables)
{
    halo h;
    for (int d = 0; d < 2; d++) {
        const int count = g->count[Y + d];
        MPI_Cart_shift(g->comm, d, 1, &h.neighbour[2 * d], &h.neighbour[2 * d + 1]);
        h.send[2 * d] = side(g, variables, Y + d, 1);
        h.send[2 * d + 1] = side(g, variables, Y + d, count);
        h.receive[2 * d] = side(g, variables, Y + d, 0);
        h.receive[2 * d + 1] = side(g, variables, Y + d, count + 1);
    }
    return h;
}

void halo_free(halo *h)
{
    for (int i = 0; i < 4; i++) {
        MPI_Type_free(&h->send[i]);
        MPI_Type_free(&h->receive[i]);
    }
}

/* A message's tag is the side it leaves by: two ranks may be neighbours on both sides. */
void halo_exchange(const grid *g, const halo *h, field *f)
{
    MPI_Request requests[8];
    for (int i = 0; i < 4; i++)
        MPI_Irecv(f->values, 1, h->receive[i], h->neighbour[i], i ^ 1, g->comm, &requests[i]);
    for (int i = 0; i < 4; i++)
        MPI_Isend(f->values, 1, h->send[i], h->neighbour[i], i, g->comm, &requests[4 + i]);
    MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
}
