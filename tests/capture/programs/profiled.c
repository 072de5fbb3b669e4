/* Calls MPI by its names, or with -DDIRECT by those of the profiling interface, or with -DASKED as
 * the loader finds those. profiled FILE, on 2 ranks. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

#if defined(DIRECT)
#define CALL(name) PMPI_##name
#elif defined(ASKED)
#define CALL(name) ((__typeof__(&MPI_##name))dlsym(RTLD_DEFAULT, "PMPI_" #name))
#else
#define CALL(name) MPI_##name
#endif

static void use_file(const char *path, int rank)
{
    MPI_File file;
    CALL(File_open)(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
    CALL(File_write_at)(file, rank, "x", 1, MPI_BYTE, MPI_STATUS_IGNORE);
    CALL(File_close)(&file);
}

int main(int argc, char **argv)
{
    int rank, number = 7;
    CALL(Init)(&argc, &argv);
    CALL(Comm_rank)(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 3; i++)
        CALL(Barrier)(MPI_COMM_WORLD);
    if (!rank)
        CALL(Send)(&number, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    else
        CALL(Recv)(&number, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    use_file(argv[1], rank);
    printf("rank %d of a program, time %d, one address %d\n", rank, CALL(Wtime)() >= 0,
           PMPI_Allreduce == MPI_Allreduce);
    return CALL(Finalize)();
}
