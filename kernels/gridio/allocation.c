#include "allocation.h"

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static void *found(void *memory, size_t count, size_t bytes_each)
{
    if (memory)
        return memory;
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    fprintf(stderr, "gridio: rank %d has no memory for %zu times %zu bytes\n", rank, count,
            bytes_each);
    MPI_Abort(MPI_COMM_WORLD, 1);
    abort();
}

void *gridio_allocate(size_t count, size_t bytes_each)
{
    const size_t one = count && bytes_each ? 0 : 1; /* nothing has an address, too */
    return found(calloc(count + one, bytes_each + one), count, bytes_each);
}

void *gridio_enlarge(void *old, size_t count, size_t bytes_each)
{
    const size_t most = bytes_each ? SIZE_MAX / bytes_each : SIZE_MAX;
    void *memory = count <= most ? realloc(old, count * bytes_each + 1) : NULL;
    return found(memory, count, bytes_each);
}
