/* Ranks share a file, and each has another one beside it: turns KIND DIRECTORY. */

#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MB = 1 << 20, ROUNDS = 8 };
static const double TURN = 0.01, LINES = 0.007;

static int rank, ranks;
static char data[MB];

static int opened(const char *name, int number)
{
    char path[64];
    snprintf(path, sizeof path, number < 0 ? "%s" : "%s.%d", name, number);
    int file = open(path, O_CREAT | O_WRONLY, 0600);
    if (file < 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    return file;
}

/* Over and over until so much time has passed. */
static void put(int file, size_t bytes, double seconds)
{
    for (double end = MPI_Wtime() + seconds; MPI_Wtime() < end;)
        if (pwrite(file, data, bytes, (off_t)MB * rank) != (ssize_t)bytes)
            MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Whoever has the token writes; who has passed it on writes his log meanwhile. */
static void token(int file, int log, int members)
{
    char byte = 0;
    int before = (rank + members - 1) % members, after = (rank + 1) % members;
    for (int i = 0; i < ROUNDS; i++) {
        if (rank || i)
            MPI_Recv(&byte, 1, MPI_BYTE, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        put(file, MB, TURN);
        if (after || i < ROUNDS - 1)
            MPI_Send(&byte, 1, MPI_BYTE, after, 0, MPI_COMM_WORLD);
        put(log, 60, LINES);
    }
}

int main(int count, char **words)
{
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (count < 3 || chdir(words[2]))
        MPI_Abort(MPI_COMM_WORLD, 1);
    const char *kind = words[1];
    int file = opened("shared.dat", -1), log = opened("log", rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (!strcmp(kind, "token")) {
        token(file, log, ranks);
    } else if (!strcmp(kind, "beside")) {
        /* The last rank has a file to itself, and nobody waits for it. */
        if (rank < ranks - 1)
            token(file, log, ranks - 1);
        else
            put(log, MB, ROUNDS * (ranks - 2) * TURN);
    } else {
        for (int i = 0; i < ROUNDS; i++) {
            put(file, MB, TURN);
            put(log, 60, LINES);
            MPI_Barrier(MPI_COMM_WORLD);
        }
    }
    MPI_Finalize();
    return 0;
}
