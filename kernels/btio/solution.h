/* The five components on a rank's cells, and what is done to them between two dumps.
 *
 * This is not BT's solver of the Navier-Stokes equations, which adds nothing to the pattern of its I/O. It starts, as
 * BT does, from values that the boundary blends into the interior, and relaxes them towards a known polynomial: per
 * step every inner point's component m becomes u + DIFFUSION (sum of its six neighbours - 6 u), and then, `work` times,
 * u + COUPLING (exact - u) (1 + v v) / (2 + v v), v being the next component. The faces of all cells go to the
 * neighbours' ranks before each step, one message for each direction, as in BT's copy_faces. Every value is one
 * expression of old values: the same for any number of ranks, bit for bit.
 */
#ifndef BTIO_SOLUTION_H
#define BTIO_SOLUTION_H

#include "cells.h"

#include <stddef.h>

#define DIFFUSION 0.10
#define COUPLING 0.01

typedef struct {
    const cells *c;
    int edge[3];      /* points along x, y, z of the room for a cell, one halo on each side included */
    size_t cell_room; /* elements */
    double *now, *next;
    size_t face_room; /* elements */
    double *faces[4]; /* to and from the successor and the predecessor */
} solution;

void solution_create(solution *s, const cells *c);
void solution_free(solution *s);
void solution_step(solution *s, int work);

/* Where component 0 of a cell's point is; -1 and size are halo. */
static inline size_t solution_index(const solution *s, int cell, int z, int y, int x)
{
    const size_t row = (size_t)s->edge[CELL_X], plane = row * (size_t)s->edge[CELL_Y];
    return (size_t)cell * s->cell_room +
           ((size_t)(z + 1) * plane + (size_t)(y + 1) * row + (size_t)(x + 1)) * COMPONENTS;
}

/* Cells without halo, one after the other, each [z][y][x][component]; and back. */
size_t solution_packed_elements(const solution *s);
void solution_pack(const solution *s, double *to);
void solution_unpack(solution *s, const double *from);
void solution_clear(solution *s);

/* Root of the mean square of the difference to the polynomial, of each component, over all points; on all ranks. */
void solution_norm(const solution *s, double norm[COMPONENTS]);

#endif
