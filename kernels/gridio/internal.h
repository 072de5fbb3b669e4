/* Inside gridio: what a method and a format are, and the file they share.
 *
 * A method decides which ranks open the file and how blocks reach them. A format decides where bytes lie and moves
 * them. Any method drives any format whose file may be opened by as many ranks as the method opens it on. A new one is
 * one file that fills one of the two structs, and one line in registry.c.
 */
#ifndef GRIDIO_INTERNAL_H
#define GRIDIO_INTERNAL_H

#include "gridio.h"

#include <stddef.h>

enum { GRIDIO_VARIABLES_AT_MOST = 1024, GRIDIO_ROOT = 0 };

/* One transfer between a format and memory. */
typedef struct {
    int number; /* of the variable */
    int64_t step;
    gridio_block block;
    bool empty; /* this rank only takes part in what all do together */
} gridio_slab;

typedef struct {
    const char *name;
    bool shared; /* several ranks may have the file open, and move their slabs at once, all together */

    /* Called by the ranks of file->accessors only, all of them. open_to_write truncates. */
    int (*open_to_write)(gridio_file *file, const char *path);
    int (*open_to_read)(gridio_file *file, const char *path); /* fills file->variables and file->steps */
    int (*write_definitions)(gridio_file *file);
    int (*write)(gridio_file *file, const gridio_slab *slab, const void *data);
    int (*read)(gridio_file *file, const gridio_slab *slab, void *data);
    int (*flush)(gridio_file *file);      /* to the disk */
    int (*mark_steps)(gridio_file *file); /* file->steps into the header */
    int (*close)(gridio_file *file);
    void (*hints)(gridio_file *file, void (*visit)(const char *, const char *, void *), void *context); /* or NULL */
} gridio_format;

typedef struct {
    const char *name;
    const char *usual_format;
    bool shared; /* opens the file on more than one rank */

    int (*write)(gridio_file *file, const gridio_slab *slab, const void *data);
    int (*read)(gridio_file *file, const gridio_slab *slab, void *data);
} gridio_method;

struct gridio_file {
    const gridio_method *method;
    const gridio_format *format;
    gridio_mode mode;
    MPI_Comm comm;      /* all ranks; a duplicate */
    MPI_Comm accessors; /* the ranks that open the file; MPI_COMM_NULL elsewhere. Rank 0 is rank 0 in it. */
    MPI_Info info;
    int rank; /* in comm */
    char *path;
    gridio_variable variables[GRIDIO_VARIABLES_AT_MOST];
    int variables_count;
    bool defined;
    int64_t steps;          /* whole in the file */
    int64_t steps_written;  /* at least begun */
    bool failed;            /* something, on this rank; for good */
    bool failed_everywhere; /* and all ranks know */
    void *handle;           /* the format's */
    void *gathered;         /* the serial method's buffer, on the root */
    size_t gathered_bytes;
    size_t gathered_known; /* what all ranks know the root has room for */
};

extern const gridio_method gridio_serial, gridio_collective;
extern const gridio_format gridio_posix, gridio_mpiio;

/* By name; on failure NULL, and gridio_error() names the possible ones. */
const gridio_method *gridio_find_method(const char *name);
const gridio_format *gridio_find_format(const char *name, const gridio_method *method);

/* Records a failure's sentence (a file's first is kept) and returns GRIDIO_FAILED. file: or NULL. */
int gridio_fail(gridio_file *file, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* 0 where no rank has failed; otherwise all ranks, from now on, have the lowest failed rank's sentence. */
int gridio_agree(gridio_file *file);

MPI_Datatype gridio_mpi_type(gridio_type type);
size_t gridio_element_bytes(gridio_type type);
int64_t gridio_elements(const gridio_block *block, int dimensions);
gridio_block gridio_whole(const gridio_variable *variable);
size_t gridio_variable_bytes(const gridio_variable *variable);

/* The block's place in the whole array, as a committed datatype of the caller's; the block is not empty. */
MPI_Datatype gridio_subarray(const gridio_variable *variable, const gridio_block *block);
/* The block alone, contiguous: one element of this type however large it is. */
MPI_Datatype gridio_contiguous(const gridio_variable *variable, const gridio_block *block);

#endif
