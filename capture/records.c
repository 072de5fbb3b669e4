/* records.c: the records that are no calls: clock, counters, metas, notes, the end. */
#include <string.h>

#include "bytes.h"
#include "process.h"
#include "record.h"

enum { PAYLOAD_MAX = 65535, CLOCKS_PER_S = 10 };

static void put_record(struct stream *stream, unsigned head, const void *first, size_t first_bytes, const void *second,
                       size_t second_bytes)
{
    uint8_t *payload = put_u16(stream->at + HEAD_BYTES, (unsigned)(first_bytes + second_bytes));
    if (first_bytes)
        memcpy(payload, first, first_bytes);
    if (second_bytes)
        memcpy(payload + first_bytes, second, second_bytes);
    publish(stream->at, head, 0);
    stream->at = payload + first_bytes + second_bytes;
}

/* A record's payload in two parts, the second cut where both together are too long. */
bool encode_record(struct stream *stream, unsigned head, const void *first, size_t first_bytes, const void *second,
                   size_t second_bytes)
{
    if (first_bytes + second_bytes > PAYLOAD_MAX)
        second_bytes = PAYLOAD_MAX - first_bytes;
    size_t bytes = HEAD_BYTES + 2 + first_bytes + second_bytes;
    if (stream->limit < stream->at + bytes && !stream_grow(stream, bytes))
        return false;
    put_record(stream, head, first, first_bytes, second, second_bytes);
    return true;
}

static size_t clock_payload(uint8_t payload[28])
{
    struct clock_reading reading = clock_read();
    memcpy(payload, &reading.ticks, 8);
    memcpy(payload + 8, &reading.monotonic_ns, 8);
    memcpy(payload + 16, &reading.width_ticks, 4);
    memcpy(payload + 20, &reading.realtime_ns, 8);
    return 28;
}

void encode_clock(struct stream *stream)
{
    uint8_t payload[28];
    encode_record(stream, HEAD_CLOCK, payload, clock_payload(payload), NULL, 0);
    stream->clock_due = clock_now() + clock_ticks_per_s() / CLOCKS_PER_S;
}

static void encode_counters(struct stream *stream)
{
    if (stream->counters)
        encode_record(stream, HEAD_COUNTERS, counters_useful(stream->counters), 2 * sizeof(uint64_t), NULL, 0);
}

void encode_metas(struct stream *stream)
{
    process_lock();
    for (size_t at = 0; at < process.meta_bytes;) {
        size_t key_bytes = strlen(process.meta + at) + 1;
        size_t value_bytes = strlen(process.meta + at + key_bytes);
        encode_record(stream, HEAD_META, process.meta + at, key_bytes, process.meta + at + key_bytes, value_bytes);
        at += key_bytes + value_bytes + 1;
    }
    process_unlock();
}

/* The last records. A stream that found no space writes them into the reserve of its last window. The end record is not
 * stepped over: whatever is recorded after it, by a destructor that runs later still, takes its place. */
void encode_end(struct stream *stream)
{
    if (!stream->window && !stream_grow(stream, 0))
        return;
    stream->limit = stream->window + stream->window_bytes;
    encode_clock(stream);
    encode_counters(stream);
    uint8_t *end = stream->at;
    encode_record(stream, HEAD_END, NULL, 0, NULL, 0);
    stream->at = end;
    stream->clock_due = 0; /* the next record, if there is one, writes the end anew */
    stream_set_limit(stream);
}

void encode_due(struct stream *stream)
{
    if (stream->header->closed) {
        encode_end(stream);
        return;
    }
    encode_clock(stream);
    encode_counters(stream);
}

static uint64_t hash_text(const char *text, uint64_t hash)
{
    for (; *text; text++)
        hash = (hash ^ (uint8_t)*text) * 0x100000001b3u;
    return hash;
}

/* Once per stream, key and text: 64 texts are remembered, so a crowd may repeat itself, but a loop does not. */
bool encode_note(struct stream *stream, const char *key, const char *text)
{
    uint64_t hash = hash_text(text, hash_text(key, 0xcbf29ce484222325u)) | 1;
    uint64_t *noted = &stream->noted[hash >> 58];
    if (*noted == hash)
        return true;
    *noted = hash;
    return encode_record(stream, HEAD_NOTE, key, strlen(key) + 1, text, strlen(text));
}
