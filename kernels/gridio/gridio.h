/* gridio: a solver's distributed arrays to and from files, by a method and in a format chosen at
 * run time.
 *
 *     gridio_options options = {.method = "collective", .format = "netcdf4"};
 *     gridio_block mine = {.start = {0, y, x}, .count = {NZ, ny, nx}};
 *     gridio_file *file;
 *     int ozone;
 *     gridio_open(&file, "history.nc", GRIDIO_WRITE, &options, MPI_COMM_WORLD);
 *     gridio_variable variable = {.name = "ozone", .units = "ppm", .type = GRIDIO_FLOAT64,
 *                                 .tiled = true, .every_step = true,
 *                                 .dimensions = 3, .size = {NZ, NY, NX}};
 *     gridio_define(file, &variable, 1, &mine, &ozone);
 *     gridio_end_definitions(file);
 *     for (int64_t step = 0; step < STEPS; step++) {
 *         gridio_write(file, ozone, step, values);
 *         gridio_sync(file);
 *     }
 *     gridio_close(&file);
 *
 * A *method* says which ranks touch the file, a *format* what the file is; registry.c lists them.
 * gridio_method_at() and gridio_format_at() name those of a build, gridio_pair() says which go
 * together, and the program gridio-info prints it all.
 *
 * Every function is collective: all ranks of the communicator call it, in the same order, and none
 * of them hangs when one fails. A file is written under the name PATH.partial and gets its own name
 * when gridio_close has succeeded; the file-per-rank method writes a directory of that name with
 * one file per rank in it. Until then the file says how many steps are whole, as of the last
 * gridio_sync.
 *
 * Functions return 0, or GRIDIO_FAILED where gridio_error() is one sentence that says what failed
 * and on which file. They fail on all ranks alike, so that a program may simply stop: what fails on
 * one rank in gridio_write, which does not make ranks wait for each other, is reported on all ranks
 * by the next gridio_sync or gridio_close.
 *
 * Memory of a rank: its blocks plus, in the serial method's master, one variable, and in an
 * aggregated writer one buffer of the setting buffer_bytes.
 */
#ifndef GRIDIO_H
#define GRIDIO_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { GRIDIO_FAILED = -1 };

/* Dimensions of a variable at most. */
#define GRIDIO_DIMENSIONS 4

typedef struct gridio_file gridio_file;

typedef enum { GRIDIO_READ, GRIDIO_WRITE } gridio_mode;

typedef enum { GRIDIO_FLOAT64, GRIDIO_FLOAT32, GRIDIO_INT32, GRIDIO_CHARACTER } gridio_type;

/* How a file is reached. NULL anywhere: the default. */
typedef struct {
    const char *method;          /* "serial" is the default */
    const char *format;          /* each method has a default */
    const char *const *hints;    /* "key=value" for MPI-IO, ended by NULL */
    const char *const *settings; /* "name=value" for the method and the format, ended by NULL; see
                                    gridio_settings */
} gridio_options;

/* An array over the whole grid, in C order: the last dimension varies fastest. */
typedef struct {
    const char *name;  /* without blanks */
    const char *units; /* without blanks; "1" for a pure number */
    gridio_type type;
    int dimensions; /* 0: a single number */
    int64_t size[GRIDIO_DIMENSIONS];
    const char *dimension_name[GRIDIO_DIMENSIONS]; /* NULL: made up from the size. Equal names have
                                                      equal sizes. */
    bool tiled; /* every rank holds its own blocks; otherwise every rank holds the same whole */
    bool every_step; /* written at every step; otherwise once, whichever step is given */
} gridio_variable;

/* A part of a variable, in elements; a count of 0 in any dimension: nothing. No two blocks of all
 * ranks overlap. */
typedef struct {
    int64_t start[GRIDIO_DIMENSIONS];
    int64_t count[GRIDIO_DIMENSIONS];
} gridio_block;

/* Opens PATH for reading or, replacing what is there when it is closed, for writing. *file is NULL
 * on failure. */
int gridio_open(gridio_file **file, const char *path, gridio_mode mode,
                const gridio_options *options, MPI_Comm comm);

/* Writing: adds a variable, of which this rank will write the given blocks (0 and NULL: none, or
 * not tiled), and gives its number. Then, once, gridio_end_definitions. */
int gridio_define(gridio_file *file, const gridio_variable *variable, int blocks,
                  const gridio_block *block, int *number);
int gridio_end_definitions(gridio_file *file);

/* Reading: how many steps are whole, how many variables there are, what each is (valid until the
 * close), the number of the one of that name (-1: none), and which blocks this rank will read (at
 * first none). */
int64_t gridio_steps(const gridio_file *file);
int gridio_variables(const gridio_file *file);
const gridio_variable *gridio_describe(const gridio_file *file, int number);
int gridio_find(const gridio_file *file, const char *name);
int gridio_select(gridio_file *file, int number, int blocks, const gridio_block *block);

/* Moves this rank's blocks of one variable at one step (from 0). In data they follow one another in
 * the order in which they were given, each contiguous in C order; of a variable that is not tiled
 * it is the whole. */
int gridio_write(gridio_file *file, int number, int64_t step, const void *data);
int gridio_read(gridio_file *file, int number, int64_t step, void *data);

/* What was written is on the disk when this returns, and the steps it belongs to count as whole in
 * the file (that mark itself reaches the disk with the next sync: after a crash of the machine the
 * last step may not count). */
int gridio_sync(gridio_file *file);

/* Closes in any case; fails if anything written since the open is not in the file. Sets *file to
 * NULL. */
int gridio_close(gridio_file **file);

/* Closes, for a program that gives up: the file keeps the name PATH.partial. Sets *file to NULL. */
void gridio_abandon(gridio_file **file);

/* Calls visit for every hint in force as the library reports it, on the ranks that have the file
 * open (rank 0 always has). */
void gridio_hints(gridio_file *file,
                  void (*visit)(const char *key, const char *value, void *context), void *context);

/* The method and the format in use, by name. */
const char *gridio_method_name(const gridio_file *file);
const char *gridio_format_name(const gridio_file *file);

/* What this build has: the n-th method and format by name, NULL after the last. Whether they go
 * together: NULL, or one sentence that says why not and what does. And the settings of both, "name:
 * meaning", ended by NULL. */
const char *gridio_method_at(int n);
const char *gridio_format_at(int n);
const char *gridio_pair(const char *method, const char *format);
const char *const *gridio_settings(const char *method_or_format);

/* The last failure, in one sentence. */
const char *gridio_error(void);

#ifdef __cplusplus
}
#endif
#endif
