/* clock.c: chooses the clock and reads it against the system's. */
#include "clock.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "system.h"
#if defined(__x86_64__)
#include <cpuid.h>
#endif

enum { TRIES = 5, CALIBRATION_NS = 100000 };

int tailrace_clock_kind = CLOCK_KIND_MONOTONIC;
static uint64_t ticks_per_s = 1000000000u;

#if defined(__x86_64__)
/* The kernel watches the time-stamp counters of all cores and leaves them for another source when
 * they drift. */
static bool kernel_trusts_counter(void)
{
    char source[16] = "";
    int file = system_open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
                           O_RDONLY | O_CLOEXEC, 0);
    if (file < 0)
        return true; /* not to be seen in many containers: then the processor's word has to do */
    ssize_t bytes = system_read(file, source, sizeof source - 1);
    system_close(file);
    /* A virtual machine's clock (kvm-clock, hyperv) is itself computed from an invariant counter.
     */
    return bytes <= 0 || !strncmp(source, "tsc", 3) || !strncmp(source, "kvm-clock", 9) ||
           !strncmp(source, "hyperv_clocksou", 15);
}

static bool counter_is_invariant(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8) && kernel_trusts_counter();
}
#elif defined(__aarch64__)
static bool counter_is_invariant(void)
{
    return true; /* the architecture's system counter */
}
#else
static bool counter_is_invariant(void)
{
    return false;
}
#endif

static struct clock_reading read_once(void)
{
    struct timespec realtime;
    uint64_t before = clock_now();
    uint64_t monotonic_ns = clock_monotonic_ns();
    uint64_t after = clock_now();
    clock_gettime(CLOCK_REALTIME, &realtime);
    uint64_t width = after - before;
    return (struct clock_reading){
        .ticks = before + width / 2,
        .monotonic_ns = monotonic_ns,
        .width_ticks = width > UINT32_MAX ? UINT32_MAX : (uint32_t)width,
        .realtime_ns = (uint64_t)realtime.tv_sec * 1000000000u + (uint64_t)realtime.tv_nsec,
    };
}

struct clock_reading clock_read(void)
{
    struct clock_reading best = read_once();
    for (int i = 1; i < TRIES; i++) {
        struct clock_reading reading = read_once();
        if (reading.width_ticks < best.width_ticks)
            best = reading;
    }
    return best;
}

/* Ticks per second over a short wait; 0 where the counter stood still or ran backwards. */
static uint64_t measure_rate(void)
{
    struct clock_reading first = clock_read(), last;
    do
        last = clock_read();
    while (last.monotonic_ns - first.monotonic_ns < CALIBRATION_NS);
    if (last.ticks <= first.ticks)
        return 0;
    return (uint64_t)((double)(last.ticks - first.ticks) * 1e9 /
                      (double)(last.monotonic_ns - first.monotonic_ns));
}

/* Two waits must agree within 2 %, at a rate that a processor can have. */
static bool counter_keeps_time(void)
{
    uint64_t first = measure_rate(), second = measure_rate();
    uint64_t difference = first > second ? first - second : second - first;
    ticks_per_s = second;
    return second > 1000000 && second < 100000000000u && difference < second / 50;
}

void clock_choose(void)
{
    const char *wanted = getenv("TAILRACE_CLOCK");
    if ((wanted && !strcmp(wanted, "monotonic")) || !counter_is_invariant())
        return;
    tailrace_clock_kind = CLOCK_KIND_COUNTER;
    if (counter_keeps_time())
        return;
    tailrace_clock_kind = CLOCK_KIND_MONOTONIC;
    ticks_per_s = 1000000000u;
}

uint64_t clock_ticks_per_s(void)
{
    return ticks_per_s;
}
