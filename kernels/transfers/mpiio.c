/* A view of the rank's blocks, and one call for a buffer: MPI_File_write_at_all or
 * MPI_File_write_at. */
#include "info.h"
#include "transfers.h"

/* The rank's blocks, one after the other as the view's bytes. */
static int set_view(struct transfer *transfer)
{
    const MPI_Aint block = (MPI_Aint)transfer->pattern.block_bytes;
    MPI_Datatype row, spread;
    MPI_Type_contiguous((int)block, MPI_BYTE, &row);
    MPI_Type_create_resized(row, 0, block * transfer->ranks, &spread);
    MPI_Type_commit(&spread);
    const int error = MPI_File_set_view(transfer->file, (MPI_Offset)block * transfer->rank,
                                        MPI_BYTE, spread, "native", MPI_INFO_NULL);
    MPI_Type_free(&spread);
    MPI_Type_free(&row);
    return error;
}

static int open_file(struct transfer *transfer, bool to_write)
{
    const int mode = to_write ? MPI_MODE_RDWR | MPI_MODE_CREATE : MPI_MODE_RDONLY;
    MPI_Info info = info_from_hints(transfer->io.hints);
    if (to_write && transfer->rank == 0)
        MPI_File_delete(transfer->open_path,
                        MPI_INFO_NULL); /* of an earlier run, if there is one */
    MPI_Barrier(transfer->io.comm);
    int error = MPI_File_open(transfer->io.comm, transfer->open_path, mode, info, &transfer->file);
    if (error == MPI_SUCCESS && transfer->pattern.interleaved)
        error = set_view(transfer);
    if (info != MPI_INFO_NULL)
        MPI_Info_free(&info);
    return failure_of_mpi(&transfer->problem, "open", transfer->path, error);
}

/* In the view; without one in the file. */
static MPI_Offset offset_of(const struct transfer *transfer)
{
    if (transfer->pattern.interleaved)
        return transfer->call * transfer->pattern.transfer_bytes;
    return transfer->data.blocks > 0 ? transfer->block[0].start[0] * ELEMENT_BYTES : 0;
}

static int move_call(struct transfer *transfer, bool to_write)
{
    const MPI_Offset at = offset_of(transfer);
    const int bytes = (int)transfer->bytes;
    MPI_Status status;
    int error = MPI_SUCCESS;
    if (transfer->pattern.collective)
        error = to_write ? MPI_File_write_at_all(transfer->file, at, transfer->buffer, bytes,
                                                 MPI_BYTE, &status)
                         : MPI_File_read_at_all(transfer->file, at, transfer->buffer, bytes,
                                                MPI_BYTE, &status);
    else if (bytes > 0)
        error =
            to_write
                ? MPI_File_write_at(transfer->file, at, transfer->buffer, bytes, MPI_BYTE, &status)
                : MPI_File_read_at(transfer->file, at, transfer->buffer, bytes, MPI_BYTE, &status);
    return failure_of_mpi(&transfer->problem, to_write ? "write" : "read", transfer->path, error);
}

static int sync_file(struct transfer *transfer)
{
    return failure_of_mpi(&transfer->problem, "sync", transfer->path,
                          MPI_File_sync(transfer->file));
}

static int close_file(struct transfer *transfer)
{
    return failure_of_mpi(&transfer->problem, "close", transfer->path,
                          MPI_File_close(&transfer->file));
}

static void hints(struct transfer *transfer,
                  void (*visit)(const char *key, const char *value, void *context), void *context)
{
    info_in_force(transfer->file, visit, context);
}

const struct transfer_interface INTERFACE_MPIIO = {"mpiio",   ".mpiio",  "raw",      open_file,
                                                   move_call, sync_file, close_file, hints};
