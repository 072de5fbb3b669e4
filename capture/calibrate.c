/* calibrate.c: what recording one call costs here and now, so that the report can say what capture
 * cost.
 *
 * The real recorder runs on a stream that lives in memory. The best of a few rounds is taken: an
 * interrupt only ever adds.
 */
#include "descriptors.h"
#include "process.h"
#include "record.h"
#include "system.h"

enum { ROUNDS = 5, CALLS = 1000, MEMORY_BYTES = 1 << 16, FUNCTION = 1 };

static void record_calls(void)
{
    for (int i = 0; i < CALLS; i++) {
        struct call call;
        struct stream *stream = call_begin(&call, FUNCTION);
        int64_t words[FILE_WORDS] = {FILE_WRITE, FILE_OFFSET, 2, 8, 8 * i, 0, -1};
        if (stream)
            call_end(stream, &call, CLASS_FILE, words, FILE_WORDS);
    }
}

static uint64_t shortest_round(struct stream *stream)
{
    uint64_t shortest = UINT64_MAX;
    for (int round = 0; round < ROUNDS; round++) {
        stream->at = stream->window;
        uint64_t begin = clock_now();
        record_calls();
        uint64_t ticks = clock_now() - begin;
        shortest = ticks < shortest ? ticks : shortest;
    }
    return shortest;
}

static uint64_t ticks_per_round(struct stream *stream, uint8_t *memory)
{
    stream_use_memory(stream, (struct stream_header *)memory, memory + HEADER_BYTES,
                      MEMORY_BYTES - HEADER_BYTES);
    struct stream *own = tailrace_stream;
    tailrace_stream = stream;
    uint64_t ticks = shortest_round(stream);
    tailrace_stream = own;
    return ticks;
}

unsigned calibrate_event_cost_ps(void)
{
    struct stream *stream = system_map_memory(sizeof *stream);
    uint8_t *memory = system_map_memory(MEMORY_BYTES);
    uint64_t ticks = stream && memory ? ticks_per_round(stream, memory) : 0;
    if (stream) {
        if (stream->places)
            system_unmap(stream->places, stream->places_bytes);
        system_unmap(stream, sizeof *stream);
    }
    if (memory)
        system_unmap(memory, MEMORY_BYTES);
    return (unsigned)((double)ticks * 1e12 / (double)clock_ticks_per_s() / CALLS);
}

/* What a wrapper of STDIO does of its own: it is called, finds the file and the slot, and
 * counts. */
static __attribute__((noinline)) long count(struct stream *volatile *streams, int descriptor)
{
    uint32_t file = descriptor_entry(descriptor) + FUNCTION;
    struct stream *stream = streams[descriptor % 2];
    struct buffered *slot = &stream->buffered[BUFFERED_SLOT(file, FILE_WRITE)];
    if (tailrace_recording || slot->op)
        return 0;
    slot->function = FUNCTION;
    slot->bytes += descriptor;
    return ++slot->calls;
}

static uint64_t shortest_count(struct stream *stream)
{
    struct stream *volatile streams[2] = {stream, stream};
    long (*volatile wrapper)(struct stream *volatile *, int) = count;
    uint64_t shortest = UINT64_MAX;
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t begin = clock_now();
        for (int i = 0; i < COUNTS_CALIBRATED; i++)
            wrapper(streams, i % 2);
        uint64_t ticks = clock_now() - begin;
        shortest = ticks < shortest ? ticks : shortest;
    }
    return shortest;
}

unsigned calibrate_count_cost(void)
{
    struct stream *stream = system_map_memory(sizeof *stream);
    uint64_t ticks = stream ? shortest_count(stream) : 0;
    if (stream)
        system_unmap(stream, sizeof *stream);
    return (unsigned)ticks;
}
