/* spawn.c: its ranks together spawn `count` children, twice where a second number says so; every
 * process writes (1000 times its rank + 1) bytes.
 *     spawn CHILDREN [TIMES] */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void write_own(const char *who, int rank)
{
    static char data[64000];
    char name[64];
    snprintf(name, sizeof name, "%s.%d.%d", who, rank, (int)getpid());
    int file = open(name, O_CREAT | O_WRONLY, 0600);
    if (write(file, data, 1000 * ((size_t)rank + 1)) < 0)
        exit(1);
    close(file);
}

int main(int count, char **words)
{
    MPI_Comm parent, children;
    int rank;
    MPI_Init(&count, &words);
    MPI_Comm_get_parent(&parent);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    write_own(parent == MPI_COMM_NULL ? "parent" : "child", rank);
    if (parent == MPI_COMM_NULL) {
        for (int times = count > 2 ? atoi(words[2]) : 1; times > 0; times--) {
            MPI_Comm_spawn(words[0], MPI_ARGV_NULL, atoi(words[1]), MPI_INFO_NULL, 0,
                           MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
            MPI_Barrier(children);
            MPI_Comm_disconnect(&children);
        }
    } else {
        MPI_Barrier(parent);
        MPI_Comm_disconnect(&parent);
    }
    MPI_Finalize();
    return 0;
}
