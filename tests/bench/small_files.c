/* small_files.c: what capture adds to small files: each made, written (900 bytes) and closed, then
 * looked up, then removed, by relative paths.
 *
 * usage: small_files DIRECTORY FILES BATCHES, under the preload. Batches of files by the wrapped
 * functions and by libc's own alternate, so that both see the same machine; the medians of the
 * batches are compared, and the medians of the differences told. A third kind is the floor of any recorder: libc's own, with two readings of
 * the time-stamp counter and a 32-byte store into a mapped file beside each call. Prints the ratio of
 * processor times, that of elapsed times, and the nanoseconds of processor time that capture adds to
 * a file, and that the floor does.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../../capture/clock.h"

enum { BYTES = 900, PATH_ROOM = 64, CALLS = 5, RECORD = 32, KINDS = 3 };

struct calls {
    int (*open)(const char *, int, ...);
    ssize_t (*write)(int, const void *, size_t);
    int (*close)(int);
    int (*stat)(const char *, struct stat *);
    int (*unlink)(const char *);
};

static long number;

/* --- The floor --- */

static struct calls own;
static char *record;

#define FLOOR(type, name, parameters, arguments)                                                   \
    static type floor_##name parameters                                                            \
    {                                                                                              \
        uint64_t words[RECORD / 8] = {clock_counter(), 0, (uint64_t)number, RECORD};               \
        type result = own.name arguments;                                                          \
        words[1] = clock_counter();                                                                \
        memcpy(record, words, sizeof words);                                                       \
        record += sizeof words;                                                                    \
        return result;                                                                             \
    }
FLOOR(int, open, (const char *path, int flags, ...), (path, flags, 0600))
FLOOR(ssize_t, write, (int file, const void *bytes, size_t count), (file, bytes, count))
FLOOR(int, close, (int file), (file))
FLOOR(int, stat, (const char *path, struct stat *status), (path, status))
FLOOR(int, unlink, (const char *path), (path))

static void check(int good, const char *what)
{
    if (good)
        return;
    perror(what);
    exit(1);
}

static void use_files(const struct calls *calls, int files)
{
    static char bytes[BYTES];
    char path[PATH_ROOM];
    struct stat status;
    for (int i = 0; i < files; i++) {
        snprintf(path, sizeof path, "output.%08ld", number + i);
        int file = calls->open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
        check(file >= 0 && calls->write(file, bytes, BYTES) == BYTES, path);
        check(!calls->close(file), path);
    }
    for (int i = 0; i < files; i++) {
        snprintf(path, sizeof path, "output.%08ld", number + i);
        check(!calls->stat(path, &status), path);
    }
    for (int i = 0; i < files; i++) {
        snprintf(path, sizeof path, "output.%08ld", number + i);
        check(!calls->unlink(path), path);
    }
    number += files;
}

static double nanoseconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * 1e9 + now.tv_nsec;
}

static int compare(const void *left, const void *right)
{
    double x = *(const double *)left, y = *(const double *)right;
    return (x > y) - (x < y);
}

static double median(double *values, int count)
{
    qsort(values, count, sizeof *values, compare);
    return values[count / 2];
}

/* The median of what a kind takes more than the bare one beside it. */
static double added_ns(double *const *processor, int kind, int batches)
{
    double *added = calloc(batches, sizeof(double));
    check(added != NULL, "memory");
    for (int batch = 0; batch < batches; batch++)
        added[batch] = processor[kind][batch] - processor[0][batch];
    return median(added, batches);
}

/* As the recorder's: in memory. */
static void map_records(size_t bytes)
{
    char path[] = "/dev/shm/small-files-XXXXXX";
    int file = mkstemp(path);
    check(file >= 0 && !unlink(path) && !posix_fallocate(file, 0, (off_t)bytes), path);
    record = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    check(record != MAP_FAILED, path);
    own.close(file);
}

int main(int count, char **arguments)
{
    check(count == 4 && !chdir(arguments[1]), "usage: small_files DIRECTORY FILES BATCHES");
    int files = atoi(arguments[2]), batches = atoi(arguments[3]);
    void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
    own = (struct calls){dlsym(libc, "open"), dlsym(libc, "write"), dlsym(libc, "close"),
                         dlsym(libc, "stat"), dlsym(libc, "unlink")};
    const struct calls kinds[KINDS] = {
        own,
        {open, write, close, stat, unlink},
        {floor_open, floor_write, floor_close, floor_stat, floor_unlink},
    };
    map_records((size_t)files * batches * CALLS * RECORD);
    check(kinds[0].open && kinds[0].open != kinds[1].open, "libtailrace.so is not preloaded");
    double *processor[KINDS], *elapsed[KINDS];
    for (int kind = 0; kind < KINDS; kind++) {
        processor[kind] = calloc(batches, sizeof(double));
        elapsed[kind] = calloc(batches, sizeof(double));
        check(processor[kind] && elapsed[kind], "memory");
    }
    for (int batch = 0; batch < batches; batch++)
        for (int turn = 0; turn < KINDS; turn++) {
            int kind = (turn + batch) % KINDS;
            double begin = nanoseconds(CLOCK_MONOTONIC);
            double begin_processor = nanoseconds(CLOCK_THREAD_CPUTIME_ID);
            use_files(&kinds[kind], files);
            processor[kind][batch] = nanoseconds(CLOCK_THREAD_CPUTIME_ID) - begin_processor;
            elapsed[kind][batch] = nanoseconds(CLOCK_MONOTONIC) - begin;
        }
    double added = added_ns(processor, 1, batches), floor = added_ns(processor, 2, batches);
    printf("%.4f %.4f %.0f %.0f\n", median(processor[1], batches) / median(processor[0], batches),
           median(elapsed[1], batches) / median(elapsed[0], batches), added / files, floor / files);
    return 0;
}
