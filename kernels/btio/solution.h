/* The five components on a rank's cells, and what is done to them between two dumps.
 *
 * This is not BT's solver of the Navier-Stokes equations, which adds nothing to the pattern of its
 * I/O. It starts, as BT does, from values that the boundary blends into the interior, and relaxes
 * them towards a known polynomial: per step every inner point's component m becomes u + DIFFUSION
 * (sum of its six neighbours - 6 u), and then, `work` times, u + COUPLING (exact - u) (1 + v v) /
 * (2 + v v), v being the next component. The faces of all cells go to the neighbours' ranks before
 * each step, one message for each direction, as in BT's copy_faces. Every value is one expression
 * of old values: the same for any number of ranks, bit for bit.
 */
#ifndef BTIO_SOLUTION_H
#define BTIO_SOLUTION_H

#include "cells.h"

#include <stddef.h>

#define DIFFUSION 0.10
#define COUPLING 0.01

struct solution {
    const struct cells *cells;
    int edge[3]; /* points along x, y, z of the room for a cell, one halo on each side included */
    size_t cell_room; /* elements */
    double *now, *next;
    size_t face_room; /* elements */
    double *faces[4]; /* to and from the successor and the predecessor */
};

/* False where there is no memory for it; solution_free frees what there is. */
bool solution_create(struct solution *solution, const struct cells *cells);
void solution_free(struct solution *solution);
void solution_step(struct solution *solution, int work);

/* Where component 0 of a cell's point is; -1 and size are halo. */
static inline size_t solution_index(const struct solution *solution, int cell, int z, int y, int x)
{
    const size_t row = (size_t)solution->edge[CELL_X], plane = row * (size_t)solution->edge[CELL_Y];
    return (size_t)cell * solution->cell_room +
           ((size_t)(z + 1) * plane + (size_t)(y + 1) * row + (size_t)(x + 1)) * COMPONENTS;
}

/* Cells without halo, one after the other, each [z][y][x][component]; and back. */
size_t solution_packed_elements(const struct solution *solution);
void solution_pack(const struct solution *solution, double *to);
void solution_unpack(struct solution *solution, const double *from);
void solution_clear(struct solution *solution);

/* Root of the mean square of the difference to the polynomial, of each component, over all points;
 * on all ranks. */
void solution_norm(const struct solution *solution, double norm[COMPONENTS]);

#endif
