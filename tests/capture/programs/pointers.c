/* Reaches MPI_Barrier in every way that a compiler and a loader know. Prints what it finds. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

static int (*in_data)(MPI_Comm) = MPI_Barrier;

int main(int argc, char **argv)
{
    int (*volatile in_code)(MPI_Comm) = MPI_Barrier;
    int (*by_name)(MPI_Comm) = (int (*)(MPI_Comm))dlsym(RTLD_DEFAULT, "MPI_Barrier");
    MPI_Init(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    in_data(MPI_COMM_WORLD);
    in_code(MPI_COMM_WORLD);
    by_name(MPI_COMM_WORLD);
    printf("equal %d %d\n", in_code == in_data, in_code == by_name);
    printf("never there %d\n", dlsym(RTLD_DEFAULT, "MPI_Barrier_of_no_standard") != NULL);
    return MPI_Finalize();
}
