/* bench_call.c: what capture adds to one pwrite of 8 bytes, against the floor of any recorder.
 *
 * usage: bench_call FILE CALLS PAIRS FLOOR_FILE, under the preload. Loops over the wrapped pwrite
 * and over libc's own alternate, so that both see the same machine; the minima are compared. The
 * floor: two readings of the time-stamp counter and a 32-byte store into a mapped file. Prints one
 * line of JSON, in nanoseconds per call.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "../../capture/clock.h"

typedef ssize_t (*pwrite_function)(int, const void *, size_t, off_t);

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
}

static double loop_ns(pwrite_function function, int file, long calls)
{
    uint64_t word = 42;
    double begin = seconds();
    for (long i = 0; i < calls; i++)
        if (function(file, &word, sizeof word, 8 * (i & 0xffff)) != sizeof word)
            abort();
    return (seconds() - begin) * 1e9 / calls;
}

static double floor_ns(const char *path, long calls)
{
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    size_t bytes = (size_t)calls * 32;
    if (file < 0 || posix_fallocate(file, 0, bytes))
        return -1;
    uint64_t *record = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (record == MAP_FAILED)
        return -1;
    double begin = seconds();
    for (long i = 0; i < calls; i++, record += 4) {
        uint64_t first = clock_counter();
        uint64_t words[4] = {first, 0, (uint64_t)i, 8};
        words[1] = clock_counter();
        memcpy(record, words, sizeof words);
    }
    double ns = (seconds() - begin) * 1e9 / calls;
    munmap((char *)record - bytes, bytes);
    close(file);
    unlink(path);
    return ns;
}

static double least(double known, double found)
{
    return found < known ? found : known;
}

int main(int count, char **arguments)
{
    if (count != 5) {
        fprintf(stderr, "usage: bench_call FILE CALLS PAIRS FLOOR_FILE\n");
        return 2;
    }
    long calls = atol(arguments[2]);
    void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
    pwrite_function plain = (pwrite_function)dlsym(libc, "pwrite"), wrapped = pwrite;
    int file = open(arguments[1], O_RDWR | O_CREAT, 0600);
    if (file < 0 || !plain || plain == wrapped) {
        fprintf(stderr, "bench_call: no file, or libtailrace.so is not preloaded\n");
        return 1;
    }
    double with = 1e9, without = 1e9, floor = 1e9;
    for (int pair = 0; pair < atoi(arguments[3]); pair++) {
        without = least(without, loop_ns(plain, file, calls));
        with = least(with, loop_ns(wrapped, file, calls));
        floor = least(floor, floor_ns(arguments[4], calls < 1000000 ? calls : 1000000));
    }
    printf("{\"file\": \"%s\", \"calls\": %ld, \"without_ns\": %.2f, \"with_ns\": %.2f, "
           "\"added_ns\": %.2f, "
           "\"floor_ns\": %.2f, "
           "\"added_over_floor\": %.3f}\n",
           arguments[1], calls, without, with, with - without, floor, (with - without) / floor);
    return 0;
}
