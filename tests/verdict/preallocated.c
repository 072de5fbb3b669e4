/* Where a file gets its first bytes: in MPI_File_preallocate, or in writes of rank 0 for which the
 * others wait there: preallocated KIND FILE. */

#include <fcntl.h>
#include <mpi.h>
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

int main(int count, char **words)
{
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_File file;
    MPI_File_open(MPI_COMM_WORLD, words[2], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    int large = !strcmp(words[1], "large");
    if (!large && rank == 0)
        write_beside(words[2]);
    MPI_File_preallocate(file, (MPI_Offset)(large ? PARTS : 1) * MB);
    MPI_File_write_at_all(file, (MPI_Offset)rank * MB, data, MB, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    MPI_Finalize();
    return 0;
}
