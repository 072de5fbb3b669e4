/* cost.c SWEPT CALLS, under the preload: what capture adds to a pwrite of 8 bytes to /dev/null
 * before which the program went through so many bytes of memory. Wrapped calls and libc's own
 * alternate; the difference of the medians, in nanoseconds, is printed. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { LINE = 64 };

static double nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
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

int main(int count, char **words)
{
    size_t swept = count == 3 ? strtoul(words[1], NULL, 10) : 0;
    int calls = count == 3 ? atoi(words[2]) : 0, file = open("/dev/null", O_WRONLY);
    volatile char *memory = calloc(1, swept + 1);
    double *times[2] = {calloc(calls, sizeof(double)), calloc(calls, sizeof(double))};
    void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
    ssize_t (*kinds[2])(int, const void *, size_t, off_t) = {libc ? dlsym(libc, "pwrite") : NULL,
                                                             pwrite};
    if (!calls || file < 0 || !memory || !times[0] || !times[1] || !kinds[0] ||
        kinds[0] == kinds[1])
        return 1;
    for (int i = 0; i < 2 * calls; i++) {
        int kind = (i ^ i >> 1) & 1;
        for (size_t at = 0; at < swept; at += LINE)
            memory[at]++;
        double begin = nanoseconds();
        if (kinds[kind](file, "12345678", 8, 8 * i) != 8)
            return 1;
        times[kind][i / 2] = nanoseconds() - begin;
    }
    printf("%.1f\n", median(times[1], calls) - median(times[0], calls));
    return 0;
}
