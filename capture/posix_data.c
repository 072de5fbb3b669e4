/* posix_data.c: calls that move bytes or wait for them to be moved. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>

#include "newer.h"
#include "process.h"
#include "wrap.h"

ssize_t __read_chk(int, void *, size_t, size_t);
ssize_t __pread_chk(int, void *, size_t, off_t, size_t);
ssize_t __pread64_chk(int, void *, size_t, off64_t, size_t);

#define STREAMING(name, op, parameters, arguments)                                                 \
    WRAP(ssize_t, name, parameters, arguments, file = descriptor_file(fd), uint32_t file,          \
         file_of_call(stream, &call, end, fd, file), op, 0, MOVED, 0, ERROR_OF_RESULT)
#define POSITIONED(name, op, parameters, arguments)                                                \
    WRAP_FILE(ssize_t, name, parameters, arguments, descriptor_file(fd), op, FILE_OFFSET, MOVED,   \
              offset)
/* preadv2 takes −1 for "at the file's position", as pwritev2 does. */
#define PERHAPS_POSITIONED(name, op, parameters, arguments)                                        \
    WRAP_FILE(ssize_t, name, parameters, arguments, descriptor_file(fd), op,                       \
              offset == -1 ? 0 : FILE_OFFSET, MOVED, offset == -1 ? 0 : offset)

STREAMING(read, FILE_READ, (int fd, void *buffer, size_t bytes), (fd, buffer, bytes))
STREAMING(__read_chk, FILE_READ, (int fd, void *buffer, size_t bytes, size_t room),
          (fd, buffer, bytes, room))
STREAMING(readv, FILE_READ, (int fd, const struct iovec *pieces, int count), (fd, pieces, count))
POSITIONED(pread, FILE_READ, (int fd, void *buffer, size_t bytes, off_t offset),
           (fd, buffer, bytes, offset))
POSITIONED(pread64, FILE_READ, (int fd, void *buffer, size_t bytes, off64_t offset),
           (fd, buffer, bytes, offset))
POSITIONED(__pread_chk, FILE_READ, (int fd, void *buffer, size_t bytes, off_t offset, size_t room),
           (fd, buffer, bytes, offset, room))
POSITIONED(__pread64_chk, FILE_READ,
           (int fd, void *buffer, size_t bytes, off64_t offset, size_t room),
           (fd, buffer, bytes, offset, room))
POSITIONED(preadv, FILE_READ, (int fd, const struct iovec *pieces, int count, off_t offset),
           (fd, pieces, count, offset))
POSITIONED(preadv64, FILE_READ, (int fd, const struct iovec *pieces, int count, off64_t offset),
           (fd, pieces, count, offset))
PERHAPS_POSITIONED(preadv2, FILE_READ,
                   (int fd, const struct iovec *pieces, int count, off_t offset, int flags),
                   (fd, pieces, count, offset, flags))
PERHAPS_POSITIONED(preadv64v2, FILE_READ,
                   (int fd, const struct iovec *pieces, int count, off64_t offset, int flags),
                   (fd, pieces, count, offset, flags))

STREAMING(write, FILE_WRITE, (int fd, const void *buffer, size_t bytes), (fd, buffer, bytes))
STREAMING(writev, FILE_WRITE, (int fd, const struct iovec *pieces, int count), (fd, pieces, count))
POSITIONED(pwrite, FILE_WRITE, (int fd, const void *buffer, size_t bytes, off_t offset),
           (fd, buffer, bytes, offset))
POSITIONED(pwrite64, FILE_WRITE, (int fd, const void *buffer, size_t bytes, off64_t offset),
           (fd, buffer, bytes, offset))
POSITIONED(pwritev, FILE_WRITE, (int fd, const struct iovec *pieces, int count, off_t offset),
           (fd, pieces, count, offset))
POSITIONED(pwritev64, FILE_WRITE, (int fd, const struct iovec *pieces, int count, off64_t offset),
           (fd, pieces, count, offset))

/* A write that a flag of its own tells to wait for the device; of each file it is noted once, or
 * little more often: the name is asked for. */
static __attribute__((noinline)) void note_wait(struct stream *stream, int fd, uint32_t file)
{
    int saved = errno;
    uint32_t *told = &stream->told_to_wait[file % 8];
    if (*told != file)
        path_note("synchronous_writes", fd);
    *told = file;
    errno = saved;
}

