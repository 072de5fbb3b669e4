/* The equation: dc/dt + u dc/dx + v dc/dy = D (d2c/dx2 + d2c/dy2) + K d2c/dz2, periodic in x and y,
 * no flux through the bottom and the top; finite volumes, first-order upwind, explicit Euler.
 *
 * Every cell's new value is one expression of its old neighbours, so that fields do not depend on
 * the number of ranks, bit for bit. In units of cells and steps the numbers below are the whole
 * physics.
 */
#ifndef SOLVER_TRANSPORT_H
#define SOLVER_TRANSPORT_H

#include "grid.h"

#include <stdint.h>

#define COURANT_X 0.30            /* u dt / dx */
#define COURANT_Y 0.20            /* v dt / dy */
#define DIFFUSION_HORIZONTAL 0.05 /* D dt / dx2, with dx = dy */
#define DIFFUSION_VERTICAL 0.10   /* K dt / dz2 */

/* Variable v starts as 1 + sin(2 pi (a x / NX + b y / NY)) cos(pi e (z + 1/2) / NZ) / 2, with a = 1
 * + v mod 3, b = 1 + v mod 2, e = v mod 4. It is an eigenvector of the scheme: after n steps its
 * amplitude is |G|^n / 2 and its phase has moved by n arg G, where with p = 2 pi a / NX, q = 2 pi b
 * / NY and r = pi e / NZ G = 1 - COURANT_X (1 - exp(-ip)) - COURANT_Y (1 - exp(-iq))
 *         + 2 DIFFUSION_HORIZONTAL (cos p + cos q - 2) + 2 DIFFUSION_VERTICAL (cos r - 1)
 * (von Neumann's analysis), against which the tests hold the history file. */
void transport_initialize(const struct grid *grid, struct field *field);

/* One step from old, whose halo is filled, to new. wind_x, wind_y: a factor of the advection in
 * every cell of the tile, in the order z, y, x, from 0 to 1; NULL: none, both or neither. */
void transport_step(const struct grid *grid, const struct field *old, struct field *new,
                    const double *wind_x, const double *wind_y);

/* Sum of a variable over all cells of all ranks, the same for any number of ranks: each value is
 * rounded to 2^-30 and the sum is one of integers (exact for up to 2^33 / largest value cells).
 * Collective. */
double transport_mass(const struct grid *grid, const struct field *field, int variable);

#endif
