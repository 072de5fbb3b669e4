/* An output: variables written at a cadence. */
#ifndef SOLVER_OUTPUT_H
#define SOLVER_OUTPUT_H

#include "model.h"
#include "variables.h"

struct output {
    struct stream to;
    struct variable_set set;
    int64_t every; /* model steps between two of its steps */
    bool initial, average, read_back;
    void *buffer; /* one variable of this rank */
    double **sum; /* average: of each averaged variable since the last output; else NULL */
    int64_t summed;
};

/* Takes an `output` section. */
void output_from_plan(struct output *output, struct plan *plan, struct plan_section *section,
                      const struct model *model);
/* The model steps before and after the run; DONE or WRONG_USE. */
int output_start(struct output *output, int64_t first, int64_t last);
/* After the plan is known to make sense. */
void output_prepare(struct output *output);
void output_free(struct output *output);

/* Called before the first model step and after each. Both give DONE or FAILED; *wrote: whether
 * there was an output. */
int output_initial(struct output *output, const struct model *model);
int output_after_step(struct output *output, const struct model *model, bool *wrote);

/* With `read_back`: reads the last step again, by the same method, and compares fingerprints. */
int output_read_back(struct output *output, const struct model *model);

#endif
