/* posix_data.c: calls that move bytes or wait for them to be moved. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>

#include "newer.h"
#include "process.h"
#include "quiet.h"
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

/* Between two files, the write that takes the time, and a read without a time of its own. A call
 * between a file and a stream waits for one of them, and the other's record has no time: a full
 * pipe that is written to, or an empty one that is read, is waited for, and any other is not. Of
 * sockets nothing is recorded, nor is the time of what goes to or comes from one: it would be told
 * of the file, or of a pipe of the program's own that is never waited for. */

struct side {
    int descriptor;
    uint32_t file;
    long holds; /* a pipe: so many bytes; no more than 0 where it is none */
};

struct transfer {
    struct side out, in;
    bool waits_for_in; /* else for what is written to */
};

static bool find_transfer(struct transfer *transfer, int out, int in)
{
    transfer->out = (struct side){out, descriptor_file(out), 0};
    transfer->in = (struct side){in, descriptor_file(in), 0};
    if (!transfer->out.file && !transfer->in.file)
        return false;
    transfer->out.holds = descriptor_pipe_size(out);
    transfer->in.holds = descriptor_pipe_size(in);
    /* A pipe that would make it wait, or the side that is no pipe. */
    if (transfer->in.holds > 0)
        transfer->waits_for_in = !quiet_is_ready(in, POLLIN);
    else
        transfer->waits_for_in = transfer->out.holds > 0 && quiet_is_ready(out, POLLOUT);
    return true;
}

/* Once it is known how much was moved: more than a pipe holds, as sendfile of older kernels does,
 * had to wait for its reader. The bytes of a pipe of the program's own only pass it. */
static void settle_transfer(struct transfer *transfer, ssize_t moved)
{
    struct side *out = &transfer->out, *in = &transfer->in;
    if (out->holds > 0 && moved > out->holds)
        transfer->waits_for_in = false;
    if (transfer->waits_for_in && out->holds > 0 && out->descriptor > STDERR_FILENO)
        out->file = 0;
    if (!transfer->waits_for_in && in->holds > 0 && in->descriptor > STDERR_FILENO)
        in->file = 0;
}

/* Where the caller says the bytes are, which the call moved on; else they are where the descriptor
 * stands. The place is looked at after a call that did something: the pointer is good then. */
static int64_t place_said(const off64_t *moved_on, ssize_t bytes)
{
    return moved_on && bytes > 0 ? *moved_on - bytes : -1;
}

struct moved {
    unsigned function;
    ssize_t bytes;
    int64_t out_at, in_at;
    int error;
};

static void record_side(struct stream *stream, struct call *call, uint64_t end,
                        const struct transfer *transfer, const struct moved *moved, bool in)
{
    uint32_t file = in ? transfer->in.file : transfer->out.file;
    int64_t place = in ? moved->in_at : moved->out_at;
    end_file_call(stream, call, end, in ? FILE_READ : FILE_WRITE, flags_of_place(place), file,
                  moved->bytes > 0 ? moved->bytes : 0, place, moved->error);
}

/* The side that was waited for, with the time; where nothing is recorded of it, no time. */
static void record_timed(struct stream *stream, struct call *call, uint64_t end,
                         struct transfer *transfer, const struct moved *moved)
{
    bool in = transfer->waits_for_in;
    struct side *side = in ? &transfer->in : &transfer->out;
    if (!side->file) {
        call_forget(stream, call);
        return;
    }
    side->file = file_of_call(stream, call, end, side->descriptor, side->file);
    record_side(stream, call, end, transfer, moved, in);
}

static void record_untimed(const struct transfer *transfer, const struct moved *moved)
{
    bool in = !transfer->waits_for_in;
    if (!(in ? transfer->in.file : transfer->out.file) || moved->bytes <= 0)
        return;
    struct call call;
    struct stream *stream = call_begin(&call, moved->function);
    if (stream)
        record_side(stream, &call, stream->open[call.depth].begin, transfer, moved, in);
}

static __attribute__((noinline)) void end_transfer(struct stream *stream, struct call *call,
                                                   struct transfer *transfer,
                                                   const struct moved *moved)
{
    uint64_t end = clock_now();
    settle_transfer(transfer, moved->bytes);
    record_timed(stream, call, end, transfer, moved);
    record_untimed(transfer, moved);
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
        struct moved moved = {FUNCTION_##name, result, place_said(out_at, result),                 \
                              place_said(in_at, result), ERROR_OF_RESULT};                         \
        if (stream)                                                                                \
            end_transfer(stream, &call, &transfer, &moved);                                        \
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
