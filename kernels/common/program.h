/* What all programs share: `PROGRAM --plan PLAN [--records FILE]`, how they fail, and how they end.
 */
#ifndef COMMON_PROGRAM_H
#define COMMON_PROGRAM_H

#include "plan.h"

enum { DONE = 0, FAILED = 1, WRONG_USE = 2 };

/* The keys that every plan may have. */
struct program_policy {
    bool fingerprints, cold;
};
extern struct program_policy policy;

/* Reads the plan, opens the records, calls run on all ranks, and says on rank 0 what went wrong.
 * run gives one of the statuses above, the same on all ranks. */
int program_run(int count, char **words, const char *program, int (*run)(struct plan *plan));

/* The same in parts, for a program that makes its own plan: start comes right after MPI_Init; begin
 * gives a status; end gives what main returns. */
void program_start(const char *name);
int program_begin(struct plan *plan, const char *records);
int program_end(int status);

/* Keeps the sentence (without its full stop) and the hint (or NULL) for the end, and gives the
 * status. All ranks call it with the same. */
int program_fail(int status, const char *hint, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The plan's. */
int program_fail_plan(struct plan *plan);

#endif
