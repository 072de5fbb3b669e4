/* counters.c: instructions and cycles that a thread spends in user space outside captured calls, by
 * perf_event.
 *
 * Only on request (TAILRACE_COUNTERS=1), for reading two counters at both ends of every call costs
 * as much as the recording. They are read without a system call (RDPMC), so a kernel that does not
 * allow that counts as one without counters. The events live by their mapped pages; no descriptor
 * stays open.
 */
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process.h"
#include "record.h"
#include "system.h"

enum { COUNTERS = 2, EVENT_PAGE_BYTES = 4096 };

struct counters {
    struct perf_event_mmap_page *pages[COUNTERS];
    uint64_t mark[COUNTERS];   /* at the end of the last outermost call */
    uint64_t useful[COUNTERS]; /* since the start of the stream */
};

static const uint64_t events[COUNTERS] = {PERF_COUNT_HW_INSTRUCTIONS, PERF_COUNT_HW_CPU_CYCLES};

/* A page to read the event by, NULL with a negative errno in *error. */
static struct perf_event_mmap_page *open_event(uint64_t event, int *error)
{
    struct perf_event_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.type = PERF_TYPE_HARDWARE;
    attributes.size = sizeof attributes;
    attributes.config = event;
    attributes.exclude_kernel = 1;
    attributes.exclude_hv = 1;
    int file = (int)system_call(SYS_perf_event_open, (long)&attributes, 0, -1, -1,
                                PERF_FLAG_FD_CLOEXEC, 0);
    *error = file < 0 ? file : 0;
    if (file < 0)
        return NULL;
    struct perf_event_mmap_page *page = system_map(EVENT_PAGE_BYTES, MAP_SHARED, file, 0);
    system_close(file);
    *error = page ? page->cap_user_rdpmc ? 0 : -EOPNOTSUPP : -ENOMEM;
    if (!*error)
        return page;
    if (page)
        system_unmap(page, EVENT_PAGE_BYTES);
    return NULL;
}

#if defined(__x86_64__)
static int64_t hardware_count(uint32_t index, unsigned width)
{
    uint32_t low, high;
    __asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(index));
    return (int64_t)(((uint64_t)high << 32 | low) << (64 - width)) >> (64 - width);
}
#else
static int64_t hardware_count(uint32_t index, unsigned width)
{
    (void)index;
    (void)width;
    return 0;
}
#endif

/* The kernel's own recipe (linux/perf_event.h): the sequence number tells whether the page changed
 * under our hands. */
static uint64_t count(const volatile struct perf_event_mmap_page *page)
{
    uint32_t sequence;
    int64_t value;
    do {
        sequence = page->lock;
        __asm__ volatile("" ::: "memory");
        value = page->offset;
        if (page->index)
            value += hardware_count(page->index - 1, page->pmc_width);
        __asm__ volatile("" ::: "memory");
    } while (page->lock != sequence);
    return (uint64_t)value;
}

static void mark(struct counters *counters)
{
    for (int i = 0; i < COUNTERS; i++)
        counters->mark[i] = count(counters->pages[i]);
}

static int open_events(struct counters *counters)
{
    int error = 0;
    for (int i = 0; i < COUNTERS && !error; i++)
        counters->pages[i] = open_event(events[i], &error);
    return error;
}

void counters_close(struct counters *counters)
{
    if (!counters)
        return;
    for (int i = 0; i < COUNTERS; i++)
        if (counters->pages[i])
            system_unmap(counters->pages[i], EVENT_PAGE_BYTES);
    system_unmap(counters, sizeof *counters);
}

static struct counters *try_to_open(int *error)
{
    struct counters *counters = system_map_memory(sizeof *counters);
    *error = counters ? open_events(counters) : -ENOMEM;
    if (!*error) {
        mark(counters);
        return counters;
    }
    counters_close(counters);
    return NULL;
}

static bool wanted(void)
{
    const char *value = getenv("TAILRACE_COUNTERS");
    return value && !strcmp(value, "1");
}

/* The thread's counters, NULL where they are not asked for or not to be had. */
struct counters *counters_open(void)
{
    int error;
    return wanted() ? try_to_open(&error) : NULL;
}

/* Says in the process's meta what can be expected. */
void counters_describe(void)
{
    char text[160] = "not available: not asked for (TAILRACE_COUNTERS=1)";
    int error = 0;
    if (wanted()) {
        counters_close(try_to_open(&error));
        const char *hint =
            error == -EACCES || error == -EPERM ? "; see /proc/sys/kernel/perf_event_paranoid" : "";
        snprintf(text, sizeof text, error ? "not available: %s%s" : "instructions, cycles",
                 strerror(-error), hint);
    }
    process_add_meta("counters", text);
}

void tailrace_counters_stop(struct counters *counters)
{
    for (int i = 0; i < COUNTERS; i++)
        counters->useful[i] += count(counters->pages[i]) - counters->mark[i];
}

void tailrace_counters_start(struct counters *counters)
{
    mark(counters);
}

const uint64_t *counters_useful(const struct counters *counters)
{
    return counters->useful;
}
