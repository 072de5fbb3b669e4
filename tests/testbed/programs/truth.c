/* Every rank writes to /dev/null, now and then, at an offset that is the processor's time-stamp
 * counter, which all nodes of the test bed share: the trace then holds the true time beside the
 * aligned one. In between the first and the last rank play ping-pong; the shortest message is
 * printed. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <x86intrin.h>

enum { WRITES = 10 };

static double ping_pong(int rank, int ranks)
{
    char byte = 0;
    double begin = MPI_Wtime();
    int partner = rank == 0 ? ranks - 1 : 0;
    if (rank == 0)
        MPI_Send(&byte, 1, MPI_CHAR, partner, 0, MPI_COMM_WORLD);
    MPI_Recv(&byte, 1, MPI_CHAR, partner, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank != 0)
        MPI_Send(&byte, 1, MPI_CHAR, partner, 0, MPI_COMM_WORLD);
    return (MPI_Wtime() - begin) / 2;
}

int main(int count, char **arguments)
{
    int rank, ranks, rounds = atoi(arguments[1]);
    double shortest = 1;
    MPI_Init(&count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int file = open("/dev/null", O_WRONLY);
    for (int i = 0; i < rounds; i++) {
        for (int k = 0; k < WRITES; k++)
            if (pwrite(file, "x", 1, (off_t)__rdtsc()) != 1)
                return 1;
        if (rank == 0 || rank == ranks - 1) {
            double took = ping_pong(rank, ranks);
            shortest = took < shortest ? took : shortest;
        }
        usleep(3000);
        if (i % 20 == 0)
            MPI_Barrier(MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("%.0f\n", 1e9 * shortest);
    MPI_Finalize();
}
