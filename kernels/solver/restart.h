/* The state from a file, instead of the initial one. */
#ifndef SOLVER_RESTART_H
#define SOLVER_RESTART_H

#include "model.h"
#include "variables.h"

struct restart {
    struct stream from;
    struct variable_set set; /* the step, then the tracers */
    void *buffer;
};

/* Takes a `restart` section. */
void restart_from_plan(struct restart *restart, struct plan *plan, struct plan_section *section,
                       const struct model *model);
/* Fills the model's state and step from the last whole step of the file. */
int restart_read(struct restart *restart, struct model *model);
void restart_free(struct restart *restart);

#endif
