/* A program that spawns two others, sends to one after 200 ms, which then computes for 300 ms, while
 * all wait for that one: first where the two worlds merge, then in a barrier. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

enum { CHILDREN = 2, LAST = CHILDREN - 1, TAG = 5 };

static void parent(char *program, MPI_Comm *between, MPI_Comm *all)
{
    MPI_Comm_spawn(program, MPI_ARGV_NULL, CHILDREN, MPI_INFO_NULL, 0, MPI_COMM_WORLD, between,
                   MPI_ERRCODES_IGNORE);
    usleep(200000);
    MPI_Send(&(int){0}, 1, MPI_INT, LAST, TAG, *between);
    MPI_Intercomm_merge(*between, 0, all);
}

static void child(MPI_Comm *between, MPI_Comm *all)
{
    int rank, received;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == LAST) {
        MPI_Recv(&received, 1, MPI_INT, 0, TAG, *between, MPI_STATUS_IGNORE);
        usleep(300000);
    }
    MPI_Intercomm_merge(*between, 1, all);
}

int main(int count, char **arguments)
{
    MPI_Comm between, all;
    MPI_Init(&count, &arguments);
    MPI_Comm_get_parent(&between);
    if (between == MPI_COMM_NULL)
        parent(arguments[0], &between, &all);
    else
        child(&between, &all);
    MPI_Barrier(all);
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(&between);
    MPI_Finalize();
    return 0;
}
