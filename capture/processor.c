/* processor.c: how long the main thread was ready to run while no processor ran it.
 *
 * The kernel counts that for every thread (its run delay). It is read where a call begins or ends,
 * no more often than every millisecond and never so often that reading takes more than 0.16 %
 * of the time: no system call is added to the common way. Only the thread whose time makes the
 * rank's accounts is asked about, and no descriptor stays open.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process.h"
#include "record.h"
#include "system.h"
#include "text.h"

enum {
    SAMPLES_PER_S = 1000,
    READING_SHARE = 640, /* of the time, at most one part in so many is spent reading */
    COST_SMOOTHING = 8,
    COST_JUMP_MAX = 3,
    NOTABLE_SHARE = 128, /* a wait below this share of its interval waits for the next record */
    RETRIES_PER_S = 1,   /* where it cannot be read: a lack of descriptors passes */
    CORES_MAX = 1 << 13,
    CORES_BYTES = 2048,
};

/* The second number of the file: nanoseconds. */
static bool read_delay_from(const char *path, uint64_t *delay_ns)
{
    char text[96];
    int file = system_open(path, O_RDONLY | O_CLOEXEC, 0);
    if (file < 0)
        return false;
    ssize_t bytes = system_read(file, text, sizeof text - 1);
    system_close(file);
    text[bytes < 0 ? 0 : bytes] = 0;
    const char *at = strchr(text, ' ');
    if (!at || at[1] < '0' || at[1] > '9')
        return false;
    *delay_ns = text_decimal(at + 1);
    return true;
}

bool processor_delay(uint64_t *delay_ns)
{
    return read_delay_from("/proc/thread-self/schedstat", delay_ns);
}

bool processor_delay_of(int thread, uint64_t *delay_ns)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/schedstat", thread);
    return read_delay_from(path, delay_ns);
}

/* Where counters are asked for, they count from the first call on, and the run begins with them. */
void processor_begins(void)
{
    uint64_t now = clock_now();
    if (!getenv("TAILRACE_COUNTERS") && processor_delay(&process.begun_delay_ns))
        process.begun = now;
}

static void put_wait(struct stream *stream, uint64_t begin, uint64_t end)
{
    struct processor *processor = &stream->processor;
    uint64_t payload[3] = {begin, end, processor->waited_ns};
    if (encode_record(stream, HEAD_WAIT, payload, sizeof payload, NULL, 0))
        processor->waited_ns = 0;
}

/* The wait since the last sample, written where it is notable or the stream ends. */
static void sample(struct stream *stream, uint64_t now, uint64_t delay_ns, bool last)
{
    struct processor *processor = &stream->processor;
    uint64_t since = processor->sampled;
    if (since && delay_ns > processor->delay_ns)
        processor->waited_ns += delay_ns - processor->delay_ns;
    processor->sampled = now;
    processor->delay_ns = delay_ns;
    double interval_ns = (double)(now - since) * 1e9 / (double)clock_ticks_per_s();
    bool notable = (double)processor->waited_ns * NOTABLE_SHARE >= interval_ns;
    if (!since)
        put_wait(stream, now, now); /* says that waits are known from here on */
    else if (processor->waited_ns && (notable || last))
        put_wait(stream, since, now);
}

/* Says that waits are known from here on. The first call may follow at once: it is no time for the
 * next reading. */
void encode_first_wait(struct stream *stream)
{
    uint64_t begun = stream->processor.sampled;
    if (!begun)
        return;
    put_wait(stream, begun, begun);
    stream->processor.due = begun + clock_ticks_per_s() / SAMPLES_PER_S;
    stream_set_due(stream);
}

/* What a reading takes on average, where the program leaves it the caches that it leaves it. In one
 * that is much longer the thread was interrupted. */
static uint64_t smoothed(uint64_t cost, uint64_t found)
{
    if (!cost)
        return found;
    uint64_t most = cost * COST_JUMP_MAX;
    return cost - cost / COST_SMOOTHING + (found < most ? found : most) / COST_SMOOTHING;
}

static uint64_t next_due(struct processor *processor, uint64_t begin, uint64_t end)
{
    uint64_t pause = clock_ticks_per_s() / SAMPLES_PER_S;
    processor->cost = smoothed(processor->cost, end - begin);
    uint64_t bound = processor->cost * READING_SHARE;
    return end + (bound > pause ? bound : pause);
}

/* A sample, if this stream is the calling thread's and the rank's accounts are about it. */
void encode_wait(struct stream *stream, bool last)
{
    struct processor *processor = &stream->processor;
    uint64_t begin = clock_now(), delay_ns;
    if (!(stream->header->flags & HEADER_FLAG_MAIN) || stream != tailrace_stream) {
        processor->due = UINT64_MAX;
        return;
    }
    processor->due = begin + clock_ticks_per_s() / RETRIES_PER_S;
    if (!processor_delay(&delay_ns))
        return;
    processor->due = next_due(processor, begin, clock_now());
    sample(stream, begin, delay_ns, last);
}

void encode_waits_of_main(struct stream *stream)
{
    uint64_t delay_ns;
    encode_first_wait(stream);
    if (processor_delay_of(process.id, &delay_ns))
        sample(stream, clock_now(), delay_ns, true);
}

/* "0-3,8": the cores that the process may use. */
static void spell_cores(const uint8_t *set, int count, char *text, size_t room)
{
    size_t used = 0;
    text[0] = 0;
    for (int i = 0; i < count && used + 16 < room; i++) {
        int first = i;
        while (i < count && set[i / 8] >> i % 8 & 1)
            i++;
        if (i == first)
            continue;
        used += (size_t)snprintf(text + used, room - used, used ? ",%d" : "%d", first);
        if (i - 1 > first)
            used += (size_t)snprintf(text + used, room - used, "-%d", i - 1);
    }
}

void processor_describe(void)
{
    uint8_t set[CORES_MAX / 8];
    char text[CORES_BYTES];
    long bytes = system_call(SYS_sched_getaffinity, 0, sizeof set, (long)set, 0, 0, 0);
    if (bytes <= 0)
        return;
    spell_cores(set, (int)bytes * 8, text, sizeof text);
    process_add_meta("cores", text);
}
