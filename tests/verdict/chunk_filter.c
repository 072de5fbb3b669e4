/* A filter of HDF5 for chunks.c, registered by the program or loaded as a plugin: it takes its time
 * over a chunk, whether that is written or read, and leaves it as it is. */
#include <hdf5.h>

#include "H5PLextern.h"

enum { FILTER = 300, PASSES = 600 };

static size_t filter(unsigned flags, size_t count, const unsigned values[], size_t bytes,
                     size_t *room, void **buffer)
{
    volatile unsigned long *at = *buffer;
    (void)flags, (void)count, (void)values, (void)room;
    for (int pass = 0; pass < PASSES; pass++)
        for (size_t i = 0; i < bytes / sizeof *at; i++)
            at[i] = ~at[i];
    return bytes;
}

static const H5Z_class2_t class = {
    H5Z_CLASS_T_VERS, FILTER, 1, 1, "as it was", NULL, NULL, filter,
};

H5PL_type_t H5PLget_plugin_type(void)
{
    return H5PL_TYPE_FILTER;
}

const void *H5PLget_plugin_info(void)
{
    return &class;
}
