/* A run as a plan says it: the model, its inputs and its outputs. */
#ifndef SOLVER_RUN_H
#define SOLVER_RUN_H

#include "input.h"
#include "output.h"
#include "restart.h"

typedef struct run {
    model m;
    output *outputs;
    input *inputs;
    restart *from; /* NULL: the initial state */
    int outputs_count, inputs_count;
    int64_t steps;
    bool prepare;

    void (*written)(const struct run *r); /* called on all ranks after each step of the first output; or NULL */
} run;

/* Both give a status of program.h, the same on all ranks. */
int run_from_plan(run *r, plan *p);
int run_all(run *r);
void run_free(run *r);

#endif
