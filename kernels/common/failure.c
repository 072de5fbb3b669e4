#include "failure.h"
#include "program.h"
#include "timing.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int failure_of_mpi(struct failure *failure, const char *what, const char *path, int error)
{
    char reason[MPI_MAX_ERROR_STRING];
    int length;
    if (error == MPI_SUCCESS)
        return 0;
    MPI_Error_string(error, reason, &length);
    reason[strcspn(reason, "\n")] = '\0';
    snprintf(failure->sentence, sizeof failure->sentence, "cannot %s '%.500s': %.300s", what, path,
             reason);
    return -1;
}

int failure_of_system(struct failure *failure, const char *what, const char *path)
{
    snprintf(failure->sentence, sizeof failure->sentence, "cannot %s '%.500s': %s", what, path,
             strerror(errno));
    return -1;
}

int failure_agree(struct failure *failure, bool failed, MPI_Comm comm)
{
    int rank, ranks, lowest;
    aside_begin();
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    const int mine = failed ? rank : ranks;
    MPI_Allreduce(&mine, &lowest, 1, MPI_INT, MPI_MIN, comm);
    if (lowest < ranks)
        MPI_Bcast(failure->sentence, sizeof failure->sentence, MPI_CHAR, lowest, comm);
    aside_end();
    return lowest == ranks ? DONE : program_fail(FAILED, NULL, "%s", failure->sentence);
}
