/* A view of the rank's blocks, and one call for a buffer: MPI_File_write_at_all or MPI_File_write_at. */
#include "info.h"
#include "transfers.h"

/* The rank's blocks, one after the other as the view's bytes. */
static int set_view(transfer *t)
{
    const MPI_Aint block = (MPI_Aint)t->p.block_bytes;
    MPI_Datatype row, spread;
    MPI_Type_contiguous((int)block, MPI_BYTE, &row);
    MPI_Type_create_resized(row, 0, block * t->ranks, &spread);
    MPI_Type_commit(&spread);
    const int error =
        MPI_File_set_view(t->file, (MPI_Offset)block * t->rank, MPI_BYTE, spread, "native", MPI_INFO_NULL);
    MPI_Type_free(&spread);
    MPI_Type_free(&row);
    return error;
}

static int open_file(transfer *t, bool to_write)
{
    const int mode = to_write ? MPI_MODE_RDWR | MPI_MODE_CREATE : MPI_MODE_RDONLY;
    MPI_Info info = info_from_hints(t->io.hints);
    if (to_write && t->rank == 0)
        MPI_File_delete(t->open_path, MPI_INFO_NULL); /* of an earlier run, if there is one */
    MPI_Barrier(t->io.comm);
    int error = MPI_File_open(t->io.comm, t->open_path, mode, info, &t->file);
    if (error == MPI_SUCCESS && t->p.interleaved)
        error = set_view(t);
    if (info != MPI_INFO_NULL)
        MPI_Info_free(&info);
    return failure_of_mpi(&t->problem, "open", t->path, error);
}

/* In the view; without one in the file. */
static MPI_Offset offset_of(const transfer *t)
{
    if (t->p.interleaved)
        return t->call * t->p.transfer_bytes;
    return t->data.blocks > 0 ? t->block[0].start[0] * ELEMENT_BYTES : 0;
}

static int move_call(transfer *t, bool to_write)
{
    const MPI_Offset at = offset_of(t);
    const int bytes = (int)t->bytes;
    MPI_Status status;
    int error = MPI_SUCCESS;
    if (t->p.collective)
        error = to_write ? MPI_File_write_at_all(t->file, at, t->buffer, bytes, MPI_BYTE, &status)
                         : MPI_File_read_at_all(t->file, at, t->buffer, bytes, MPI_BYTE, &status);
    else if (bytes > 0)
        error = to_write ? MPI_File_write_at(t->file, at, t->buffer, bytes, MPI_BYTE, &status)
                         : MPI_File_read_at(t->file, at, t->buffer, bytes, MPI_BYTE, &status);
    return failure_of_mpi(&t->problem, to_write ? "write" : "read", t->path, error);
}

static int sync_file(transfer *t)
{
    return failure_of_mpi(&t->problem, "sync", t->path, MPI_File_sync(t->file));
}

static int close_file(transfer *t)
{
    return failure_of_mpi(&t->problem, "close", t->path, MPI_File_close(&t->file));
}

static void hints(transfer *t, void (*visit)(const char *key, const char *value, void *context), void *context)
{
    info_in_force(t->file, visit, context);
}

const transfer_interface INTERFACE_MPIIO = {"mpiio",   ".mpiio",  "raw",      open_file,
                                            move_call, sync_file, close_file, hints};
