/* Inside gridio: what a method and a format are, and the file they share.
 *
 * A method decides which ranks open the file (the accessors) and how blocks reach them. A format
 * decides where bytes lie and moves them. Any method drives any format that can do what the method
 * asks of it (see needs and can). A new one is one file that fills one of the two structs, and one
 * line in registry.c (../README.md has the steps).
 */
#ifndef GRIDIO_INTERNAL_H
#define GRIDIO_INTERNAL_H

#include "gridio.h"

#include <stddef.h>

enum { GRIDIO_VARIABLES_AT_MOST = 1024, GRIDIO_ROOT = 0 };

/* What a method asks of a format, and a format can: one rank opening a file by itself; several
 * opening one file and moving slabs all together; several opening one file and each moving slabs
 * when it likes. */
enum { GRIDIO_ALONE = 1, GRIDIO_TOGETHER = 2, GRIDIO_APART = 4 };

/* One transfer between a format and memory: blocks of one variable, which follow one another in
 * memory, each contiguous. */
typedef struct {
    int number; /* of the variable */
    int64_t step;
    int blocks; /* those with elements; 0: this rank only takes part in what all do together */
    const gridio_block *block;
    int64_t elements; /* of all blocks */
    bool together;    /* all accessors make this call at once; otherwise each by itself */
} gridio_slab;

/* Of every variable that a method moves, every accessor makes at least one call, if need be with no
 * blocks, and all of one variable's calls are together or none: a library may switch modes, which
 * all of them do at once, at a change of variable, step or `together`. */

/* What the file keeps of a variable beside its description. */
typedef struct {
    int blocks; /* of this rank, those with elements */
    gridio_block *block;
    int64_t elements;
    int selection; /* counts the choices of blocks: what was made of earlier ones is out of date */
    bool is_selected; /* reading a file per rank: the blocks above are what the file has; this rank
                         wants them */
    /* In a file per rank the description is that of this rank's part: of its one block, or of all
     * of them in a row. What it is a part of then stands here, for the format to record. */
    bool is_part, is_absent; /* absent: this rank has none of it, and its file no such variable */
    gridio_variable whole;   /* names are those of the description */
    int ordinal; /* in a file per rank: which it is among all ranks' variables, from 1; 0: unknown
                  */
} gridio_share;

typedef struct {
    const char *name;
    int can;            /* GRIDIO_ALONE | … */
    const char *suffix; /* of a file's name: ".nc" */
    bool for_tests;     /* of gridio itself: nothing offers it to users */
    bool reports_full;  /* a write to a full disk fails and all go on; else room is looked for
                           before a step */
    const char *const *
        settings; /* "name: meaning", ended by NULL; or NULL. Values: gridio_setting(file, name). */

    /* Called by the ranks of file->accessors only, all of them. A file that is to be written is not
     * there yet. A failing one leaves file->handle NULL, or such that close may be called. */
    int (*open_to_write)(gridio_file *file, const char *path);
    int (*open_to_read)(gridio_file *file,
                        const char *path); /* fills file->variables, shares' parts and steps */
    int (*write_definitions)(gridio_file *file);
    int (*write)(gridio_file *file, const gridio_slab *slab, const void *data);
    int (*read)(gridio_file *file, const gridio_slab *slab, void *data);
    int (*flush)(gridio_file *file);      /* to the disk */
    int (*mark_steps)(gridio_file *file); /* file->steps into the file */
    int (*close)(gridio_file *file); /* frees the handle and sets it to NULL, whatever happens */
    void (*hints)(gridio_file *file, void (*visit)(const char *, const char *, void *),
                  void *context); /* or NULL */
} gridio_format;

typedef struct {
    const char *name;
    const char *default_format;
    int needs;   /* one of GRIDIO_ALONE … */
    bool splits; /* into a file per rank */
    const char *const *settings;

    MPI_Comm (*accessors)(
        gridio_file *file); /* the ranks that open the file; MPI_COMM_NULL elsewhere */
    int (*write)(gridio_file *file, const gridio_slab *slab, const void *data);
    int (*read)(gridio_file *file, const gridio_slab *slab, void *data);
    void (*release)(gridio_file *file); /* file->scratch; or NULL */
} gridio_method;

struct gridio_file {
    const gridio_method *method;
    const gridio_format *format;
    gridio_mode mode;
    MPI_Comm comm;      /* all ranks; a duplicate */
    MPI_Comm accessors; /* the ranks that open the file; MPI_COMM_NULL elsewhere. Rank 0 is rank 0
                           in it. */
    MPI_Info info;
    char **settings; /* name=value, ended by NULL */
    int rank, ranks; /* in comm */
    char *path;
    gridio_variable variables[GRIDIO_VARIABLES_AT_MOST];
    gridio_share shares[GRIDIO_VARIABLES_AT_MOST];
    int variables_count;
    int *order; /* reading a file per rank: the index in variables of every public number; NULL: the
                   number itself */
    bool defined;
    int64_t steps;                  /* whole in the file */
    int64_t steps_written;          /* at least begun */
    int64_t once_bytes, step_bytes; /* that all ranks write: once, and in every step */
    bool failed;                    /* something, on this rank; for good */
    bool failed_everywhere;         /* and all ranks know */
    void *handle;                   /* the format's */
    void *scratch;                  /* the method's */
};

/* By name; on failure NULL, and gridio_error() names the possible ones. */
const gridio_method *gridio_find_method(const char *name);
const gridio_format *gridio_find_format(const char *name, const gridio_method *method);

/* The value of a setting that was given; NULL: it was not. As a number:
 * `default_value` where it was not; a value that is not a number of at least 0 is a failure of the
 * file and gives `default_value`. */
const char *gridio_setting(const gridio_file *file, const char *name);
int64_t gridio_setting_number(gridio_file *file, const char *name, int64_t default_value);
/* Whether it has the given value. A value that is none of `values` ("collective|independent") is a
 * failure of the file. */
bool gridio_setting_is(gridio_file *file, const char *name, const char *values,
                       const char *default_value, const char *value);

/* Calls visit for every key of the hints, and frees them. */
void gridio_visit_hints(MPI_Info hints,
                        void (*visit)(const char *key, const char *value, void *context),
                        void *context);

/* Records a failure's sentence (a file's first is kept) and returns GRIDIO_FAILED. file: or NULL.
 */
int gridio_fail(gridio_file *file, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* 0 where no rank has failed; otherwise all ranks, from now on, have the lowest failed rank's
 * sentence. */
int gridio_agree(gridio_file *file);

/* A variable found in a file that is being read (names are copied); its number, or -1 with the file
 * failed. */
int gridio_add_variable(gridio_file *file, const gridio_variable *variable);

MPI_Datatype gridio_mpi_type(gridio_type type);
const char *gridio_type_name(gridio_type type); /* float64, float32, int32, character */
size_t gridio_element_bytes(gridio_type type);
int64_t gridio_elements(const gridio_block *block, int dimensions);
gridio_block gridio_whole(const gridio_variable *variable);
size_t gridio_variable_bytes(const gridio_variable *variable);

bool gridio_same_block(const gridio_block *one, const gridio_block *other, int dimensions);

/* The blocks' places in the whole array, as a committed datatype of the caller's; there is at least
 * one. */
MPI_Datatype gridio_places(const gridio_variable *variable, int blocks, const gridio_block *block);
/* `elements` of the variable's type in a row: one element of this type however large it is. */
MPI_Datatype gridio_row(gridio_type type, int64_t elements);

#endif
