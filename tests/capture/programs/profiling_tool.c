/* Stands in front of MPI, as tools do that count calls or take their times, and calls the profiling
 * interface; or with -DNEXT the next MPI_X, or with -DFOUND the PMPI_X that the loader finds. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

#if defined(NEXT)
#define REAL(name) ((__typeof__(&MPI_##name))dlsym(RTLD_NEXT, "MPI_" #name))
#elif defined(FOUND)
#define REAL(name) ((__typeof__(&MPI_##name))dlsym(RTLD_DEFAULT, "PMPI_" #name))
#else
#define REAL(name) PMPI_##name
#endif

static int calls;

int MPI_Init(int *argc, char ***argv)
{
    calls++;
    return REAL(Init)(argc, argv);
}

int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    calls++;
    return REAL(Comm_rank)(comm, rank);
}

int MPI_Barrier(MPI_Comm comm)
{
    calls++;
    return REAL(Barrier)(comm);
}

int MPI_Send(const void *buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm)
{
    calls++;
    return REAL(Send)(buffer, count, type, peer, tag, comm);
}

int MPI_File_open(MPI_Comm comm, const char *path, int mode, MPI_Info info, MPI_File *file)
{
    calls++;
    return REAL(File_open)(comm, path, mode, info, file);
}

int MPI_Finalize(void)
{
    printf("the tool saw %d calls\n", ++calls);
    return REAL(Finalize)();
}
