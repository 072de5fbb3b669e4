/* small_files.c: what capture adds to small files: each made, written (900 bytes) and closed, then
 * looked up, then removed, by relative paths.
 *
 * usage: small_files DIRECTORY FILES BATCHES, under the preload. Batches of files by the wrapped
 * functions and by libc's own alternate, so that both see the same machine; the medians of the
 * batches are compared. Prints the ratio of processor times, that of elapsed times, and the
 * nanoseconds of processor time that capture adds to a file.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { BYTES = 900, PATH_ROOM = 64 };

struct calls {
    int (*open)(const char *, int, ...);
    ssize_t (*write)(int, const void *, size_t);
    int (*close)(int);
    int (*stat)(const char *, struct stat *);
    int (*unlink)(const char *);
};

static long number;

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

int main(int count, char **arguments)
{
    check(count == 4 && !chdir(arguments[1]), "usage: small_files DIRECTORY FILES BATCHES");
    int files = atoi(arguments[2]), batches = atoi(arguments[3]);
    void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
    struct calls kinds[2] = {
        {dlsym(libc, "open"), dlsym(libc, "write"), dlsym(libc, "close"), dlsym(libc, "stat"),
         dlsym(libc, "unlink")},
        {open, write, close, stat, unlink},
    };
    check(kinds[0].open && kinds[0].open != kinds[1].open, "libtailrace.so is not preloaded");
    double *processor[2], *elapsed[2];
    for (int kind = 0; kind < 2; kind++) {
        processor[kind] = calloc(batches, sizeof(double));
        elapsed[kind] = calloc(batches, sizeof(double));
        check(processor[kind] && elapsed[kind], "memory");
    }
    for (int batch = 0; batch < batches; batch++)
        for (int turn = 0; turn < 2; turn++) {
            int kind = turn ^ (batch & 1);
            double begin = nanoseconds(CLOCK_MONOTONIC);
            double begin_processor = nanoseconds(CLOCK_THREAD_CPUTIME_ID);
            use_files(&kinds[kind], files);
            processor[kind][batch] = nanoseconds(CLOCK_THREAD_CPUTIME_ID) - begin_processor;
            elapsed[kind][batch] = nanoseconds(CLOCK_MONOTONIC) - begin;
        }
    double bare = median(processor[0], batches), captured = median(processor[1], batches);
    printf("%.4f %.4f %.0f\n", captured / bare,
           median(elapsed[1], batches) / median(elapsed[0], batches), (captured - bare) / files);
    return 0;
}
