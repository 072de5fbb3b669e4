/* drift.c: a node's clock that runs faster or slower than its neighbours', as quartzes do.
 *
 * Loaded into every program of a node by /etc/ld.so.preload. /etc/testbed-drift holds the drift in
 * parts per billion and the CLOCK_MONOTONIC, in nanoseconds, at which it began. Time namespaces,
 * which give nodes their offsets, know no drift. The processor's time-stamp counter stays
 * everybody's: it is the truth against which aligned clocks are measured.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#include <dlfcn.h>

enum { NS_PER_S = 1000000000 };

static int64_t drift_ppb, origin_ns;
static int (*real_gettime)(clockid_t, struct timespec *);

static int gettime(clockid_t clock, struct timespec *now)
{
    return real_gettime ? real_gettime(clock, now) : (int)syscall(SYS_clock_gettime, clock, now);
}

__attribute__((constructor)) static void start(void)
{
    long long drift, origin;
    FILE *file = fopen("/etc/testbed-drift", "re");
    if (!file)
        return;
    *(void **)&real_gettime = dlsym(RTLD_NEXT, "clock_gettime");
    if (fscanf(file, "%lld %lld", &drift, &origin) == 2) {
        drift_ppb = drift;
        origin_ns = origin;
    }
    fclose(file);
}

/* What the clock has gained since the drift began. */
static int64_t gained_ns(void)
{
    struct timespec now;
    if (!drift_ppb || gettime(CLOCK_MONOTONIC, &now))
        return 0;
    int64_t since = now.tv_sec * (int64_t)NS_PER_S + now.tv_nsec - origin_ns;
    return (int64_t)((__int128)since * drift_ppb / NS_PER_S);
}

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *now)
{
    int status = gettime(clock, now);
    if (status || !drift_ppb || (clock != CLOCK_MONOTONIC && clock != CLOCK_REALTIME))
        return status;
    int64_t ns = now->tv_nsec + gained_ns();
    int64_t seconds = ns / NS_PER_S - (ns % NS_PER_S < 0);
    now->tv_sec += seconds;
    now->tv_nsec = ns - seconds * NS_PER_S;
    return 0;
}

__attribute__((visibility("default"))) int gettimeofday(struct timeval *restrict now,
                                                        void *restrict zone)
{
    struct timespec fine;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &fine))
        return -1;
    *now = (struct timeval){.tv_sec = fine.tv_sec, .tv_usec = fine.tv_nsec / 1000};
    return 0;
}
