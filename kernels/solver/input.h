/* An input: variables read at a cadence, some of which drive the model. */
#ifndef SOLVER_INPUT_H
#define SOLVER_INPUT_H

#include "model.h"
#include "variables.h"

struct input {
    struct stream from;
    struct variable_set set;
    int64_t every; /* model steps that one of its steps is for */
    void *buffer, *expected;
};

/* Takes an `input` section. prepare: to be written, by task prepare, instead of read. */
void input_from_plan(struct input *in, struct plan *plan, struct plan_section *section,
                     const struct model *model, bool prepare);
/* The model steps before and after the run. */
void input_start(struct input *in, int64_t first, int64_t last);
void input_prepare(struct input *in);
void input_free(struct input *in);

/* Before each model step: reads what is due, compares it with what it must be, and puts it into the
 * model. */
int input_before_step(struct input *in, struct model *model);

/* Writes all steps. */
int input_write_all(struct input *in, const struct model *model);

#endif
