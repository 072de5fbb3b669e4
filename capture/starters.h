/* starters.h: programs that start others. Private to the core. */
#ifndef TAILRACE_STARTERS_H
#define TAILRACE_STARTERS_H

#include <stdbool.h>

/* Whether the file, which may be NULL, is by its name a program whose own files nobody asks about. */
bool starts_others(const char *path);

/* Whether it starts the ranks of a run. */
bool starts_ranks(const char *path);

#endif
