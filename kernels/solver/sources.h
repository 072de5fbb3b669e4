/* The values of a variable, from the state of the model and the place.
 *
 * derived:K of tracers a (number K, counted round) and b (number 3K + 1, counted round), with s = 1
 * + K mod 7 and q = (K mod 5) / 8, is s (a a + q b) / (1 + q a b) + sqrt(b b + q) + K / 512: a
 * different field for every K up to a thousand, by operations whose rounding IEEE 754 states.
 * Between cells a and b are means of their neighbours.
 *
 * place:K at n, z, y, x (n: number along further dimensions) is 1 + K mod 5 + sin(2 pi (a x / NX +
 * b y / NY)) / 2
 * + (n + z) / 10, with a = 1 + K mod 3, b = 1 + K mod 2. forcing:K at step s of an input is
 * 1 + sin(2 pi (a x / NX + b y / NY + (n + z + s) / 10)) / 2. As int32 both are truncated.
 */
#ifndef SOLVER_SOURCES_H
#define SOLVER_SOURCES_H

#include "model.h"
#include "variables.h"

/* Fills data with this rank's block of the variable. input_step: for forcing. */
void source_fill(const struct model *model, const struct stream_variable *variable,
                 const struct origin *from, int64_t input_step, void *data);

/* One row of a tiled variable, before it is converted to its type. scratch: room for three rows of
 * x + 1 cells. */
void source_row(const struct model *model, const struct origin *from, const struct row_place *place,
                int64_t input_step, double *scratch, double *row);

/* Stores values as the type; cells that follow one another. */
void source_store(gridio_type type, const double *row, int64_t cells, void *to);

#endif
