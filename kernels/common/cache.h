/* The page cache, between a file's writing and its reading. */
#ifndef COMMON_CACHE_H
#define COMMON_CACHE_H

#include <mpi.h>

/* Brings the file, or every file of the directory, to the disk and drops it from the page cache of
 * every node. Collective. Nothing is said where the system does not let go of a page: it is advice
 * (posix_fadvise). */
void cache_drop(const char *path, MPI_Comm comm);

#endif
