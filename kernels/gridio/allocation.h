/* Memory that a rank cannot do without while others wait for it: a failure could not be agreed on,
 * so one sentence says how much was asked for, and the program ends. */
#ifndef GRIDIO_ALLOCATION_H
#define GRIDIO_ALLOCATION_H

#include <stddef.h>

/* Zeroed; to be freed by free(). Never NULL. */
void *gridio_allocate(size_t count, size_t bytes_each);

/* The same contents with room for `count`; what is new is not zeroed. */
void *gridio_enlarge(void *old, size_t count, size_t bytes_each);

#endif
