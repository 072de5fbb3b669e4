#include "contiguous_runs.h"

#include <stdlib.h>

/* A run goes on over all dimensions at the end that the block spans fully. */
static void enter_block(gridio_run_walk *walk)
{
    const gridio_variable *variable = walk->variable;
    const gridio_block *block = &walk->slab->block[walk->block];
    int outer = variable->dimensions - 1;
    while (outer > 0 && block->count[outer] == variable->size[outer])
        outer--;
    walk->number = 0;
    walk->runs = walk->count = 1;
    walk->outer = outer;
    for (int axis = 0; axis < variable->dimensions; axis++)
        *(axis < outer ? &walk->runs : &walk->count) *= block->count[axis];
}

gridio_run_walk gridio_walk_runs(const gridio_variable *variable, const gridio_slab *slab)
{
    gridio_run_walk walk = {.variable = variable, .slab = slab};
    if (slab->blocks > 0)
        enter_block(&walk);
    return walk;
}

/* Where the next run begins in the whole array. The number of a run counts the block's places in
 * the dimensions outside of it, the last of them fastest. */
static int64_t place_of(const gridio_run_walk *walk)
{
    const gridio_variable *variable = walk->variable;
    const gridio_block *block = &walk->slab->block[walk->block];
    int64_t place = 0, stride = 1, rest = walk->number;
    for (int axis = variable->dimensions - 1; axis >= 0; axis--) {
        int64_t index = block->start[axis];
        if (axis < walk->outer) {
            index += rest % block->count[axis];
            rest /= block->count[axis];
        }
        place += stride * index;
        stride *= variable->size[axis];
    }
    return place;
}

bool gridio_next_run(gridio_run_walk *walk, gridio_run *run)
{
    if (walk->block >= walk->slab->blocks)
        return false;
    *run = (gridio_run){.place = place_of(walk), .memory = walk->memory, .count = walk->count};
    walk->memory += walk->count;
    if (++walk->number == walk->runs && ++walk->block < walk->slab->blocks)
        enter_block(walk);
    return true;
}

static int by_place(const void *first, const void *second)
{
    const gridio_run *first_run = first, *second_run = second;
    return (first_run->place > second_run->place) - (first_run->place < second_run->place);
}

gridio_run *gridio_sorted_runs(const gridio_variable *variable, const gridio_slab *slab,
                               int64_t *count)
{
    gridio_run run;
    *count = 0;
    for (gridio_run_walk walk = gridio_walk_runs(variable, slab); gridio_next_run(&walk, &run);)
        ++*count;
    gridio_run *runs = malloc((size_t)*count * sizeof *runs + 1);
    if (!runs)
        return NULL;
    *count = 0;
    for (gridio_run_walk walk = gridio_walk_runs(variable, slab); gridio_next_run(&walk, &run);)
        runs[(*count)++] = run;
    qsort(runs, (size_t)*count, sizeof *runs, by_place);
    return runs;
}
