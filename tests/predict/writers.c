/* writers.c: ranks that compute, write and meet, for predictions whose truth can be made.
 *
 * usage: writers WAY DIRECTORY, under mpiexec
 *
 * Each of STEPS steps every rank sleeps, longer on odd ranks; then BYTES of each rank are written:
 *   independent   by each into a file of its own
 *   serial        by rank 0, to which the others send
 *   chain         by one rank after the other, each told by the one before
 *   gathered      by rank 0, which gathers them
 * and all meet in a barrier, but not where rank 0 gathers. Sleeping ranks need no processor, so
 * there may be more of them than of these.
 */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { STEPS = 12, BYTES = 200000, COMPUTE_MS = 20 };

static char block[BYTES];
static int rank, ranks;

static void compute(void)
{
    struct timespec time = {0, (COMPUTE_MS + rank % 2 * COMPUTE_MS / 2) * 1000000L};
    nanosleep(&time, NULL);
}

static void put(int file)
{
    if (write(file, block, BYTES) != BYTES)
        abort();
}

static void gather(int file)
{
    if (rank) {
        MPI_Send(block, BYTES, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
        return;
    }
    put(file);
    for (int other = 1; other < ranks; other++) {
        MPI_Recv(block, BYTES, MPI_CHAR, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        put(file);
    }
}

static void gather_all(int file)
{
    static char *blocks;
    if (rank == 0 && blocks == NULL)
        blocks = malloc((size_t)ranks * BYTES);
    MPI_Gather(block, BYTES, MPI_CHAR, blocks, BYTES, MPI_CHAR, 0, MPI_COMM_WORLD);
    for (int other = 0; rank == 0 && other < ranks; other++)
        if (write(file, blocks + (size_t)other * BYTES, BYTES) != BYTES)
            abort();
}

static void in_turn(int file)
{
    int token = 0;
    if (rank)
        MPI_Recv(&token, 1, MPI_INT, rank - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    put(file);
    if (rank + 1 < ranks)
        MPI_Send(&token, 1, MPI_INT, rank + 1, 1, MPI_COMM_WORLD);
}

int main(int count, char **arguments)
{
    MPI_Init(&count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    char path[4096];
    snprintf(path, sizeof path, "%s/file-%d", arguments[2], rank);
    int file = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
    if (file < 0)
        abort();
    for (int step = 0; step < STEPS; step++) {
        compute();
        switch (arguments[1][0]) {
        case 's': gather(file); break;
        case 'c': in_turn(file); break;
        case 'g': gather_all(file); continue;
        default: put(file);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    close(file);
    MPI_Finalize();
    return 0;
}
