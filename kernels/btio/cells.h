/* The diagonal multi-partition of NAS BT: p * p ranks, each with p cells of a cube of p * p * p,
 * one in every layer along each direction, so that every rank works in every sweep. Rank r's cell c
 * is at x = (r mod p + c) mod p, y = (r / p - c) mod p, z = c, counted in cells (NPB 3.4, BT,
 * make_set). Its neighbours along one direction are all of one rank.
 */
#ifndef BTIO_CELLS_H
#define BTIO_CELLS_H

#include "gridio.h"

#include <mpi.h>

enum { CELL_X, CELL_Y, CELL_Z };
enum { COMPONENTS = 5 };

struct cells {
    MPI_Comm comm;
    int rank, ranks;
    int count;        /* p: cells of a rank */
    int points;       /* along each edge of the cube */
    int (*at)[3];     /* of each cell: x, y, z, in cells */
    int (*low)[3];    /* its first point */
    int (*size)[3];   /* its points */
    int successor[3]; /* the rank of all cells' next cells along x, y, z */
    int predecessor[3];
    gridio_block *block; /* of each cell in the array [z][y][x][component] */
};

/* False, on all ranks, where the number of ranks is not a square or some cell would have no
 * point. */
bool cells_create(struct cells *cells, int points, MPI_Comm comm);
void cells_free(struct cells *cells);

/* The whole array, [z][y][x][component]. */
gridio_variable cells_variable(const struct cells *cells);

#endif
