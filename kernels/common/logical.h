/* Logical values in files, which some codes store as characters and others as integers. */
#ifndef COMMON_LOGICAL_H
#define COMMON_LOGICAL_H

#include "gridio.h"

/* 'T', 't' or '1', 'F', 'f' or '0' as a character; 1 or 0 as an integer. False where it is neither.
 */
bool logical_from(gridio_type type, const void *data, bool *value);

#endif
