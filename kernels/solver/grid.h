/* A rank's tile of the grid, and the exchange of what the neighbours' tiles need of it. */
#ifndef SOLVER_GRID_H
#define SOLVER_GRID_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

enum { Z, Y, X };

/* The horizontal plane is periodic and cut into tiles along y and x; every tile has the full
 * height. */
struct grid {
    MPI_Comm comm; /* Cartesian, periodic: y, x */
    int rank, ranks;
    int tiles[2];
    int size[3];  /* of the whole grid, in cells: z, y, x */
    int start[3]; /* of this rank's tile */
    int count[3];
};

/* Values of several variables on a tile with one halo cell on each horizontal side, in the order
 * variable, z, y, x. */
struct field {
    int variables;
    double *values;
};

/* False, on all ranks, where some rank would have no cell. tiles: ranks along y and x, 0 where MPI
 * chooses. */
bool grid_create(struct grid *grid, const int size[3], const int tiles[2], MPI_Comm comm);
void grid_free(struct grid *grid);

struct field field_create(const struct grid *grid, int variables);

/* Where a cell's value is: z, y, x count from the tile's own first cell, -1 and count are halo. */
static inline size_t field_index(const struct grid *grid, int variable, int z, int y, int x)
{
    const size_t row = (size_t)grid->count[X] + 2, plane = ((size_t)grid->count[Y] + 2) * row;
    return ((size_t)variable * (size_t)grid->count[Z] + (size_t)z) * plane + (size_t)(y + 1) * row +
           (size_t)(x + 1);
}

/* What the exchange of one field needs, made once. */
struct halo {
    int neighbour[4];     /* rank towards lower y, higher y, lower x, higher x */
    MPI_Datatype send[4]; /* all variables at once */
    MPI_Datatype receive[4];
};

struct halo halo_create(const struct grid *grid, int variables);
void halo_free(struct halo *halo);
void halo_exchange(const struct grid *grid, const struct halo *halo, struct field *field);

#endif
