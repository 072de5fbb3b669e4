/* stream.c: the file behind a stream: created, reserved and mapped window by window, trimmed at the
 * end.
 *
 * No descriptor is kept open: a program may close or reuse any number it likes (and it counts
 * them). The file is opened by its path for every window and must still be the same file.
 *
 * Space is reserved before it is mapped. Touching a mapped page that the file system has no room
 * for is a SIGBUS that kills the program; a failed reservation is an error code that ends the
 * recording.
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/resource.h>

#include "bytes.h"
#include "process.h"
#include "record.h"
#include "system.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum {
    PAGE_BYTES = 65536, /* a multiple of every page size in use */
    WINDOW_BYTES_MIN = 1 << 16,
    WINDOW_BYTES_MAX = 1 << 22,
    TOUCHED_BYTES = 1 << 16, /* of a window at once, so that no call waits for a page of its own */
    RESERVE_BYTES = 512,     /* of a window, for the records that close a stream */
    ZERO_BYTES = 1 << 14,
    CREATE_TRIES = 100000,
};

/* A file size limit is enforced by a signal that ends the program: ask before the kernel does. */
static bool size_is_allowed(uint64_t bytes)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur == RLIM_INFINITY ||
           bytes <= limit.rlim_cur;
}

/* Reserves by writing zeros, where the file system has no fallocate. */
static int reserve_by_writing(int file, uint64_t offset, size_t bytes)
{
    static const char zeros[ZERO_BYTES];
    while (bytes) {
        ssize_t done =
            system_pwrite(file, zeros, bytes < ZERO_BYTES ? bytes : ZERO_BYTES, (off_t)offset);
        if (done == -EINTR)
            continue;
        if (done <= 0)
            return done ? (int)done : -ENOSPC;
        offset += (uint64_t)done;
        bytes -= (size_t)done;
    }
    return 0;
}

/* 0 or a negative errno. */
static int reserve(int file, uint64_t offset, size_t bytes)
{
    if (!size_is_allowed(offset + bytes))
        return -EFBIG;
    int error;
    do
        error = system_fallocate(file, (off_t)offset, (off_t)bytes);
    while (error == -EINTR);
    return error == -EOPNOTSUPP || error == -ENOSYS || error == -EINVAL
               ? reserve_by_writing(file, offset, bytes)
               : error;
}

static void say_why(int error)
{
    static int once;
    const char *reason = error == -ENOSPC || error == -EDQUOT ? "there is no space left"
                         : error == -EFBIG ? "the limit of file sizes (ulimit -f) is reached"
                         : error == -EMFILE || error == -ENFILE ? "no file can be opened"
                                                                : "a file cannot be written";
    tailrace_say(&once, "recording stops: %s in %s (%s). The program runs on.", reason,
                 process.directory, strerror(-error));
}

/* --- Opening --- */

/* DIRECTORY/HOST.PROCESS.NUMBER.stream, without snprintf: the stack may be a small one. */
static bool name_file(struct stream *stream, unsigned number)
{
    enum { NUMBERS_BYTES = 40 };
    if (strlen(process.directory) + strlen(process.host) + NUMBERS_BYTES > sizeof stream->path)
        return false;
    char *at = stpcpy(stpcpy(stpcpy(stream->path, process.directory), "/"), process.host);
    at = put_decimal(stpcpy(at, "."), (unsigned)process.id);
    at = put_decimal(stpcpy(at, "."), number);
    stpcpy(at, ".stream");
    return true;
}

