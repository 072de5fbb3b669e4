/* An output: variables written at a cadence. */
#ifndef SOLVER_OUTPUT_H
#define SOLVER_OUTPUT_H

#include "model.h"
#include "variables.h"

typedef struct {
    stream to;
    variable_set set;
    int64_t every; /* model steps between two of its steps */
    bool initial, average, read_back;
    void *buffer; /* one variable of this rank */
    double **sum; /* average: of each averaged variable since the last output; else NULL */
    int64_t summed;
} output;

/* Takes an `output` section. */
void output_from_plan(output *o, plan *p, plan_section *section, const model *m);
/* The model steps before and after the run; DONE or WRONG_USE. */
int output_start(output *o, int64_t first, int64_t last);
/* After the plan is known to make sense. */
void output_prepare(output *o);
void output_free(output *o);

/* Called before the first model step and after each. Both give DONE or FAILED; *wrote: whether there was an output. */
int output_initial(output *o, const model *m);
int output_after_step(output *o, const model *m, bool *wrote);

/* With `read_back`: reads the last step again, by the same method, and compares fingerprints. */
int output_read_back(output *o, const model *m);

#endif
