/* calibrate.c: what recording one call costs here and now, so that the report can say what capture
 * cost.
 *
 * The real recorder runs on a stream that lives in memory. The best of a few rounds is taken: an
 * interrupt only ever adds.
 */
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

/* What a wrapper of STDIO does of its own. */
static __attribute__((noinline)) void count(struct buffered *volatile *slots, uint32_t file)
{
    struct buffered *slot = slots[file % 2];
    if (tailrace_recording || slot->file != file)
        return;
    slot->function = FUNCTION;
    slot->bytes += 4;
    slot->calls++;
}

unsigned calibrate_count_cost(void)
{
    struct buffered slot = {.file = 2};
    struct buffered *volatile slots[2] = {&slot, &slot};
    uint64_t shortest = UINT64_MAX;
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t begin = clock_now();
        for (int i = 0; i < COUNTS_CALIBRATED; i++)
            count(slots, 2);
        uint64_t ticks = clock_now() - begin;
        shortest = ticks < shortest ? ticks : shortest;
    }
    return (unsigned)shortest;
}
