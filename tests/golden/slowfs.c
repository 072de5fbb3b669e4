/* A preload that makes data calls on the files of one directory last a known time.
 *
 *   SLOWFS_DIRECTORY  files under it are slow (absolute, no trailing slash)
 *   SLOWFS_RATE       bytes per second
 *   SLOWFS_LATENCY    nanoseconds added to every data call, and all that fsync takes
 *   SLOWFS_QUEUE      a file of at least 8 bytes: calls of all processes are served one after
 * another, as by a device with one queue; absent: every call has a device of its own
 *
 * A call of n bytes returns latency + n / rate after it was made (or after its turn in the queue
 * came). Loaded after libtailrace.so, so that the capture sees the delay. Asynchronous writes
 * complete when their delay is over, and take no time until then. Slowed: read, write, pread,
 * pwrite, their vector and 64-bit variants, fsync, fdatasync, fwrite, aio_write, aio_read. The
 * buffer of a FILE is not modelled: fwrite is slowed by its own bytes. */
#define _GNU_SOURCE
#include <aio.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { REQUESTS = 64 };

static const char *directory;
static double seconds_per_byte;
static int64_t latency_ns;
static _Atomic int64_t
    *queue_free_ns; /* shared by all processes: when the device has served all so far */

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static const char *setting(const char *name, const char *absent)
{
    const char *value = getenv(name);
    return value ? value : absent;
}

