/* clock.h: the time of an event, in ticks.
 *
 * A tick is one count of the processor's invariant counter where that is safe to use (x86-64: the
 * time-stamp counter when CPUID says it is invariant and the kernel itself keeps time by it;
 * aarch64: the virtual counter), else one nanosecond of CLOCK_MONOTONIC. clock.c decides once per
 * process. The reader turns ticks into nanoseconds by the clock records of the stream, so the
 * nominal frequency need not be exact.
 */
#ifndef TAILRACE_CLOCK_H
#define TAILRACE_CLOCK_H

#include <stdint.h>
#include <time.h>

#include "visibility.h"

/* Older than 2.17, glibc has it elsewhere (glibc.h). */
#pragma weak clock_gettime

enum clock_kind {
    CLOCK_KIND_COUNTER = 1,
    CLOCK_KIND_MONOTONIC = 2
}; /* as in the stream's header */

/* What clock_choose() decided; CLOCK_KIND_MONOTONIC until then. */
extern TAILRACE_EXPORT_DATA int tailrace_clock_kind;

/* One reading of the counter against the system's clocks: the best of a few tries. */
struct clock_reading {
    uint64_t ticks;
    uint64_t monotonic_ns;
    uint32_t width_ticks; /* the true time of the reading lies within this many ticks */
    uint64_t realtime_ns;
};

void clock_choose(void);
uint64_t clock_ticks_per_s(void);
struct clock_reading clock_read(void);

static inline uint64_t clock_monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline uint64_t clock_counter(void)
{
#if defined(__x86_64__)
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
#elif defined(__aarch64__)
    uint64_t count;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(count));
    return count;
#else
    return clock_monotonic_ns();
#endif
}

/* The same once all that comes before is done: a processor may read its counter ahead of that. */
static inline uint64_t clock_counter_after(void)
{
#if defined(__x86_64__)
    __asm__ volatile("lfence" ::: "memory");
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory");
#endif
    return clock_counter();
}

/* Now, in ticks. */
static inline uint64_t clock_now(void)
{
    if (__builtin_expect(tailrace_clock_kind == CLOCK_KIND_COUNTER, 1))
        return clock_counter();
    return clock_monotonic_ns();
}

static inline uint64_t clock_after(void)
{
    if (__builtin_expect(tailrace_clock_kind == CLOCK_KIND_COUNTER, 1))
        return clock_counter_after();
    return clock_monotonic_ns();
}

#endif
