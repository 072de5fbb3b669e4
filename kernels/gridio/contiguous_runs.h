/* What of a slab is contiguous in a whole array: its runs. */
#ifndef GRIDIO_CONTIGUOUS_RUNS_H
#define GRIDIO_CONTIGUOUS_RUNS_H

#include "internal.h"

/* In elements: where it begins in the whole array and in memory, and how many. */
typedef struct {
    int64_t place, memory, count;
} gridio_run;

typedef struct {
    const gridio_variable *variable;
    const gridio_slab *slab;
    int block;           /* the next run's */
    int64_t number;      /* and its number in the block */
    int64_t memory;      /* and where it begins there */
    int64_t runs, count; /* of the block: how many runs, of how many elements each */
    int outer;           /* the last dimension in which a run begins and ends */
} gridio_run_walk;

/* Every run of the slab's blocks, block after block, each in the array's order. */
gridio_run_walk gridio_walk_runs(const gridio_variable *variable, const gridio_slab *slab);
bool gridio_next_run(gridio_run_walk *walk, gridio_run *run);

/* All of them in the array's order, whichever block they are of (to be freed; NULL: no memory). */
gridio_run *gridio_sorted_runs(const gridio_variable *variable, const gridio_slab *slab,
                               int64_t *count);

#endif
