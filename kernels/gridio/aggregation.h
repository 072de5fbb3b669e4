/* How a group of ranks and its writer move a variable: in which batches, and who has what of them.
 * Every rank of the group works it out from the blocks of all of them, so that nothing but data is
 * sent afterwards. */
#ifndef GRIDIO_AGGREGATION_H
#define GRIDIO_AGGREGATION_H

#include "internal.h"

/* What the writer has in its buffer at once: blocks one after the other, and what it exchanges with
 * each member. */
typedef struct {
    int blocks;
    gridio_block *block;
    int64_t elements;
    int messages;
    int *member;           /* of the group, that a message is from (writing) or to (reading) */
    MPI_Datatype *message; /* its elements in the writer's buffer */
    MPI_Datatype mine;     /* this rank's elements in its own data; MPI_DATATYPE_NULL: none */
} gridio_batch;

typedef struct {
    gridio_variable geometry; /* the plan is of all variables with this type and these sizes … */
    int total;                /* … and these blocks, of all members */
    int *count;
    gridio_block *block;
    int batches;
    gridio_batch *batch;
} gridio_plan;

/* The plan for what each rank of the group has; batches have at most buffer_bytes. Collective in
 * the group. `plans` are those already made: one of them may do. */
gridio_plan *gridio_make_plan(const gridio_variable *variable, const gridio_slab *slab,
                              MPI_Comm group, int64_t buffer_bytes, gridio_plan *const *plans,
                              int plans_count);
void gridio_free_plan(gridio_plan *plan);

#endif
