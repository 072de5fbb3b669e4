/* MPI-IO hints, where a program calls MPI-IO itself. */
#ifndef COMMON_INFO_H
#define COMMON_INFO_H

#include <mpi.h>

/* From "key=value", ended by NULL; the caller frees it. MPI_INFO_NULL where there is none. */
MPI_Info info_from_hints(const char *const *hints);

/* Calls visit for every hint in force, as the library reports it. */
void info_in_force(MPI_File file, void (*visit)(const char *key, const char *value, void *context),
                   void *context);

#endif
