/* One file of all ranks, through MPI-IO. */
#include "dump_mpiio.h"

#include "info.h"

int mpiio_open(struct dumps *dumps, bool to_write, MPI_Datatype element, MPI_Datatype in_file)
{
    const int mode = to_write ? MPI_MODE_RDWR | MPI_MODE_CREATE : MPI_MODE_RDONLY;
    MPI_Info info = info_from_hints(dumps->io.hints);
    if (to_write && dumps->solution->cells->rank == 0)
        MPI_File_delete(dumps->file_path, MPI_INFO_NULL); /* of an earlier run, if there is one */
    MPI_Barrier(dumps->io.comm);
    int error = MPI_File_open(dumps->io.comm, dumps->file_path, mode, info, &dumps->file);
    if (error == MPI_SUCCESS)
        error = MPI_File_set_view(dumps->file, 0, element, in_file, "native", info);
    if (info != MPI_INFO_NULL)
        MPI_Info_free(&info);
    return failure_of_mpi(&dumps->problem, "open", dumps->io.path, error);
}

int mpiio_sync(struct dumps *dumps)
{
    return failure_of_mpi(&dumps->problem, "sync", dumps->io.path, MPI_File_sync(dumps->file));
}

int mpiio_close(struct dumps *dumps)
{
    return failure_of_mpi(&dumps->problem, "close", dumps->io.path, MPI_File_close(&dumps->file));
}

void mpiio_hints(struct dumps *dumps,
                 void (*visit)(const char *key, const char *value, void *context), void *context)
{
    info_in_force(dumps->file, visit, context);
}
