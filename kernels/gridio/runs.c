#include "runs.h"

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
    for (int d = 0; d < variable->dimensions; d++)
        *(d < outer ? &walk->runs : &walk->count) *= block->count[d];
}

gridio_run_walk gridio_walk_runs(const gridio_variable *variable, const gridio_slab *slab)
{
    gridio_run_walk walk = {.variable = variable, .slab = slab};
    if (slab->blocks > 0)
        enter_block(&walk);
    return walk;
}

static int64_t place_of(const gridio_run_walk *walk)
{
    const gridio_variable *variable = walk->variable;
    const gridio_block *block = &walk->slab->block[walk->block];
    int64_t place = 0, stride = 1, rest = walk->number;
    for (int d = variable->dimensions - 1; d >= 0; stride *= variable->size[d--]) {
        place += stride * (block->start[d] + (d < walk->outer ? rest % block->count[d] : 0));
        if (d < walk->outer)
            rest /= block->count[d];
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

static int by_place(const void *one, const void *other)
{
    const gridio_run *a = one, *b = other;
    return (a->place > b->place) - (a->place < b->place);
}

gridio_run *gridio_sorted_runs(const gridio_variable *variable, const gridio_slab *slab, int64_t *count)
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
