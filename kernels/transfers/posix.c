/* One call for every contiguous piece: pwrite and pread. */
#include "transfers.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static int open_at(transfer *t, int flags)
{
    t->descriptor = open(t->open_path, flags | O_CLOEXEC, 0666);
    return t->descriptor >= 0 ? 0 : failure_of_system(&t->problem, "open", t->path);
}

/* The master creates it, then the others find it. */
static int open_file(transfer *t, bool to_write)
{
    int status = 0;
    if (!to_write)
        return open_at(t, O_RDONLY);
    if (t->rank == 0)
        status = open_at(t, O_WRONLY | O_CREAT | O_TRUNC);
    MPI_Barrier(t->io.comm);
    return t->rank == 0 ? status : open_at(t, O_WRONLY);
}

/* A call may move less than it was asked to. */
static int move_piece(transfer *t, char *at, size_t bytes, off_t offset, bool to_write)
{
    while (bytes > 0) {
        const ssize_t moved =
            to_write ? pwrite(t->descriptor, at, bytes, offset) : pread(t->descriptor, at, bytes, offset);
        if (moved < 0 && errno == EINTR)
            continue;
        if (moved == 0)
            errno = EIO; /* the file ends too early */
        if (moved <= 0)
            return failure_of_system(&t->problem, to_write ? "write" : "read", t->path);
        at += moved;
        offset += moved;
        bytes -= (size_t)moved;
    }
    return 0;
}

static int move_call(transfer *t, bool to_write)
{
    char *at = t->buffer;
    for (int b = 0; b < t->data.blocks; b++) {
        const size_t bytes = (size_t)t->block[b].count[0] * ELEMENT_BYTES;
        if (move_piece(t, at, bytes, (off_t)t->block[b].start[0] * ELEMENT_BYTES, to_write) != 0)
            return -1;
        at += bytes;
    }
    return 0;
}

static int sync_file(transfer *t)
{
    return fsync(t->descriptor) == 0 ? 0 : failure_of_system(&t->problem, "sync", t->path);
}

static int close_file(transfer *t)
{
    return close(t->descriptor) == 0 ? 0 : failure_of_system(&t->problem, "close", t->path);
}

const transfer_interface INTERFACE_POSIX = {"posix",   ".posix",  "raw",      open_file,
                                            move_call, sync_file, close_file, NULL};
