/* The model: its state, what drives it, and one step of it. */
#ifndef SOLVER_MODEL_H
#define SOLVER_MODEL_H

#include "grid.h"

#include <stdint.h>

/* What inputs hold, on this rank's tile without halo, in the order z, y, x; NULL where there is no
 * such input. */
struct forcing {
    double *wind_x, *wind_y; /* factors of the advection, at most 1 */
    double *temperature;     /* a factor of the reactions' rate */
    double **emission;       /* of each tracer: added at every step */
};

struct model {
    struct grid grid;
    struct field now, next; /* the halo of `now` is filled */
    struct halo sides;
    struct forcing force;
    int tracers;
    int work;      /* rounds of reactions in every cell and step */
    double step_s; /* model seconds in a step */
    int64_t step;  /* model steps so far */
};

/* Room for the state; then model_initialize, or a restart and model_state_changed. */
void model_create(struct model *model, int tracers);
void model_free(struct model *model);
void model_initialize(struct model *model);
void model_state_changed(struct model *model);

void model_advance(struct model *model);

/* The place of a cell of the tile in an array of forcing. */
static inline size_t model_cell(const struct model *model, int z, int y, int x)
{
    return ((size_t)z * (size_t)model->grid.count[Y] + (size_t)y) * (size_t)model->grid.count[X] +
           (size_t)x;
}

#endif
