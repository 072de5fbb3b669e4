/* The solver's command line. */
#ifndef SOLVER_OPTIONS_H
#define SOLVER_OPTIONS_H

#include <stdbool.h>
#include <stdio.h>

enum { HINTS_AT_MOST = 64 };

typedef struct {
    int size[3];  /* cells: z, y, x */
    int tiles[2]; /* ranks: y, x; 0: let MPI choose */
    int steps;
    int every; /* steps between outputs */
    int variables;
    const char *method;
    const char *format; /* NULL: the method's usual one */
    const char *path;
    const char *hints[HINTS_AT_MOST + 1]; /* key=value, ended by NULL */
    bool sync;
    bool verify;
    bool quiet;
    bool help;
} solver_options;

/* False where the command line has no sense; problem is then one sentence. */
bool options_parse(int count, char **words, solver_options *options, char *problem, size_t room);

void options_help(FILE *stream);

#endif
