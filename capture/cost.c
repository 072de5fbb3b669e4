/* cost.c: what capture takes of a thread's time, measured where it takes it.
 *
 * In a loop of its own recording a call takes a third of what it takes in a program whose work has
 * emptied the caches in between. So every 251st call is timed where it is made: from the wrapper's
 * begin to the call's, and from the call's end to the record's. It stands for those before it; at
 * first every call is timed, because the first ones are the slowest. 251 is a prime: a loop of a
 * few calls must not always be timed at the same one. What is rare and long (a new window, the
 * records that are due, a call path that is unwound) is timed each time. The program would wait for
 * a processor without capture, too: that is none of its time, wherever the wait falls.
 */
#include "process.h"
#include "record.h"

enum {
    TIMED_AT_FIRST = 64, /* calls, and as many with the next interval */
    INTERVAL_AT_FIRST = 17,
    INTERVAL = 251,
    /* A call that took longer was interrupted: so many times the mean, at least so many per
     * second. */
    MEANS_MAX = 16,
    SHORTEST_MAX_PER_S = 500000,
    SMOOTHING = 16,
};

static uint64_t ticks_of_ns(uint64_t ns)
{
    return (uint64_t)((double)ns * (double)clock_ticks_per_s() / 1e9);
}

static uint64_t without_interruption(struct cost_sample *sample, uint64_t ticks)
{
    uint64_t most = clock_ticks_per_s() / SHORTEST_MAX_PER_S;
    most = sample->mean * MEANS_MAX > most ? sample->mean * MEANS_MAX : most;
    ticks = ticks < most ? ticks : most;
    int64_t difference = (int64_t)(ticks - sample->mean);
    sample->mean = sample->mean ? sample->mean + (uint64_t)(difference / SMOOTHING) : ticks;
    return ticks;
}

static uint16_t next_interval(struct cost_sample *sample)
{
    sample->timed++;
    return sample->timed < TIMED_AT_FIRST       ? 1
           : sample->timed < 2 * TIMED_AT_FIRST ? INTERVAL_AT_FIRST
                                                : INTERVAL;
}

static void tell(struct stream *stream)
{
    struct cost *cost = &stream->cost;
    uint64_t counted = cost->counted * process.count_cost / COUNTS_CALIBRATED;
    stream->header->own_ticks = cost->begin.ticks + cost->end.ticks + cost->rare + counted;
}

static void add(struct cost_sample *sample, uint64_t ticks)
{
    uint64_t calls = sample->interval ? sample->interval : 1;
    sample->ticks += without_interruption(sample, ticks) * calls;
    sample->interval = next_interval(sample);
}

/* At a call's begin, since `entered`; the time after that. */
uint64_t tailrace_cost_begin(struct stream *stream, uint64_t entered, uint64_t begin)
{
    add(&stream->cost.begin, begin - entered);
    stream->begin_in = stream->cost.begin.interval;
    return clock_now();
}

/* At a record's end: since the call's. */
void cost_end(struct stream *stream, uint64_t end)
{
    uint64_t ticks = clock_after() - end;
    struct cost *cost = &stream->cost;
    bool counted_already = cost->rare != cost->rare_seen && ticks >= cost->rare - cost->rare_seen;
    cost->rare_seen = cost->rare;
    add(&cost->end, counted_already ? cost->end.mean : ticks);
    stream->end_in = cost->end.interval;
    tell(stream);
}

void cost_due(struct stream *stream, uint64_t since)
{
    stream->cost.rare += without_interruption(&stream->cost.due, clock_now() - since);
    tell(stream);
}

struct cost_begun cost_rare_begins(void)
{
    struct cost_begun begun = {0, 0};
    processor_delay(&begun.delay_ns);
    begun.ticks = clock_now();
    return begun;
}

/* Where the kernel does not say for how long the thread waited, waits count. */
void cost_rare_ends(struct stream *stream, struct cost_begun begun)
{
    uint64_t ticks = clock_now() - begun.ticks, delay_ns = begun.delay_ns;
    processor_delay(&delay_ns);
    uint64_t waited = ticks_of_ns(delay_ns - begun.delay_ns);
    stream->cost.rare += waited < ticks ? ticks - waited : 0;
    tell(stream);
}

void cost_spent(struct stream *stream, uint64_t ran_ns)
{
    stream->cost.rare += ticks_of_ns(ran_ns);
    tell(stream);
}

/* Calls that are only counted. They come in loops, so that a loop of its own told what one takes
 * (calibrate.c). */
void cost_counted(struct stream *stream, uint32_t calls)
{
    stream->cost.counted += calls;
    tell(stream);
}