static int create_file(struct stream *stream)
{
    int file = -EEXIST;
    for (int tries = 0; file == -EEXIST && tries < CREATE_TRIES; tries++) {
        unsigned number = atomic_fetch_add(&process.next_stream, 1);
        if (!name_file(stream, number))
            return -ENAMETOOLONG;
        file = system_open(stream->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    }
    return file;
}

static int remember_identity(struct stream *stream, int file)
{
    struct stat status;
    int error = system_fstat(file, &status);
    stream->device = status.st_dev;
    stream->inode = status.st_ino;
    return error;
}

static void fill_header(struct stream *stream, bool of_main)
{
    struct stream_header *header = stream->header;
    header->version = 1;
    header->process = (uint32_t)process.id;
    header->thread = stream->thread;
    header->flags = !process.main_marked && of_main ? HEADER_FLAG_MAIN : 0;
    header->ticks_per_s = clock_ticks_per_s();
    header->clock = (uint32_t)tailrace_clock_kind;
    header->event_cost_ps = process.event_cost_ps;
    header->start = stream->cursor = clock_now();
    if (header->flags & HEADER_FLAG_MAIN && process.begun) {
        header->start = stream->cursor = stream->processor.sampled = process.begun;
        stream->processor.delay_ns = process.begun_delay_ns;
        process.begun = 0;
    }
    __atomic_thread_fence(__ATOMIC_RELEASE);
    memcpy(header->magic, "TAILRAW", 8);
}

/* Maps the first window with the header in front of it. */
static int map_first(struct stream *stream, int file)
{
    int error = remember_identity(stream, file);
    if (!error)
        error = reserve(file, 0, WINDOW_BYTES_MIN);
    if (error)
        return error;
    stream->header = system_map(HEADER_BYTES, MAP_SHARED, file, 0);
    uint8_t *window = system_map(WINDOW_BYTES_MIN, MAP_SHARED, file, 0);
    if (!stream->header || !window)
        return -ENOMEM;
    stream->window = window;
    stream->window_bytes = stream->touched_bytes = WINDOW_BYTES_MIN; /* one by one: many a stream
                                                                        stays small */
    stream->at = window + HEADER_BYTES;
    stream_set_limit(stream);
    return 0;
}

void stream_set_limit(struct stream *stream)
{
    stream->limit = stream->window + stream->touched_bytes - RESERVE_BYTES;
}

void stream_free(struct stream *stream)
{
    if (stream->header)
        system_unmap(stream->header, HEADER_BYTES);
    if (stream->window)
        system_unmap(stream->window, stream->window_bytes);
    if (stream->long_words)
        system_unmap(stream->long_words, (SHAPES + 1) * sizeof *stream->long_words);
    if (stream->paths)
        system_unmap(stream->paths, stream->paths_bytes);
    if (stream->places)
        system_unmap(stream->places, stream->places_bytes);
    system_unmap(stream, sizeof *stream);
}

static struct stream *allocate(void)
{
    struct stream *stream = system_map_memory(sizeof *stream);
    if (!stream)
        return NULL;
    system_advise(stream, sizeof *stream,
                  MADV_WIPEONFORK); /* process_forked() does the same where the kernel is older */
    stream->thread = atomic_fetch_add(&process.threads, 1);
    stream->process = (uint32_t)process.id;
    stream->open[0].frame = UINTPTR_MAX;
    stream->open[0].written = 1;
    stream->buffered_max = BUFFERED_CALLS;
    stream->begin_in = stream->end_in = 1;
    return stream;
}

/* A new stream without records; NULL where its file cannot be made. */
struct stream *stream_create(bool of_main)
{
    struct stream *stream = allocate();
    if (!stream)
        return NULL;
    int file = create_file(stream);
    int error = file < 0 ? file : map_first(stream, file);
    if (file >= 0)
        system_close(file);
    if (error < 0) {
        say_why(error);
        if (file >= 0)
            system_call(SYS_unlinkat, AT_FDCWD, (long)stream->path, 0, 0, 0, 0);
        stream_free(stream);
        return NULL;
    }
    fill_header(stream, of_main);
    return stream;
}

/* --- Growing --- */

static int open_again(const struct stream *stream)
{
    struct stat status;
    int file = system_open(stream->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0);
    if (file < 0)
        return file;
    if (!system_fstat(file, &status) && status.st_dev == stream->device &&
        status.st_ino == stream->inode)
        return file;
    system_close(file);
    return -ESTALE;
}

static uint64_t position(const struct stream *stream)
{
    return stream->window_offset + (uint64_t)(stream->at - stream->window);
}

static void use_window(struct stream *stream, uint8_t *window, size_t bytes, uint64_t offset)
{
    uint64_t here = position(stream);
    if (stream->window)
        system_unmap(stream->window, stream->window_bytes);
    stream->window = window;
    stream->window_bytes = bytes;
    stream->touched_bytes = 0;
    stream->window_offset = offset;
    stream->at = window + (here - offset);
}

/* The next part of the window. Kernels that know no such advice (before 5.14) bring its pages one
 * by one. False where the window has no room for `bytes` and the reserve. */
static bool touch(struct stream *stream, size_t bytes)
{
    size_t begin = stream->touched_bytes;
    size_t used = (size_t)(stream->at - stream->window) + bytes + RESERVE_BYTES;
    size_t end = (used + TOUCHED_BYTES) & ~(size_t)(TOUCHED_BYTES - 1); /* more than is used */
    end = end < stream->window_bytes ? end : stream->window_bytes;
    if (used >= stream->window_bytes || begin >= end)
        return false;
    system_advise(stream->window + begin, end - begin, MADV_POPULATE_WRITE);
    stream->touched_bytes = end;
    stream_set_limit(stream);
    return true;
}

/* Reserves and maps a window of at least `least` bytes, better `wish`: a disk that is nearly full
 * may still have little ones. */
static int map_window(struct stream *stream, int file, size_t least, size_t wish)
{
    uint64_t offset = position(stream) & ~(uint64_t)(PAGE_BYTES - 1);
    int error;
    while ((error = reserve(file, offset, wish)) && wish / 2 >= least)
        wish /= 2;
    if (error)
        return error;
    uint8_t *window = system_map(wish, MAP_SHARED, file, (off_t)offset);
    if (!window)
        return -ENOMEM;
    use_window(stream, window, wish, offset);
    return 0;
}

/* From now on calls are lost, and counted. A lack of descriptors passes: tailrace_stream_enter()
 * tries again then. */
static void stop(struct stream *stream, int error)
{
    if (!stream->header->closed) /* then the node's streams may have been collected: node.c */
        say_why(error);
    stream->header->full_at = stream->cursor;
    stream->retry = error == -EMFILE || error == -ENFILE;
    stream->lost_at_full = stream->header->lost;
    stream->state = (stream->state & ~3u) | STREAM_FULL;
}

static int next_window(struct stream *stream, size_t bytes)
{
    size_t least = (bytes + RESERVE_BYTES + 2 * PAGE_BYTES - 1) & ~(size_t)(PAGE_BYTES - 1);
    size_t wish = stream->window_bytes * 2;
    wish = wish > WINDOW_BYTES_MAX ? WINDOW_BYTES_MAX : wish;
    int file = open_again(stream);
    int error = file < 0 ? file : map_window(stream, file, least, wish < least ? least : wish);
    if (file >= 0)
        system_close(file);
    if (!error)
        touch(stream, bytes);
    return error;
}

/* Makes room for `bytes` more and the reserve. False, and the stream full, where there is none. */
bool stream_grow(struct stream *stream, size_t bytes)
{
    if (!stream->path[0])
        return false; /* in memory, for the calibration */
    struct cost_begun begun = cost_rare_begins();
    int error = touch(stream, bytes) ? 0 : next_window(stream, bytes);
    if (error)
        stop(stream, error);
    cost_rare_ends(stream, begun);
    return !error;
}

/* Gives the reserved space behind the last record back. A later record finds no room and maps a new
 * window. */
void stream_trim(struct stream *stream)
{
    uint64_t used = position(stream) + RESERVE_BYTES;
    int file = open_again(stream);
    if (file < 0)
        return;
    system_unmap(stream->window, stream->window_bytes);
    stream->window_offset = position(stream);
    stream->window = stream->at = stream->limit = NULL;
    stream->window_bytes = stream->touched_bytes = 0;
    system_ftruncate(file, (off_t)used);
    system_close(file);
}

/* A stream that is a piece of memory: where the cost of an event is measured. */
void stream_use_memory(struct stream *stream, struct stream_header *header, void *window,
                       size_t bytes)
{
    stream->open[0].frame = UINTPTR_MAX;
    stream->open[0].written = 1;
    stream->header = header;
    stream->window = stream->at = window;
    stream->window_bytes = stream->touched_bytes = bytes;
    stream->due = UINT64_MAX;
    stream_set_limit(stream);
    stream->state = STREAM_READY;
}
