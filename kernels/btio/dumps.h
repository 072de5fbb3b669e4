/* How dumps get into a file and back: one struct for each of the benchmark's modes. */
#ifndef BTIO_DUMPS_H
#define BTIO_DUMPS_H

#include "failure.h"
#include "solution.h"
#include "stream.h"

struct dumps;

/* Every function is called by all ranks, and gives 0 or, on the ranks where something failed, -1
 * with the sentence in dumps->problem. write and read move dump n from and to the solution's
 * cells. */
struct dump_mode {
    const char *name; /* full, simple, epio */
    int (*open)(struct dumps *dumps, bool to_write);
    int (*write)(struct dumps *dumps, int64_t n);
    int (*read)(struct dumps *dumps, int64_t n);
    int (*sync)(struct dumps *dumps);
    int (*close)(struct dumps *dumps);
    int (*publish)(
        struct dumps
            *dumps); /* takes .partial off the name; NULL: the master does, of the one file */
    void (*hints)(struct dumps *dumps,
                  void (*visit)(const char *key, const char *value, void *context), void *context);
};

extern const struct dump_mode DUMP_FULL, DUMP_SIMPLE, DUMP_EPIO;

struct dumps {
    const struct dump_mode *mode; /* NULL: through gridio */
    struct solution *solution;
    struct stream io; /* the path, the hints, the records; the file itself only through gridio */
    bool is_open;
    char file_path[4096]; /* while it is written, .partial */
    double *packed;       /* this rank's cells without halo */
    MPI_File file;
    MPI_Datatype element, in_memory, in_file; /* full */
    int descriptor;                           /* epio */
    struct failure problem;
};

/* Move the next dump; opens before the first and closes after the last. DONE or FAILED, the same on
 * all ranks. */
int dumps_write(struct dumps *dumps, int64_t model_step);
int dumps_read(struct dumps *dumps, int64_t model_step);
/* Closes what a failure left open; a file that is not whole does not get its name. */
void dumps_abandon(struct dumps *dumps);

#endif
