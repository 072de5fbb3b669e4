/* How dumps get into a file and back: one struct for each of the benchmark's modes. */
#ifndef BTIO_DUMPS_H
#define BTIO_DUMPS_H

#include "failure.h"
#include "solution.h"
#include "stream.h"

typedef struct dumps dumps;

/* Every function is called by all ranks, and gives 0 or, on the ranks where something failed, -1 with the sentence in
 * d->problem. write and read move dump n from and to the solution's cells. */
typedef struct {
    const char *name; /* full, simple, epio */
    int (*open)(dumps *d, bool to_write);
    int (*write)(dumps *d, int64_t n);
    int (*read)(dumps *d, int64_t n);
    int (*sync)(dumps *d);
    int (*close)(dumps *d);
    int (*publish)(dumps *d); /* takes .partial off the name; NULL: the master does, of the one file */
    void (*hints)(dumps *d, void (*visit)(const char *key, const char *value, void *context), void *context);
} dump_mode;

extern const dump_mode DUMP_FULL, DUMP_SIMPLE, DUMP_EPIO;

struct dumps {
    const dump_mode *mode; /* NULL: through gridio */
    solution *s;
    stream io; /* the path, the hints, the records; the file itself only through gridio */
    bool is_open;
    char file_path[4096]; /* while it is written, .partial */
    double *packed;       /* this rank's cells without halo */
    MPI_File file;
    MPI_Datatype element, in_memory, in_file; /* full */
    int descriptor;                           /* epio */
    failure problem;
};

/* Move the next dump; opens before the first and closes after the last. DONE or FAILED, the same on all ranks. */
int dumps_write(dumps *d, int64_t model_step);
int dumps_read(dumps *d, int64_t model_step);
/* Closes what a failure left open; a file that is not whole does not get its name. */
void dumps_abandon(dumps *d);

#endif
