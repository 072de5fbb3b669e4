#include "timing.h"

#include <sys/resource.h>

const char *const PHASE_KEY[PHASES] = {"open_s", "define_s", "write_s",
                                       "sync_s", "close_s",  "read_s"};

/* What getrusage and the clock say. */
struct reading {
    double user, system, elapsed;
};

static struct reading started, aside_started, aside;
static double computed, communicated;

static double seconds(struct timeval time)
{
    return (double)time.tv_sec + 1e-6 * (double)time.tv_usec;
}

static struct reading now(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (struct reading){seconds(used.ru_utime), seconds(used.ru_stime), MPI_Wtime()};
}

void timing_start(void)
{
    started = now();
    aside = (struct reading){0, 0, 0};
    computed = communicated = 0;
}

double timing_since_start(void)
{
    return MPI_Wtime() - started.elapsed;
}

void aside_begin(void)
{
    aside_started = now();
}

void aside_end(void)
{
    const struct reading end = now();
    aside.user += end.user - aside_started.user;
    aside.system += end.system - aside_started.system;
    aside.elapsed += end.elapsed - aside_started.elapsed;
}

void timing_computed(double spent)
{
    computed += spent;
}

void timing_communicated(double spent)
{
    communicated += spent;
}

struct usage timing_used(void)
{
    const struct reading end = now();
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (struct usage){.user_s = end.user - aside.user,
                          .system_s = end.system - aside.system,
                          .elapsed_s = end.elapsed - started.elapsed - aside.elapsed,
                          .compute_s = computed,
                          .communicate_s = communicated,
                          .aside_s = aside.elapsed,
                          .maximum_resident_bytes = (int64_t)used.ru_maxrss * 1024};
}
