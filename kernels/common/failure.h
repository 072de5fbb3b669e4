/* A failure that one rank sees in calls of its own, and that all ranks must tell alike. */
#ifndef COMMON_FAILURE_H
#define COMMON_FAILURE_H

#include <mpi.h>
#include <stdbool.h>

struct failure {
    char sentence[1024];
};

/* "cannot WHAT 'PATH': why", and -1; nothing and 0 where the error is MPI_SUCCESS. */
int failure_of_mpi(struct failure *failure, const char *what, const char *path, int error);
/* The same of errno, always. */
int failure_of_system(struct failure *failure, const char *what, const char *path);

/* Collective: DONE where no rank failed, otherwise FAILED on all ranks with the lowest failed
 * rank's sentence. */
int failure_agree(struct failure *failure, bool failed, MPI_Comm comm);

#endif
