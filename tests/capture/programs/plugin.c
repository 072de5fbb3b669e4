/* A library that calls MPI, for a program that knows none. */
#include <mpi.h>
#include <stdio.h>

int work(void)
{
    int size;
    MPI_Init(NULL, NULL);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Barrier(MPI_COMM_WORLD);
    printf("%d ranks\n", size);
    return MPI_Finalize();
}
