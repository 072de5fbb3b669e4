/* A run as a plan says it: the model, its inputs and its outputs. */
#ifndef SOLVER_RUN_H
#define SOLVER_RUN_H

#include "input.h"
#include "output.h"
#include "restart.h"

struct run {
    struct model model;
    struct output *outputs;
    struct input *inputs;
    struct restart *from; /* NULL: the initial state */
    int outputs_count, inputs_count;
    int64_t steps;
    bool prepare;

    void (*written)(const struct run *
                        run); /* called on all ranks after each step of the first output; or NULL */
};

/* Both give a status of program.h, the same on all ranks. */
int run_from_plan(struct run *run, struct plan *plan);
int run_all(struct run *run);
void run_free(struct run *run);

#endif
