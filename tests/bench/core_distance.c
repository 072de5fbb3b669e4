/*
 * How long a line of the cache takes from core 0 to core 1: two threads write one number in turns.
 *
 *     cc -O2 -pthread tests/bench/core_distance.c -o core_distance && chrt -r 1 ./core_distance
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

enum { TURNS = 300000 };

static _Alignas(64) atomic_long turn;

static void stay_on(int core)
{
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(core, &cores);
    sched_setaffinity(0, sizeof cores, &cores);
}

static void take_turns(long first)
{
    for (long mine = first; mine < 2L * TURNS; mine += 2) {
        while (atomic_load(&turn) != mine)
            ;
        atomic_store(&turn, mine + 1);
    }
}

static void *other(void *unused)
{
    (void)unused;
    stay_on(1);
    take_turns(1);
    return NULL;
}

int main(void)
{
    struct timespec begin, end;
    pthread_t thread;

    stay_on(0);
    if (pthread_create(&thread, NULL, other, NULL) != 0)
        return 1;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    take_turns(0);
    pthread_join(thread, NULL);
    clock_gettime(CLOCK_MONOTONIC, &end);
    double took = (double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec);
    printf("%.0f ns\n", took / (2.0 * TURNS));
    return 0;
}
