/* The state from a file, instead of the initial one. */
#ifndef SOLVER_RESTART_H
#define SOLVER_RESTART_H

#include "model.h"
#include "variables.h"

typedef struct {
    stream from;
    variable_set set; /* the step, then the tracers */
    void *buffer;
} restart;

/* Takes a `restart` section. */
void restart_from_plan(restart *r, plan *p, plan_section *section, const model *m);
/* Fills the model's state and step from the last whole step of the file. */
int restart_read(restart *r, model *m);
void restart_free(restart *r);

#endif