__attribute__((constructor)) static void configure(void)
{
    directory = getenv("SLOWFS_DIRECTORY");
    seconds_per_byte = 1 / strtod(setting("SLOWFS_RATE", "1e12"), NULL);
    latency_ns = strtoll(setting("SLOWFS_LATENCY", "0"), NULL, 10);
    const char *queue = getenv("SLOWFS_QUEUE");
    int descriptor = queue ? open(queue, O_RDWR | O_CLOEXEC) : -1;
    if (descriptor < 0)
        return;
    void *shared = mmap(NULL, 8, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    close(descriptor);
    if (shared != MAP_FAILED)
        queue_free_ns = shared;
}

/* When a call made now is done: takes the device's next free stretch. */
static int64_t serve(int64_t begin, int64_t duration)
{
    if (!queue_free_ns)
        return begin + duration;
    int64_t free_at = atomic_load(queue_free_ns), done;
    do {
        done = (free_at > begin ? free_at : begin) + duration;
    } while (!atomic_compare_exchange_weak(queue_free_ns, &free_at, done));
    return done;
}

/* By the kernel's table of descriptors: however the file was opened, the directory is known. */
static int is_slow(int descriptor)
{
    char link[64], path[PATH_MAX];
    if (!directory)
        return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    /* not by name: a capture of readlink is none of the case's calls */
    long length = syscall(SYS_readlink, link, path, sizeof path - 1);
    size_t prefix = strlen(directory);
    return length > (long)prefix && memcmp(path, directory, prefix) == 0 && path[prefix] == '/';
}

static int64_t duration_ns(size_t bytes)
{
    return latency_ns + (int64_t)((double)bytes * seconds_per_byte * 1e9);
}

static void sleep_until(int64_t deadline)
{
    struct timespec until = {deadline / 1000000000, deadline % 1000000000};
    int saved = errno;
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        continue;
    errno = saved;
}

#define NEXT(name)                                                                                 \
    static __typeof__(name) *next;                                                                 \
    if (!next)                                                                                     \
    next = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

/* The call is served from its own begin on, so that the bytes' real transfer is hidden in the
 * delay. */
#define SLOWED(result, descriptor, bytes, call)                                                    \
    int64_t begin = now_ns();                                                                      \
    result done = call;                                                                            \
    if (is_slow(descriptor))                                                                       \
        sleep_until(serve(begin, duration_ns(bytes)));                                             \
    return done

static size_t total(const struct iovec *vector, int count)
{
    size_t bytes = 0;
    for (int n = 0; n < count; n++)
        bytes += vector[n].iov_len;
    return bytes;
}

ssize_t read(int fd, void *to, size_t bytes)
{
    NEXT(read);
    SLOWED(ssize_t, fd, bytes, next(fd, to, bytes));
}
ssize_t write(int fd, const void *from, size_t bytes)
{
    NEXT(write);
    SLOWED(ssize_t, fd, bytes, next(fd, from, bytes));
}
ssize_t pread(int fd, void *to, size_t bytes, off_t at)
{
    NEXT(pread);
    SLOWED(ssize_t, fd, bytes, next(fd, to, bytes, at));
}
ssize_t pread64(int fd, void *to, size_t bytes, off64_t at)
{
    NEXT(pread64);
    SLOWED(ssize_t, fd, bytes, next(fd, to, bytes, at));
}
ssize_t pwrite(int fd, const void *from, size_t bytes, off_t at)
{
    NEXT(pwrite);
    SLOWED(ssize_t, fd, bytes, next(fd, from, bytes, at));
}
ssize_t pwrite64(int fd, const void *from, size_t bytes, off64_t at)
{
    NEXT(pwrite64);
    SLOWED(ssize_t, fd, bytes, next(fd, from, bytes, at));
}
ssize_t readv(int fd, const struct iovec *v, int n)
{
    NEXT(readv);
    SLOWED(ssize_t, fd, total(v, n), next(fd, v, n));
}
ssize_t writev(int fd, const struct iovec *v, int n)
{
    NEXT(writev);
    SLOWED(ssize_t, fd, total(v, n), next(fd, v, n));
}
ssize_t preadv(int fd, const struct iovec *v, int n, off_t at)
{
    NEXT(preadv);
    SLOWED(ssize_t, fd, total(v, n), next(fd, v, n, at));
}
ssize_t preadv64(int fd, const struct iovec *v, int n, off64_t at)
{
    NEXT(preadv64);
    SLOWED(ssize_t, fd, total(v, n), next(fd, v, n, at));
}
ssize_t pwritev(int fd, const struct iovec *v, int n, off_t at)
{
    NEXT(pwritev);
    SLOWED(ssize_t, fd, total(v, n), next(fd, v, n, at));
}
ssize_t pwritev64(int fd, const struct iovec *v, int n, off64_t at)
{
    NEXT(pwritev64);
    SLOWED(ssize_t, fd, total(v, n), next(fd, v, n, at));
}
int fsync(int fd)
{
    NEXT(fsync);
    SLOWED(int, fd, 0, next(fd));
}
int fdatasync(int fd)
{
    NEXT(fdatasync);
    SLOWED(int, fd, 0, next(fd));
}

size_t fwrite(const void *from, size_t size, size_t count, FILE *stream)
{
    NEXT(fwrite);
    SLOWED(size_t, fileno(stream), size *count, next(from, size, count, stream));
}

/* Asynchronous requests: under way until the deadline, whatever the library says. */
static struct {
    _Atomic(const void *) control;
    int64_t deadline;
} requests[REQUESTS];

static void remember(const struct aiocb *control, int64_t deadline)
{
    for (int n = 0; n < REQUESTS; n++) {
        const void *empty = NULL;
        if (!atomic_compare_exchange_strong(&requests[n].control, &empty, control))
            continue;
        requests[n].deadline = deadline;
        return;
    }
    fprintf(stderr, "slowfs: more than %d asynchronous requests\n", REQUESTS);
    abort();
}

static int64_t deadline_of(const struct aiocb *control, int forget)
{
    for (int n = 0; n < REQUESTS; n++) {
        if (!control || atomic_load(&requests[n].control) != control)
            continue;
        int64_t deadline = requests[n].deadline;
        if (forget)
            atomic_store(&requests[n].control, NULL);
        return deadline;
    }
    return 0;
}

static int submit(struct aiocb *control, int (*next)(struct aiocb *))
{
    int64_t begin = now_ns();
    if (is_slow(control->aio_fildes))
        remember(control, serve(begin, duration_ns(control->aio_nbytes)));
    return next(control);
}

int aio_write(struct aiocb *control)
{
    NEXT(aio_write);
    return submit(control, next);
}
int aio_read(struct aiocb *control)
{
    NEXT(aio_read);
    return submit(control, next);
}

int aio_error(const struct aiocb *control)
{
    NEXT(aio_error);
    return now_ns() < deadline_of(control, 0) ? EINPROGRESS : next(control);
}

ssize_t aio_return(struct aiocb *control)
{
    NEXT(aio_return);
    deadline_of(control, 1);
    return next(control);
}

/* Returns when the first of them is over, as aio_suspend does; a timeout is obeyed. */
int aio_suspend(const struct aiocb *const list[], int count, const struct timespec *timeout)
{
    NEXT(aio_suspend);
    int64_t first = INT64_MAX, limit = INT64_MAX;
    for (int n = 0; n < count; n++)
        if (list[n] && deadline_of(list[n], 0) < first)
            first = deadline_of(list[n], 0);
    if (timeout)
        limit = now_ns() + timeout->tv_sec * 1000000000LL + timeout->tv_nsec;
    if (first != INT64_MAX)
        sleep_until(first < limit ? first : limit);
    if (limit < first)
        return errno = EAGAIN, -1;
    return next(list, count, timeout);
}

/* struct aiocb64 is struct aiocb where files are 64-bit. */
_Static_assert(sizeof(struct aiocb) == sizeof(struct aiocb64), "aiocb64 differs from aiocb");
int aio_write64(struct aiocb64 *control)
{
    return aio_write((struct aiocb *)control);
}
int aio_read64(struct aiocb64 *control)
{
    return aio_read((struct aiocb *)control);
}
int aio_error64(const struct aiocb64 *control)
{
    return aio_error((const struct aiocb *)control);
}
ssize_t aio_return64(struct aiocb64 *control)
{
    return aio_return((struct aiocb *)control);
}
int aio_suspend64(const struct aiocb64 *const list[], int count, const struct timespec *timeout)
{
    return aio_suspend((const struct aiocb *const *)list, count, timeout);
}
