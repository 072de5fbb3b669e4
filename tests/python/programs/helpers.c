/* helpers.c: each rank starts helpers, by fork and by a shell, and writes 1,000 bytes itself. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void write_bytes(const char *who, int rank, size_t bytes)
{
    static char data[64000];
    char name[64];
    snprintf(name, sizeof name, "%s.%d", who, rank);
    int file = open(name, O_CREAT | O_WRONLY, 0600);
    if (write(file, data, bytes) < 0)
        exit(1);
    close(file);
}

int main(int count, char **words)
{
    int rank, status;
    char command[200];
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (!fork()) {
        write_bytes("forked", rank, 5000);
        _exit(0);
    }
    wait(&status);
    snprintf(command, sizeof command,
             "(dd if=/dev/zero of=dd.%d bs=1000 count=7 2>/dev/null; true); true", rank);
    if (system(command))
        return 1;
    write_bytes("own", rank, 1000);
    MPI_Finalize();
    return 0;
}
