/* records.c: the records that are no calls: clock, counters, metas, notes. */
#include <string.h>

#include "bytes.h"
#include "process.h"
#include "record.h"

enum { PAYLOAD_MAX = 65535, CLOCKS_PER_S = 10 };

/* A record's payload in two parts, the second cut where both together are too long. */
bool encode_record(struct stream *stream, unsigned head, const void *first, size_t first_bytes,
                   const void *second, size_t second_bytes)
{
    if (first_bytes + second_bytes > PAYLOAD_MAX)
        second_bytes = PAYLOAD_MAX - first_bytes;
    uint8_t *payload = encode_begin(stream, first_bytes + second_bytes);
    if (!payload)
        return false;
    if (first_bytes)
        memcpy(payload, first, first_bytes);
    if (second_bytes)
        memcpy(payload + first_bytes, second, second_bytes);
    encode_publish(stream, head, payload + first_bytes + second_bytes);
    return true;
}

void encode_name(struct stream *stream, unsigned function)
{
    uint8_t payload[3];
    uint8_t *end = put_u16(payload, function);
    const char *name = process_function_name(function, end);
    if (encode_record(stream, HEAD_NAME, payload, sizeof payload, name, strlen(name)))
        stream->named[function / 64] |= 1ull << function % 64;
}

void tailrace_name_function(struct stream *stream, unsigned function)
{
    if (!stream_busy(stream))
        return;
    encode_name(stream, function);
    stream_ready(stream);
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
    stream_set_due(stream);
}

void encode_counters(struct stream *stream)
{
    if (stream->counters)
        encode_record(stream, HEAD_COUNTERS, counters_useful(stream->counters),
                      2 * sizeof(uint64_t), NULL, 0);
}

void encode_metas(struct stream *stream)
{
    process_lock();
    const struct metas *metas = process_metas();
    for (size_t at = 0; at < metas->bytes;) {
        const char *key = metas->text + at;
        size_t key_bytes = strlen(key) + 1, value_bytes = strlen(key + key_bytes);
        encode_record(stream, HEAD_META, key, key_bytes, key + key_bytes, value_bytes);
        at += key_bytes + value_bytes + 1;
    }
    process_unlock();
}

static uint64_t hash_text(const char *text, uint64_t hash)
{
    for (; *text; text++)
        hash = (hash ^ (uint8_t)*text) * 0x100000001b3u;
    return hash;
}

/* Once per stream, key and text: 64 texts are remembered, so a crowd may repeat itself, but a loop
 * does not. */
bool encode_note(struct stream *stream, const char *key, const char *text)
{
    uint64_t hash = hash_text(text, hash_text(key, 0xcbf29ce484222325u)) | 1;
    uint64_t *noted = &stream->noted[hash >> 58];
    if (*noted == hash)
        return true;
    *noted = hash;
    return encode_record(stream, HEAD_NOTE, key, strlen(key) + 1, text, strlen(text));
}
