/* Variables that are not tiled, in the methods of which several ranks have the file open. */
#ifndef GRIDIO_UNTILED_H
#define GRIDIO_UNTILED_H

#include "internal.h"

#define GRIDIO_UNTILED_SETTINGS                                                                    \
    "whole_access: collective or independent, how variables that are not tiled are written; "      \
    "default: as the others",                                                                      \
        "whole_writers: root or all, which of the ranks that have the file open write those; "     \
        "default: root"

/* Fails where the format cannot do what these settings ask for. */
int gridio_check_untiled(gridio_file *file);

/* The slab as this rank, which has the file open, is to give it to the format. */
gridio_slab gridio_untiled_slab(gridio_file *file, const gridio_slab *slab);

#endif
