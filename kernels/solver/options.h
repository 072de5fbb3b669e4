/* The solver's command line, for one output without a plan. */
#ifndef SOLVER_OPTIONS_H
#define SOLVER_OPTIONS_H

#include <stdbool.h>
#include <stdio.h>

enum { HINTS_AT_MOST = 64 };

struct solver_options {
    int size[3];  /* cells: z, y, x */
    int tiles[2]; /* ranks: y, x; 0: let MPI choose */
    int steps;
    int every; /* steps between outputs */
    int variables;
    int work;
    const char *method;
    const char *format; /* NULL: the method's default */
    const char *path;
    const char *hints[HINTS_AT_MOST + 1];    /* key=value, ended by NULL */
    const char *settings[HINTS_AT_MOST + 1]; /* name=value, ended by NULL */
    bool sync;
    bool verify;
    bool quiet;
    bool help;
};

/* False where the command line has no sense; problem is then one sentence. */
bool options_parse(int count, char **words, struct solver_options *options, char *problem,
                   size_t room);

/* The same as the text of a plan, which the caller frees: height and time, and the tracers. */
char *options_plan(const struct solver_options *options);

void options_help(FILE *stream);

#endif
