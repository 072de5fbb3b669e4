/* One call for every contiguous piece: pwrite and pread. */
#include "transfers.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static int open_at(struct transfer *transfer, int flags)
{
    transfer->descriptor = open(transfer->open_path, flags | O_CLOEXEC, 0666);
    return transfer->descriptor >= 0
               ? 0
               : failure_of_system(&transfer->problem, "open", transfer->path);
}

/* The master creates it, then the others find it. */
static int open_file(struct transfer *transfer, bool to_write)
{
    int status = 0;
    if (!to_write)
        return open_at(transfer, O_RDONLY);
    if (transfer->rank == 0)
        status = open_at(transfer, O_WRONLY | O_CREAT | O_TRUNC);
    MPI_Barrier(transfer->io.comm);
    return transfer->rank == 0 ? status : open_at(transfer, O_WRONLY);
}

/* A call may move less than it was asked to. */
static int move_piece(struct transfer *transfer, char *at, size_t bytes, off_t offset,
                      bool to_write)
{
    while (bytes > 0) {
        const ssize_t moved = to_write ? pwrite(transfer->descriptor, at, bytes, offset)
                                       : pread(transfer->descriptor, at, bytes, offset);
        if (moved < 0 && errno == EINTR)
            continue;
        if (moved == 0)
            errno = EIO; /* the file ends too early */
        if (moved <= 0)
            return failure_of_system(&transfer->problem, to_write ? "write" : "read",
                                     transfer->path);
        at += moved;
        offset += moved;
        bytes -= (size_t)moved;
    }
    return 0;
}

static int move_call(struct transfer *transfer, bool to_write)
{
    char *at = transfer->buffer;
    for (int i = 0; i < transfer->data.blocks; i++) {
        const size_t bytes = (size_t)transfer->block[i].count[0] * ELEMENT_BYTES;
        if (move_piece(transfer, at, bytes, (off_t)transfer->block[i].start[0] * ELEMENT_BYTES,
                       to_write) != 0)
            return -1;
        at += bytes;
    }
    return 0;
}

static int sync_file(struct transfer *transfer)
{
    return fsync(transfer->descriptor) == 0
               ? 0
               : failure_of_system(&transfer->problem, "sync", transfer->path);
}

static int close_file(struct transfer *transfer)
{
    return close(transfer->descriptor) == 0
               ? 0
               : failure_of_system(&transfer->problem, "close", transfer->path);
}

const struct transfer_interface INTERFACE_POSIX = {"posix",   ".posix",  "raw",      open_file,
                                                   move_call, sync_file, close_file, NULL};
