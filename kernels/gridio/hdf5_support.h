/* What the formats on HDF5 share: files with the serial or the MPI driver, failures as sentences,
 * and slabs to and from data sets. */
#ifndef GRIDIO_HDF5_SUPPORT_H
#define GRIDIO_HDF5_SUPPORT_H

#include "internal.h"

#include <hdf5.h>

/* "cannot WHAT 'PATH': REASON", the reason being the innermost that HDF5 has on its stack. */
int hdf5_fail(gridio_file *file, const char *what);
/* The same where the value is negative, and 0 otherwise. */
int hdf5_check(gridio_file *file, int64_t value, const char *what);

/* Negative on failure, and the file failed. The driver is MPI-IO over the accessors, or the serial
 * one for a method whose accessor is alone. Settings: alignment_bytes, alignment_threshold_bytes,
 * metadata. */
hid_t hdf5_create(gridio_file *file, const char *path);
hid_t hdf5_open(gridio_file *file, const char *path);
hid_t hdf5_access(gridio_file *file); /* how the two open a file; to be closed */

/* To the disk, past the system's cache too. */
int hdf5_flush(gridio_file *file, hid_t id);

/* The MPI-IO hints in force; none with the serial driver. */
void hdf5_hints(hid_t id, void (*visit)(const char *key, const char *value, void *context),
                void *context);

/* Of file and memory alike; not to be closed. */
hid_t hdf5_type(gridio_type type);

/* Moves a slab's blocks between memory and a data set of the variable's shape, before which, if
 * has_steps, stands one dimension of steps. */
typedef struct {
    hid_t set, type; /* the type in memory, which is that in the file */
    bool has_steps, writes;
} hdf5_target;
int hdf5_move(gridio_file *file, const hdf5_target *target, const gridio_slab *slab, void *data);

/* How many calls all accessors make for a slab if one call cannot move all of its blocks: the most
 * of any of them. */
int hdf5_rounds(gridio_file *file, const gridio_slab *slab, int own);

#endif
