/* What a program has done, told through a file that outlives it: one counter per rank or thread, a
 * cache line each. Counted after the call returned: whatever ends the program, so many calls have
 * been completed. */
#ifndef COUNTERS_H
#define COUNTERS_H

#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { COUNTERS = 64, STRIDE = 8, COUNTERS_BYTES = COUNTERS * STRIDE * 8 };

static _Atomic uint64_t *counters; /* counters[n * STRIDE]: calls; the next word: the process id */

static void fail(const char *what)
{
    perror(what);
    exit(3);
}

static void open_counters(const char *directory)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/counters", directory);
    int descriptor = open(path, O_RDWR | O_CLOEXEC);
    if (descriptor < 0)
        fail(path);
    counters = mmap(NULL, COUNTERS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (counters == MAP_FAILED)
        fail("mmap");
    close(descriptor);
}

static void introduce(int n)
{
    atomic_store(&counters[n * STRIDE + 1], (uint64_t)getpid());
}

static void count(int n)
{
    atomic_fetch_add(&counters[n * STRIDE], 1);
}

static int open_data(const char *directory, int n)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/data.%d", directory, n);
    int descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (descriptor < 0)
        fail(path);
    return descriptor;
}

/* Eight bytes that say which call wrote them, 1024 places round and round. */
static void write_counted(int descriptor, int n, uint64_t turn)
{
    if (pwrite(descriptor, &turn, sizeof turn, (off_t)(turn % 1024 * sizeof turn)) != sizeof turn)
        fail("pwrite");
    count(n);
}

#endif
