/* Opens a file in a directory that is not there, writes to one that is open for reading, or reads
 * and writes one as it should: as the argument says. It goes on, whatever fails. */
#include <mpi.h>
#include <string.h>

enum { CALLS = 20, BYTES = 4096 };

static void compute(double seconds)
{
    for (double end = MPI_Wtime() + seconds; MPI_Wtime() < end;)
        ;
}

static void use(const char *path, int mode)
{
    static char data[BYTES];
    MPI_File file;
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (MPI_File_open(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &file) != MPI_SUCCESS)
        return;
    for (int i = 0; i < CALLS; i++)
        MPI_File_write_at(file, (MPI_Offset)(rank * CALLS + i) * BYTES, data, BYTES, MPI_BYTE,
                          MPI_STATUS_IGNORE);
    MPI_File_close(&file);
}

int main(int arguments, char **words)
{
    MPI_Init(&arguments, &words);
    compute(0.1);
    if (!strcmp(words[1], "nowhere"))
        use("nowhere/out.dat", MPI_MODE_CREATE | MPI_MODE_WRONLY);
    else
        use("out.dat", MPI_MODE_CREATE | MPI_MODE_WRONLY);
    if (!strcmp(words[1], "readonly"))
        use("out.dat", MPI_MODE_RDONLY);
    compute(0.1);
    return MPI_Finalize();
}
