/* Where a file gets its first bytes: in MPI_File_preallocate of one file or of one for each rank, or
 * of a part of it before all ranks write, or in writes of rank 0 for which the others wait there:
 * preallocated KIND FILE. */

#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MB = 1 << 20, PARTS = 300 };

static int rank;
static char data[MB];

static void write_beside(const char *name)
{
    int file = open(name, O_WRONLY);
    for (int i = 0; i < PARTS; i++)
        if (write(file, data, MB) != MB)
            MPI_Abort(MPI_COMM_WORLD, 1);
    close(file);
}

/* Each rank a file of its own. */
static void preallocate_own(const char *path)
{
    char name[4096];
    MPI_File file;
    snprintf(name, sizeof name, "%s.%d", path, rank);
    MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_preallocate(file, (MPI_Offset)PARTS * MB);
    MPI_File_close(&file);
}

/* A small part for all, and then as much of each rank as of the others. */
static void write_evenly(MPI_File file)
{
    MPI_File_preallocate(file, (MPI_Offset)PARTS / 5 * MB);
    for (int i = 0; i < PARTS / 3; i++)
        MPI_File_write_at(file, ((MPI_Offset)rank * PARTS / 3 + i) * MB, data, MB, MPI_BYTE,
                          MPI_STATUS_IGNORE);
}

int main(int count, char **words)
{
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_File file;
    int large = !strcmp(words[1], "large"), beside = !strcmp(words[1], "beside");
    if (!strcmp(words[1], "own")) {
        preallocate_own(words[2]);
        return MPI_Finalize();
    }
    MPI_File_open(MPI_COMM_WORLD, words[2], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    if (beside && rank == 0)
        write_beside(words[2]);
    if (large || beside) {
        MPI_File_preallocate(file, (MPI_Offset)(large ? PARTS : 1) * MB);
        MPI_File_write_at_all(file, (MPI_Offset)rank * MB, data, MB, MPI_BYTE, MPI_STATUS_IGNORE);
    } else {
        write_evenly(file);
    }
    MPI_File_close(&file);
    MPI_Finalize();
    return 0;
}
