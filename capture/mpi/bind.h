/* bind.h: between bind.c, which leads the program's calls here, and resolve.c, which says where
 * they go. Part of libtailrace.so, compiled without an MPI.
 */
#ifndef TAILRACE_BIND_H
#define TAILRACE_BIND_H

#include <stdbool.h>
#include <string.h>

#include "objects.h"

enum { TRAMPOLINE_BYTES = 32, MPI_LIBRARIES_MAX = 16 };

/* The application's libmpi, and all that is named libmpi*: Fortran's bindings have libraries of
 * their own. Handles of dlopen. */
struct mpi_libraries {
    void *mpi;
    void *all[MPI_LIBRARIES_MAX];
    unsigned count;
    char soname[256]; /* of `mpi` */
};
extern struct mpi_libraries mpi_libraries __attribute__((visibility("hidden")));

/* Of the symbol with this number: its name, and the function that the program would call without
 * capture, NULL where there is none. */
const char *symbol_name(unsigned number) __attribute__((visibility("hidden")));
void *symbol_target(unsigned number) __attribute__((visibility("hidden")));

static inline bool starts_with(const char *text, const char *prefix)
{
    return !strncmp(text, prefix, strlen(prefix));
}

#endif