#define WRITE_WITH_FLAGS(name, off)                                                                \
    TAILRACE_EXPORT ssize_t name(int fd, const struct iovec *pieces, int count, off offset,        \
                                 int flags)                                                        \
    {                                                                                              \
        uint32_t file = tailrace_recording ? descriptor_file(fd) : 0;                              \
        if (!file)                                                                                 \
            return REAL(name)(fd, pieces, count, offset, flags);                                   \
        struct call call;                                                                          \
        struct stream *stream = call_begin(&call, FUNCTION_##name);                                \
        ssize_t result = REAL(name)(fd, pieces, count, offset, flags);                             \
        uint64_t end = stream ? clock_now() : 0;                                                   \
        bool here = offset == -1;                                                                  \
        if (stream)                                                                                \
            end_file_call(stream, &call, end, FILE_WRITE, here ? 0 : FILE_OFFSET, file, MOVED,     \
                          here ? 0 : offset, ERROR_OF_RESULT);                                     \
        if (stream && result >= 0 && UNLIKELY(flags & (RWF_DSYNC | RWF_SYNC)))                     \
            note_wait(stream, fd, file);                                                           \
        return result;                                                                             \
    }
WRITE_WITH_FLAGS(pwritev2, off_t)
WRITE_WITH_FLAGS(pwritev64v2, off64_t)

/* --- From one descriptor to another --- */

/* A write of the file written to, or, where that is none, a read of the other. Where both are files
 * the bytes are read as well: that is a second record, without a time of its own. Of a file and a
 * pipe, the file alone: the bytes only pass the pipe. */

struct transfer {
    uint32_t file, source;
    enum file_op op;
};

static bool is_between(int descriptor)
{
    return descriptor > STDERR_FILENO && descriptor_is_pipe(descriptor);
}

static bool find_transfer(struct transfer *transfer, int out, int in)
{
    transfer->source = descriptor_file(in);
    transfer->file = descriptor_file(out);
    bool both = transfer->source && transfer->file;
    if (both && is_between(out))
        transfer->file = 0;
    else if (both && is_between(in))
        transfer->source = 0;
    transfer->op = transfer->file ? FILE_WRITE : FILE_READ;
    if (transfer->file)
        return true;
    transfer->file = transfer->source;
    transfer->source = 0;
    return transfer->file != 0;
}

/* Where the caller says the bytes are, which the call moved on; else they are where the descriptor
 * stands. The place is looked at after a call that did something: the pointer is good then. */
static int64_t place_said(const off64_t *moved_on, ssize_t bytes)
{
    return moved_on && bytes > 0 ? *moved_on - bytes : -1;
}

static void record_source(unsigned function, uint32_t file, int64_t bytes, int64_t place)
{
    struct call call;
    struct stream *stream = call_begin(&call, function);
    if (stream)
        end_file_call(stream, &call, stream->open[call.depth].begin, FILE_READ,
                      flags_of_place(place), file, bytes, place, 0);
}

#define TRANSFER(name, out, out_at, in, in_at, parameters, arguments)                              \
    TAILRACE_EXPORT ssize_t name parameters                                                        \
    {                                                                                              \
        struct transfer transfer;                                                                  \
        if (!tailrace_recording || !find_transfer(&transfer, out, in))                             \
            return REAL(name) arguments;                                                           \
        struct call call;                                                                          \
        struct stream *stream = call_begin(&call, FUNCTION_##name);                                \
        ssize_t result = REAL(name) arguments;                                                     \
        uint64_t end = stream ? clock_now() : 0;                                                   \
        int64_t place = place_said(transfer.op == FILE_WRITE ? (out_at) : (in_at), result);        \
        if (stream)                                                                                \
            end_file_call(stream, &call, end, transfer.op, flags_of_place(place), transfer.file,   \
                          MOVED, place, ERROR_OF_RESULT);                                          \
        if (stream && transfer.source && result > 0)                                               \
            record_source(FUNCTION_##name, transfer.source, result, place_said(in_at, result));    \
        return result;                                                                             \
    }

TRANSFER(sendfile, out, NULL, in, offset, (int out, int in, off_t *offset, size_t bytes),
         (out, in, offset, bytes))
TRANSFER(sendfile64, out, NULL, in, offset, (int out, int in, off64_t *offset, size_t bytes),
         (out, in, offset, bytes))
TRANSFER(copy_file_range, out, out_offset, in, in_offset,
         (int in, off64_t *in_offset, int out, off64_t *out_offset, size_t bytes, unsigned flags),
         (in, in_offset, out, out_offset, bytes, flags))
TRANSFER(splice, out, out_offset, in, in_offset,
         (int in, off64_t *in_offset, int out, off64_t *out_offset, size_t bytes, unsigned flags),
         (in, in_offset, out, out_offset, bytes, flags))

/* --- Where, and until it is safe --- */

#define SEEK(name, off)                                                                            \
    WRAP_FILE(off, name, (int fd, off offset, int whence), (fd, offset, whence),                   \
              descriptor_file(fd), FILE_SEEK, result < 0 ? 0 : FILE_OFFSET, 0, MOVED)
SEEK(lseek, off_t)
SEEK(lseek64, off64_t)

#define ON_FILE(name, op, parameters, arguments)                                                   \
    WRAP_FILE(int, name, parameters, arguments, descriptor_file(fd), op, 0, 0, 0)
ON_FILE(fsync, FILE_SYNC, (int fd), (fd))
ON_FILE(fdatasync, FILE_SYNC, (int fd), (fd))
ON_FILE(syncfs, FILE_SYNC, (int fd), (fd))
ON_FILE(sync_file_range, FILE_SYNC, (int fd, off64_t offset, off64_t bytes, unsigned flags),
        (fd, offset, bytes, flags))
ON_FILE(flock, FILE_LOCK, (int fd, int operation), (fd, operation))
ON_FILE(lockf, FILE_LOCK, (int fd, int command, off_t bytes), (fd, command, bytes))
ON_FILE(lockf64, FILE_LOCK, (int fd, int command, off64_t bytes), (fd, command, bytes))

TAILRACE_EXPORT void sync(void)
{
    struct call call;
    struct stream *stream = tailrace_recording ? call_begin(&call, FUNCTION_sync) : NULL;
    REAL(sync)();
    if (stream)
        end_file_call(stream, &call, clock_now(), FILE_SYNC, 0, wrap_special("<all files>"), 0, 0,
                      0);
}

/* --- Size --- */

/* The new size is the offset. */
#define RESIZE(name, off)                                                                          \
    WRAP_FILE(int, name, (int fd, off bytes), (fd, bytes), descriptor_file(fd), FILE_TRUNCATE,     \
              FILE_OFFSET, 0, bytes)
RESIZE(ftruncate, off_t)
RESIZE(ftruncate64, off64_t)

#define ALLOCATE(name, off)                                                                        \
    WRAP_FILE(int, name, (int fd, int mode, off offset, off bytes), (fd, mode, offset, bytes),     \
              descriptor_file(fd), FILE_TRUNCATE, 0, 0, 0)
ALLOCATE(fallocate, off_t)
ALLOCATE(fallocate64, off64_t)

#define ON_RANGE(name, op, parameters, arguments)                                                  \
    WRAP_FILE_STATUS(int, name, parameters, arguments, descriptor_file(fd), op, 0, 0, 0)
ON_RANGE(posix_fallocate, FILE_TRUNCATE, (int fd, off_t offset, off_t bytes), (fd, offset, bytes))
ON_RANGE(posix_fallocate64, FILE_TRUNCATE, (int fd, off64_t offset, off64_t bytes),
         (fd, offset, bytes))

/* Of what is advised one thing is told, which a later read has to pay for: from where on pages are
 * dropped. */
#define ADVISE(name, off)                                                                          \
    WRAP_FILE_STATUS(int, name, (int fd, off offset, off bytes, int advice),                       \
                     (fd, offset, bytes, advice), descriptor_file(fd),                             \
                     advice == POSIX_FADV_DONTNEED ? FILE_DROP : FILE_METADATA,                    \
                     advice == POSIX_FADV_DONTNEED ? FILE_OFFSET : 0, 0, offset)
ADVISE(posix_fadvise, off_t)
ADVISE(posix_fadvise64, off64_t)
