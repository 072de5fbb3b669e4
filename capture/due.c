/* due.c: the records that a thread owes from time to time, and those with which its stream ends. */
#include "process.h"
#include "record.h"

/* The last records. A stream that found no space writes them into the reserve of its last window.
 * The end record is not stepped over: whatever is recorded after it, by a destructor that runs
 * later still, takes its place. */
void encode_end(struct stream *stream)
{
    if (!stream->window && !stream_grow(stream, 0))
        return;
    stream->limit = stream->window + stream->window_bytes;
    stream->buffered_max = 1; /* what is counted from here on is written at once */
    for (unsigned i = 0; i < COUNTED_SLOTS; i++)
        stream->counted[i].most = 0;
    encode_clock(stream);
    encode_counters(stream);
    encode_wait(stream, true);
    uint8_t *end = stream->at;
    encode_record(stream, HEAD_END, NULL, 0, NULL, 0);
    stream->at = end;
    stream->due = 0; /* the next record, if there is one, writes the end anew */
    stream_set_limit(stream);
}

void encode_due(struct stream *stream, uint64_t now)
{
    uint64_t begin = clock_now();
    if (stream->header->closed) {
        encode_end(stream);
        return;
    }
    if (now >= stream->processor.due)
        encode_wait(stream, false);
    if (now >= stream->clock_due) {
        encode_clock(stream);
        encode_counters(stream);
    }
    stream_set_due(stream);
    cost_due(stream, begin);
}
