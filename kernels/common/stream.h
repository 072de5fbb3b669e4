/* A stream: a file, or a row of files, that a program writes or reads step by step through gridio,
 * timed, recorded and with fingerprints.
 *
 * Writing: stream_write_begin (opens and defines where a file begins), stream_write for each
 * variable that is due (stream_due), stream_write_end. Reading: stream_read_begin, stream_read,
 * stream_read_end. Each returns DONE, or FAILED on all ranks with the sentence given to
 * program_fail. All are collective.
 */
#ifndef COMMON_STREAM_H
#define COMMON_STREAM_H

#include "gridio.h"
#include "plan.h"
#include "timing.h"

/* A variable of a stream, with this rank's blocks of it. */
struct stream_variable {
    gridio_variable description;
    gridio_block block; /* the one block, where there are no others */
    int blocks;
    const gridio_block *more; /* NULL: `block` is the only one */
    bool any_type;            /* reading: the file's type is taken, whatever it is */
    int number;               /* in the open file */
    uint64_t fingerprint;     /* of the last step moved: of all ranks on rank 0 after the step, else
                                 this rank's share */
};

struct stream {
    const char *name, *direction;
    const char *path; /* as planned; the open file's is in `open_path` */
    const char *method, *format;
    const char **hints, **settings;
    bool sync;
    bool last;                     /* reading: always the last whole step of the file */
    int64_t steps, steps_per_file; /* steps: that there will be */
    bool again;                    /* one step per file, and always the same file */
    struct stream_variable *variable;
    int variables;
    MPI_Comm comm;
    void (*opened)(
        struct stream *stream); /* called on all ranks when the first file is open; or NULL */

    const char *method_in_use, *format_in_use; /* as the records have them */
    gridio_file *file;
    char open_path[4096];
    int64_t step;        /* the next one */
    struct phases spent; /* since the last record */
    double begin_s;
    bool announced, fresh; /* fresh: the file was opened for this step */
    int64_t bytes_in_step;
};

/* Takes path, sync, steps_per_file, and how: method, format, hint and setting. */
void stream_from_plan(struct stream *stream, struct plan *plan, struct plan_section *section,
                      const char *direction, MPI_Comm comm);
/* Takes prepare_method, prepare_format, prepare_hint, prepare_setting, each of which may be absent;
 * if wanted, they replace how. */
void stream_prepare_from_plan(struct stream *stream, struct plan *plan,
                              struct plan_section *section, bool wanted);
/* The caller frees the variables. */
void stream_free(struct stream *stream);

int64_t stream_step_in_file(const struct stream *stream);
/* Whether this variable belongs to the next step. */
bool stream_due(const struct stream *stream, int index);

int stream_write_begin(struct stream *stream);
int stream_write(struct stream *stream, int index, const void *data);
int stream_write_end(struct stream *stream, int64_t model_step);

int stream_read_begin(struct stream *stream);
int stream_read(struct stream *stream, int index, void *data);
int stream_read_end(struct stream *stream, int64_t model_step);

/* For a program that moves the data by calls of its own and only records them here: begin, its own
 * calls timed into `spent`, moved for each variable with what was moved (before a write, after a
 * read), end. `fresh` is the caller's. */
void stream_begin(struct stream *stream);
void stream_moved(struct stream *stream, int index, const void *data);
void stream_end(struct stream *stream, int64_t model_step);
void stream_end_at(struct stream *stream, int64_t model_step,
                   int64_t step_in_file); /* where it is not the stream's step */

/* Closes what a failure left open; keeps the first failure's sentence. */
void stream_abandon(struct stream *stream);

/* stream_sizes.c: this rank's blocks of a variable, their elements, and their bytes; the bytes of
 * the whole variable. */
const gridio_block *stream_blocks(const struct stream_variable *variable);
int64_t stream_whole_bytes(const struct stream_variable *variable);
int64_t stream_elements(const struct stream_variable *variable);
size_t stream_bytes(const struct stream_variable *variable);
size_t stream_element_bytes(gridio_type type);

#endif
