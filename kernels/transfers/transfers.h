/* One file, written and read in transfers of one size, by each of several interfaces: the pattern
 * of h5perf, HDF5's measure of parallel performance (its one-dimensional geometry).
 *
 * contiguous: rank r has the bytes from F r / P to F (r + 1) / P of a file of F, and moves
 * transfer_bytes of them with each call. interleaved: the file is blocks of block_bytes, which
 * belong to the ranks in turn; a call moves transfer_bytes / block_bytes blocks of the rank (POSIX,
 * which has no such call, one block). Collective calls are made by all ranks the same number of
 * times, some with nothing.
 */
#ifndef TRANSFERS_H
#define TRANSFERS_H

#include "failure.h"
#include "stream.h"

struct pattern {
    int64_t file_bytes, transfer_bytes, block_bytes; /* multiples of an element */
    bool interleaved, collective;
    int64_t calls; /* of every rank */
};

struct transfer;

/* Every function is called by all ranks and gives 0 or, on the ranks where something failed, -1
 * with the sentence in transfer->problem. */
struct transfer_interface {
    const char *name, *suffix, *format; /* as the records have them; suffix: of the file's name */
    int (*open)(struct transfer *transfer, bool to_write);
    int (*move)(struct transfer *transfer,
                bool to_write); /* the blocks of one call, between the file and the buffer */
    int (*sync)(struct transfer *transfer);
    int (*close)(struct transfer *transfer);
    void (*hints)(struct transfer *transfer,
                  void (*visit)(const char *key, const char *value, void *context), void *context);
};

extern const struct transfer_interface INTERFACE_POSIX, INTERFACE_MPIIO, INTERFACE_HDF5;
/* Those that are built, ended by NULL. */
extern const struct transfer_interface *const TRANSFER_INTERFACES[];

struct transfer {
    const struct transfer_interface *by;
    struct pattern pattern;
    int rank, ranks;
    struct stream io;            /* the hints, the settings, the records */
    struct stream_variable data; /* the whole file as int32; its blocks are those of the call */
    gridio_block *block;         /* of the call */
    char path[4096], open_path[4200];
    int64_t call, bytes; /* which one it is, and what this rank moves in it */
    void *buffer;
    struct failure problem;

    int descriptor;    /* posix */
    MPI_File file;     /* mpiio */
    int64_t handle[3]; /* hdf5: the file, the data set, how to transfer */
};

/* How many calls of a rank move all of the file. */
int64_t pattern_calls(const struct pattern *pattern, int ranks);
/* The blocks that call n of this rank moves, in elements; at most transfer_bytes / block_bytes,
 * or 1. */
int pattern_blocks(const struct pattern *pattern, int64_t n, int rank, int ranks,
                   gridio_block *block);
int pattern_blocks_at_most(const struct pattern *pattern);

enum { ELEMENT_BYTES = 4 };

#endif
