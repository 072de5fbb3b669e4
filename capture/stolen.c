/* stolen.c: for how long a virtual machine's host had the processors.
 *
 * Where the guest's kernel knows (it counts as "steal"), that is in no thread's time: a thread that
 * computes seems to sleep meanwhile. Whose time it was the kernel does not say: it was no more than
 * that of all processors that the thread may use.
 */
#include <stdbool.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "glibc.h"
#include "process.h"
#include "system.h"
#include "text.h"

enum {
    CORES = 1 << 13,
    LINES_BYTES = 1024,
    STEAL = 8, /* words of a line of /proc/stat behind "cpu3" */
    NANOSECONDS = 1000000000,
};

/* The kernel takes milliseconds for /proc/stat where there are many processors. Valgrind's processor
 * does not say: a process that it has taken over in an exec may have counted before. */
static bool has_host(void)
{
    if (runs_under_valgrind())
        return true;
#if defined(__x86_64__)
    unsigned a, b, c = 0, d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & 1u << 31);
#else
    return true;
#endif
}

/* The ticks of a line "cpu3 …", if that processor is in the set. */
static uint64_t ticks_of(const char *line, const uint8_t *set)
{
    uint64_t core;
    const char *words = text_number(line + 3, 10, &core);
    bool allowed = words > line + 3 && core < CORES && set[core / 8] >> core % 8 & 1;
    return allowed ? text_word(words, STEAL) : 0;
}

/* Adds up the lines in `text`, which begin with "cpu"; what there is of the next one moves to the
 * front. False behind them. */
static bool take_lines(char *text, size_t *filled, const uint8_t *set, uint64_t *ticks)
{
    char *line = text, *end;
    while ((end = strchr(line, '\n')) && !strncmp(line, "cpu", 3)) {
        *end = 0;
        *ticks += ticks_of(line, set);
        line = end + 1;
    }
    *filled -= (size_t)(line - text);
    memmove(text, line, *filled + 1);
    return !end && *filled < LINES_BYTES - 1;
}

/* What the file, in the form of /proc/stat, says of the processors in the set. */
static uint64_t read_ticks(int file, const uint8_t *set)
{
    char text[LINES_BYTES];
    size_t filled = 0;
    uint64_t ticks = 0;
    ssize_t bytes;
    while ((bytes = system_read(file, text + filled, sizeof text - 1 - filled)) > 0) {
        filled += (size_t)bytes;
        text[filled] = 0;
        if (!take_lines(text, &filled, set, &ticks))
            break;
    }
    return ticks;
}

uint64_t stolen_ns(void)
{
    uint8_t set[CORES / 8] = {0};
    if (!has_host() || system_call(SYS_sched_getaffinity, 0, sizeof set, (long)set, 0, 0, 0) <= 0)
        return 0;
    int file = system_open("/proc/stat", O_RDONLY | O_CLOEXEC, 0);
    if (file < 0)
        return 0;
    uint64_t ticks = read_ticks(file, set);
    system_close(file);
    return ticks * (NANOSECONDS / kernel_ticks_per_s());
}
