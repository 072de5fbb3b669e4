/* The setting `chunk` of the formats on HDF5: how a data set is cut into pieces in the file. */
#ifndef GRIDIO_CHUNKING_H
#define GRIDIO_CHUNKING_H

#include "internal.h"

#define GRIDIO_CHUNK_SETTING                                                                       \
    "chunk: contiguous (each step in one piece), block (as large as the largest rank's first "     \
    "block), or AxBxC "                                                                            \
    "elements; default: contiguous"

/* The chunk of the variable, without the steps' dimension; false: failed. *whole: it is all of the
 * variable. Collective over the accessors. No chunk is 4 GiB or more, HDF5's limit. */
bool gridio_chunk(gridio_file *file, int number, int64_t *chunk, bool *whole);

/* How many steps the setting `steps` (unlimited or a number) fixes; 0: unlimited. */
int64_t gridio_fixed_steps(gridio_file *file);
/* Fails where they are fixed and do not reach the step; on all ranks alike. */
int gridio_check_step(gridio_file *file, int64_t step);

#endif
