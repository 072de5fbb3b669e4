/* The history file: what the solver writes, and when it is asked to verify, reads. */
#ifndef SOLVER_HISTORY_H
#define SOLVER_HISTORY_H

#include "grid.h"
#include "gridio.h"
#include "options.h"

typedef struct {
    gridio_file *file;
    int height, time; /* numbers of variables */
    int tracers;      /* of the first */
    int count;        /* of tracers */
    gridio_block block;
    double *tile; /* one variable without its halo */
    bool sync;
    double seconds; /* in output, of this rank */
    int64_t bytes;  /* of all ranks */
} history;

/* Each returns 0, or GRIDIO_FAILED on all ranks, where gridio_error() is the sentence. */
int history_create(history *h, const grid *g, const solver_options *options);
int history_write(history *h, const grid *g, const field *f, int64_t output, double time);
int history_close(history *h);

/* Reads the tracers of one output back, by the same method, and compares them; *differ: cells that differ, on all
 * ranks. */
int history_verify(const grid *g, const solver_options *options, const field *f, int64_t output, int64_t *differ);

#endif
