/* pack_loops.c: calls whose streams the packer is measured on.
 *
 * usage: pack_loops KIND STEPS FILE, by mpiexec and under the preload. Kinds, a step each:
 * pwrite   8 bytes, to an offset that goes round in 512 KiB
 * mix      a halo exchange on a ring (4 requests, Waitall), 2 pwrites, an Allreduce, and every 10th
 *          step a collective write
 * files    a file is made, written by one of two routines (1 to 97 times 10 bytes), closed, looked
 *          up and removed
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HALO_BYTES = 64, ROUND = 0xffff };

static int rank, ranks;
static char bytes[4096];

static void check(int good, const char *what)
{
    if (good)
        return;
    perror(what);
    exit(1);
}

static void pwrite_step(int file, long step)
{
    check(pwrite(file, bytes, 8, 8 * (step & ROUND)) == 8, "pwrite");
}

static void exchange(void)
{
    static char from[2][HALO_BYTES];
    MPI_Request requests[4];
    int neighbours[2] = {(rank + 1) % ranks, (rank + ranks - 1) % ranks};
    for (int i = 0; i < 2; i++)
        MPI_Irecv(from[i], HALO_BYTES, MPI_CHAR, neighbours[i], i, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < 2; i++)
        MPI_Isend(bytes, HALO_BYTES, MPI_CHAR, neighbours[i], 1 - i, MPI_COMM_WORLD,
                  &requests[2 + i]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

static void mix_step(int file, MPI_File shared, long step)
{
    double mine = 1, sum;
    exchange();
    pwrite_step(file, step);
    pwrite_step(file, step);
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (step % 10 == 0)
        MPI_File_write_at_all(shared, (MPI_Offset)rank * sizeof bytes, bytes, sizeof bytes,
                              MPI_CHAR, MPI_STATUS_IGNORE);
}

static void __attribute__((noinline)) write_field(int file, long step)
{
    size_t length = 10 * (step % 97 + 1);
    check(write(file, bytes, length) == (ssize_t)length, "write");
}

static void __attribute__((noinline)) write_index(int file, long step)
{
    size_t length = 10 * (step % 89 + 1);
    check(write(file, bytes, length) == (ssize_t)length, "write");
}

static void file_step(const char *base, long step)
{
    char path[256];
    struct stat status;
    snprintf(path, sizeof path, "%s.%d.%ld", base, rank, step % 5000);
    int file = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
    check(file >= 0, path);
    step % 3 ? write_field(file, step) : write_index(file, step);
    check(!close(file), path);
    check(!stat(path, &status) && !unlink(path), path);
}

int main(int count, char **arguments)
{
    if (count != 4) {
        fprintf(stderr, "usage: pack_loops KIND STEPS FILE\n");
        return 2;
    }
    MPI_Init(&count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    char own[256];
    snprintf(own, sizeof own, "%s.%d", arguments[3], rank);
    int file = open(own, O_CREAT | O_WRONLY | O_TRUNC, 0600);
    check(file >= 0, own);
    MPI_File shared;
    MPI_File_open(MPI_COMM_WORLD, arguments[3], MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL,
                  &shared);
    for (long step = 0; step < atol(arguments[2]); step++) {
        if (!strcmp(arguments[1], "pwrite"))
            pwrite_step(file, step);
        else if (!strcmp(arguments[1], "mix"))
            mix_step(file, shared, step);
        else
            file_step(own, step);
    }
    MPI_File_close(&shared);
    close(file);
    MPI_Finalize();
    return 0;
}
