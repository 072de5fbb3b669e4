/* Programs with one known bottleneck each: planted NAME DIRECTORY. Each takes well under a second
 * where the machine is not busy; the tests say what the verdict must name. */

#include "planted.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int rank, ranks;
char *data;

void fail(const char *what)
{
    perror(what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

int open_file(const char *name, int number, int flags)
{
    char path[64];
    snprintf(path, sizeof path, number < 0 ? "%s" : "%s.%d", name, number);
    int file = open(path, flags, 0600);
    if (file < 0)
        fail(path);
    return file;
}

void put(int file, size_t bytes)
{
    if (write(file, data, bytes) != (ssize_t)bytes)
        fail("write");
}

void put_at(int file, size_t bytes, MPI_Offset offset)
{
    if (pwrite(file, data, bytes, offset) != (ssize_t)bytes)
        fail("pwrite");
}

void get_at(int file, size_t bytes, MPI_Offset offset)
{
    if (pread(file, data, bytes, offset) != (ssize_t)bytes)
        fail("pread");
}

void compute(double seconds)
{
    for (double until = MPI_Wtime() + seconds; MPI_Wtime() < until;)
        continue;
}

int prepared(const char *name, int megabytes)
{
    if (rank == 0) {
        int file = open_file(name, -1, O_CREAT | O_WRONLY);
        for (int i = 0; i < megabytes; i++)
            put(file, MB);
        close(file);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Pcontrol(1);
    return open_file(name, -1, O_RDONLY);
}

static const struct program *found(const char *name)
{
    static const struct program *const TABLES[] = {
        PLANTED_BASIC,    PLANTED_COLLECTIVE, PLANTED_NAMES,
        PLANTED_REQUESTS, PLANTED_ROLES,      PLANTED_WAITS,
    };
    for (size_t i = 0; i < sizeof TABLES / sizeof *TABLES; i++)
        for (const struct program *program = TABLES[i]; program->name; program++)
            if (!strcmp(name, program->name))
                return program;
    return NULL;
}

int main(int arguments, char **words)
{
    if (arguments != 3 || chdir(words[2]))
        return 2;
    data = calloc(16, MB);
    memset(data, 'x', 16 * (size_t)MB);
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Barrier(MPI_COMM_WORLD);
    const struct program *program = found(words[1]);
    if (!program)
        fail(words[1]);
    program->run();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    free(data);
    return 0;
}
