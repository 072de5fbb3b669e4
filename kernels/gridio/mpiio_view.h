/* A slab as MPI-IO wants it: where it lies in the file, as a type whose offsets ascend, and in
 * memory. */
#ifndef GRIDIO_MPIIO_VIEW_H
#define GRIDIO_MPIIO_VIEW_H

#include "internal.h"

typedef struct {
    MPI_Datatype places;
    MPI_Datatype memory;
    int memory_count;
    bool is_made, is_kept; /* is_kept: another has it, who frees it */
    int selection;         /* a kept one is of the share's blocks at this count */
} mpiio_view;

/* Of nothing, for a rank that only takes part. */
mpiio_view mpiio_empty_view(const gridio_file *file, int number);

int mpiio_make_view(gridio_file *file, const gridio_slab *slab, mpiio_view *view);
void mpiio_free_view(mpiio_view *view);

/* The number in the whole array of a block's first or last element. */
int64_t mpiio_place(const gridio_variable *variable, const gridio_block *block, bool last);

#endif
