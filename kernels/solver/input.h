/* An input: variables read at a cadence, some of which drive the model. */
#ifndef SOLVER_INPUT_H
#define SOLVER_INPUT_H

#include "model.h"
#include "variables.h"

typedef struct {
    stream from;
    variable_set set;
    int64_t every; /* model steps that one of its steps is for */
    void *buffer, *expected;
} input;

/* Takes an `input` section. prepare: to be written, by task prepare, instead of read. */
void input_from_plan(input *in, plan *p, plan_section *section, const model *m, bool prepare);
/* The model steps before and after the run. */
void input_start(input *in, int64_t first, int64_t last);
void input_prepare(input *in);
void input_free(input *in);

/* Before each model step: reads what is due, compares it with what it must be, and puts it into the model. */
int input_before_step(input *in, model *m);

/* Writes all steps. */
int input_write_all(input *in, const model *m);

#endif
