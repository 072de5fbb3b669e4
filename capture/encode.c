/* encode.c: from calls to bytes. docs/reference/internals/trace.md says what the bytes mean.
 *
 * The common path is tailrace_call_end(): find the shape among those defined, compare its words,
 * store two truncated integers and then, last, the two bytes that make the record exist.
 */
#include <string.h>

#include "bytes.h"
#include "places.h"
#include "process.h"
#include "record.h"
#include "system.h"

enum { SHAPE_PROBES = 4, WORD_BYTES_MAX = 10 };

/* --- Shapes --- */

/* What a shape is of, beside its words. In numbers of one size: what is stored in small ones and
 * read as one large is waited for. */
struct call_key {
    unsigned function, class_number;
    uint32_t place;
};

/* Shapes of more than 255 words: the first 255, then more of them as long as there are any.
 * Payloads are written where they belong and not on the stack, which may be a small one. */
static bool define_long(struct stream *stream, unsigned number, const struct call_key *key,
                        const int64_t *words, unsigned count)
{
    for (unsigned from = 0; from < count; from += SHAPE_WORDS_MAX) {
        unsigned n = count - from < SHAPE_WORDS_MAX ? count - from : SHAPE_WORDS_MAX;
        uint8_t *at = encode_begin(stream, 24 + n * WORD_BYTES_MAX);
        if (!at)
            return false;
        *at++ = (uint8_t)number;
        at = put_u16(at, key->function);
        *at++ = from ? CLASS_MORE : CLASS_LONG;
        *at++ = (uint8_t)(from ? n : key->class_number);
        if (!from)
            at = put_varint(put_varint(at, key->place), count);
        at = put_words(at, words + from, n);
        encode_publish(stream, HEAD_DEFINE, at);
    }
    return true;
}

static bool define_short(struct stream *stream, unsigned number, const struct call_key *key,
                         const int64_t *words, unsigned count)
{
    uint8_t *at = encode_begin(stream, 16 + count * WORD_BYTES_MAX);
    if (!at)
        return false;
    *at++ = (uint8_t)number;
    at = put_u16(at, key->function);
    *at++ = (uint8_t)key->class_number;
    *at++ = (uint8_t)count;
    at = put_words(at, words, count);
    encode_publish(stream, HEAD_DEFINE, key->place ? put_varint(at, key->place) : at);
    return true;
}

static int64_t *long_words(struct stream *stream, unsigned number)
{
    if (!stream->long_words)
        stream->long_words = system_map_memory((SHAPES + 1) * sizeof *stream->long_words);
    return stream->long_words ? stream->long_words[number] : NULL;
}

/* Remembers what the shape number now stands for; shapes too long for that are left empty and
 * defined anew each time.
 */
static void remember(struct stream *stream, unsigned number, const struct call_key *key,
                     const int64_t *words, unsigned count)
{
    struct shape *shape = &stream->shapes[number];
    shape->key = 0;
    int64_t *place = count <= SHAPE_WORDS_NEAR  ? shape->words
                     : count <= SHAPE_WORDS_MAX ? long_words(stream, number)
                                                : NULL;
    if (!place)
        return;
    memcpy(place, words, count * sizeof *words);
    shape->key = shape_key(key->function, key->class_number, count, key->place);
}

/* The shape's number, 0 where the stream has no space. */
static unsigned define(struct stream *stream, unsigned number, const struct call_key *key,
                       const int64_t *words, unsigned count)
{
    if (!stream_has_named(stream, key->function))
        encode_name(stream, key->function);
    bool done = count > SHAPE_WORDS_MAX ? define_long(stream, number, key, words, count)
                                        : define_short(stream, number, key, words, count);
    if (!done)
        return 0;
    remember(stream, number, key, words, count);
    return number;
}

/* Always inline: where the number of words is a constant, comparing them takes no loop. */
static ALWAYS_INLINE bool shape_is(const struct stream *stream, unsigned number,
                                   struct call_key key, const int64_t *words, unsigned count)
{
    const struct shape *shape = &stream->shapes[number];
    if (count > SHAPE_WORDS_MAX ||
        shape->key != shape_key(key.function, key.class_number, count, key.place))
        return false;
    const int64_t *known = count <= SHAPE_WORDS_NEAR ? shape->words : stream->long_words[number];
    uint64_t difference = 0;
#pragma GCC unroll 8
    for (unsigned i = 0; i < count; i++)
        difference |= (uint64_t)(known[i] ^ words[i]);
    return !difference;
}

/* Multipliers are odd numbers without pattern; independent of each other, so the products overlap
 * in the processor. */
static inline unsigned shape_place(struct call_key key, const int64_t *words, unsigned count)
{
    static const uint64_t multipliers[8] = {
        0x9e3779b97f4a7c15u, 0xc2b2ae3d27d4eb4fu, 0x165667b19e3779f9u, 0xd6e8feb86659fd93u,
        0xa0761d6478bd642fu, 0xe7037ed1a0b428dbu, 0x8ebc6af09c88c6e3u, 0x589965cc75374cc3u,
    };
    uint64_t hash =
        (key.function * 31u + key.class_number) * multipliers[7] + key.place * multipliers[5];
    for (unsigned i = 0; i < count; i++)
        hash += (uint64_t)words[i] * (multipliers[i & 7] + 2 * (i >> 3));
    hash ^= hash >> 29;
    return (unsigned)((hash * multipliers[6] >> 32) * SHAPES >> 32) + 1;
}

/* No shape where the first probe fails: looks at the next places, then gives the place of one of
 * them away. */
static __attribute__((noinline)) unsigned find_or_define(struct stream *stream, unsigned place,
                                                         struct call_key key, const int64_t *words,
                                                         unsigned count)
{
    unsigned empty = 0;
    for (unsigned probe = 0; probe < SHAPE_PROBES; probe++) {
        unsigned number = (place - 1 + probe) % SHAPES + 1;
        if (shape_is(stream, number, key, words, count))
            return number;
        if (!empty && !stream->shapes[number].key)
            empty = number;
    }
    unsigned victim = (place - 1 + (unsigned)(stream->cursor >> 4) % SHAPE_PROBES) % SHAPES + 1;
    return define(stream, empty ? empty : victim, &key, words, count);
}

static inline unsigned recent_place(unsigned function, uint32_t place)
{
    return (function + place * 61u) % RECENT;
}

static EACH_CALL __attribute__((noinline)) unsigned
look_up_shape(struct stream *stream, struct call_key key, const int64_t *words, unsigned count)
{
    unsigned place = shape_place(key, words, count);
    if (!shape_is(stream, place, key, words, count))
        place = find_or_define(stream, place, key, words, count);
    stream->recent[recent_place(key.function, key.place)] = (uint8_t)place;
    return place;
}

/* The function's last shape, most of the time: a loop over a file repeats itself. */
static ALWAYS_INLINE unsigned find_shape(struct stream *stream, unsigned function, uint32_t place,
                                         unsigned class_number, const int64_t *words,
                                         unsigned count)
{
    struct call_key key = {function, class_number, place};
    unsigned recent = stream->recent[recent_place(function, place)];
    if (LIKELY(shape_is(stream, recent, key, words, count)))
        return recent;
    return look_up_shape(stream, key, words, count);
}

/* --- Calls --- */

static bool room(struct stream *stream)
{
    return stream->at < stream->limit || stream_grow(stream, 0);
}

/* An enter or leave at `time`. */
static bool write_edge(struct stream *stream, unsigned head, unsigned shape, uint64_t time)
{
    if (!shape || !room(stream))
        return false;
    uint64_t gap = time > stream->cursor ? time - stream->cursor : 0;
    unsigned bytes = octets_of(gap);
    stream->at[HEAD_BYTES] = (uint8_t)shape;
    store(stream->at + HEAD_BYTES + 1, gap);
    publish(stream->at, head, bytes);
    stream->at += HEAD_BYTES + 1 + bytes;
    stream->cursor += gap;
    return true;
}

static inline bool has_offset(unsigned class_number, const int64_t *words)
{
    return class_number == CLASS_FILE && (words[FILE_WORD_FLAGS] & FILE_OFFSET);
}

static inline int64_t *expected_of(struct stream *stream, const int64_t *words)
{
    return &stream->expected[(uint64_t)words[FILE_WORD_FILE] % OFFSET_SLOTS];
}

static inline void make_relative(const int64_t *expected, int64_t *words)
{
    words[FILE_WORD_OFFSET] = (int64_t)((uint64_t)words[FILE_WORD_OFFSET] - (uint64_t)*expected);
}

/* A file that was named last is written as "the latest": files that are opened, written and closed
 * one after another share their shapes. */
static inline void make_latest(const struct stream *stream, int64_t *words)
{
    bool latest = words[FILE_WORD_FILE] == (int64_t)stream->latest_file;
    words[FILE_WORD_FLAGS] |= latest ? FILE_LATEST : 0;
    words[FILE_WORD_FILE] = latest ? 0 : words[FILE_WORD_FILE];
}

static inline void advance(int64_t *expected, const int64_t *absolute)
{
    *expected =
        (int64_t)((uint64_t)absolute[FILE_WORD_OFFSET] + (uint64_t)absolute[FILE_WORD_BYTES]);
}

/* An enter or leave from what is known of an open call. */
static bool write_known(struct stream *stream, unsigned head, const struct open_call *open,
                        uint64_t time)
{
    int64_t words[KNOWN_WORDS_MAX];
    const int64_t *known = stream->known[open - stream->open];
    memcpy(words, known, sizeof words);
    bool offset = has_offset(open->class_number, words);
    if (offset)
        make_relative(expected_of(stream, words), words);
    if (open->class_number == CLASS_FILE)
        make_latest(stream, words);
    unsigned shape = find_shape(stream, open->function, open->place, open->class_number, words,
                                open->words_count);
    bool done = write_edge(stream, head, shape, time);
    if (done && offset && head == HEAD_LEAVE)
        advance(expected_of(stream, known), known);
    return done;
}

/* Writes the enter records of the calls around the one that just ended. */
static __attribute__((noinline)) bool enter_ancestors(struct stream *stream, unsigned depth)
{
    for (unsigned i = 1; i < depth; i++) {
        struct open_call *open = &stream->open[i];
        if (open->written)
            continue;
        open->place = place_of(stream, open->frame, open->function);
        if (!write_known(stream, HEAD_ENTER, open, open->begin))
            return false;
        open->written = 1;
    }
    return true;
}

static ALWAYS_INLINE bool write_call(struct stream *stream, unsigned shape, uint64_t begin,
                                     uint64_t end)
{
    if (UNLIKELY(!shape || (stream->at >= stream->limit && !stream_grow(stream, 0))))
        return false;
    uint64_t cursor = stream->cursor;
    begin = begin < cursor ? cursor : begin;
    end = end < begin ? begin : end;
    uint64_t gap = begin - cursor, duration = end - begin;
    unsigned gap_bytes = octets_of(gap), duration_bytes = octets_of(duration);
    uint8_t *at = stream->at;
    store(at + HEAD_BYTES, gap);
    store(at + HEAD_BYTES + gap_bytes, duration);
    publish(at, shape, gap_bytes | duration_bytes << 4);
    stream->at = at + HEAD_BYTES + gap_bytes + duration_bytes;
    stream->cursor = end;
    return true;
}

static ALWAYS_INLINE bool write_ended(struct stream *stream, unsigned depth, uint64_t end,
                                      unsigned class_number, const int64_t *words, unsigned count)
{
    struct open_call *open = &stream->open[depth];
    uint32_t place = open->written ? open->place : place_of(stream, open->frame, open->function);
    unsigned shape = find_shape(stream, open->function, place, class_number, words, count);
    if (LIKELY(!open->written))
        return write_call(stream, shape, open->begin, end);
    return write_edge(stream, HEAD_LEAVE, shape, end);
}

/* One by one: the caller has just stored them so, and to load two at once would wait for that. */
static ALWAYS_INLINE void copy_words(int64_t *words, const int64_t *from)
{
#pragma GCC unroll 8
    for (unsigned i = 0; i < FILE_WORDS; i++) {
        int64_t word = from[i];
        __asm__("" : "+r"(word));
        words[i] = word;
    }
}

static ALWAYS_INLINE bool write_file_ended(struct stream *stream, unsigned depth, uint64_t end,
                                           const int64_t *absolute)
{
    int64_t words[FILE_WORDS];
    copy_words(words, absolute);
    make_latest(stream, words);
    bool offset = has_offset(CLASS_FILE, words);
    int64_t *expected = expected_of(stream, absolute);
    if (offset)
        make_relative(expected, words);
    bool done = write_ended(stream, depth, end, CLASS_FILE, words, FILE_WORDS);
    if (done && offset)
        advance(expected, absolute);
    return done;
}

/* Apart from files, of which the number of words is known: what a call executes lies together. */
static __attribute__((noinline)) bool write_other_ended(struct stream *stream, unsigned depth,
                                                        uint64_t end, unsigned class_number,
                                                        const int64_t *words, unsigned count)
{
    return write_ended(stream, depth, end, class_number, words, count);
}

/* What was counted, as a call without a duration. */
static void write_count(struct stream *stream, unsigned function, unsigned class_number,
                        const int64_t *words, unsigned count)
{
    uint64_t now = clock_now();
    if (!enter_ancestors(stream, stream->depth + 1) ||
        !write_call(stream, find_shape(stream, function, 0, class_number, words, count), now, now))
        stream->header->lost++;
}

/* The slot then counts anew. */
void encode_buffered(struct stream *stream, struct buffered *slot)
{
    int64_t words[BUFFERED_WORDS] = {slot->op, slot->file, slot->calls, slot->bytes};
    if (!slot->calls)
        return;
    cost_counted(stream, slot->calls);
    slot->calls = 0;
    slot->bytes = 0;
    write_count(stream, slot->function, CLASS_BUFFERED, words, BUFFERED_WORDS);
}

void encode_counted(struct stream *stream, struct counted *counted)
{
    int64_t calls = __atomic_exchange_n(&counted->calls, 0, __ATOMIC_RELAXED);
    if (!calls)
        return;
    cost_counted(stream, (unsigned)calls);
    write_count(stream, counted->function, CLASS_COUNTED, &calls, 1);
}

void tailrace_count_more(struct stream *stream, struct counted *counted, unsigned function)
{
    process.write_counted = encode_counted;
    counted->function = (uint16_t)function;
    counted->most = COUNTED_CALLS;
    if ((counted->calls < COUNTED_CALLS && !stream->header->closed) || !stream_busy(stream))
        return;
    encode_counted(stream, counted);
    if (stream->header->closed)
        encode_end(stream); /* anew */
    stream_ready(stream);
}

static FEW_CALLS void lose(struct stream *stream, unsigned depth)
{
    stream->header->lost++;
    stream->leave_lost |= stream->open[depth].written;
}

/* The end of a call while nothing may be written: suppressed (silently), full, or taken for one
 * left by longjmp, and counted as lost then.
 */
static FEW_CALLS void end_unwritten(struct stream *stream, unsigned depth)
{
    if (stream->state == STREAM_GONE)
        return;
    if (stream->depth >= depth) {
        if (stream->state < 4)
            lose(stream, depth);
        stream->depth = depth - 1;
    }
    if (stream->counters && !stream->depth)
        tailrace_counters_start(stream->counters);
}

/* Calls inside this one that never ended: a longjmp or an exception left them. */
static FEW_CALLS void drop_deeper(struct stream *stream, unsigned depth)
{
    while (stream->depth > depth) {
        struct open_call *open = &stream->open[stream->depth];
        if (open->written && !write_known(stream, HEAD_LEAVE, open, stream->cursor))
            stream->leave_lost = true;
        stream->header->lost++;
        stream->depth--;
    }
}

void tailrace_drop_stale(struct stream *stream, uintptr_t frame)
{
    stream->state = STREAM_BUSY;
    unsigned depth = stream->depth;
    while (depth && (stream->open[depth].frame <= frame || depth >= NESTING_MAX))
        depth--;
    drop_deeper(stream, depth);
    if (stream->state == STREAM_BUSY)
        stream->state = STREAM_READY;
}

/* What surrounds and what was left inside the call is brought in order before its own record. */
static inline bool tidy(struct stream *stream, unsigned depth)
{
    if (UNLIKELY(stream->depth != depth))
        drop_deeper(stream, depth);
    return LIKELY(stream->open[depth - 1].written) || enter_ancestors(stream, depth);
}

static inline void count_again(struct stream *stream)
{
    if (UNLIKELY(stream->counters && !stream->depth))
        tailrace_counters_start(stream->counters);
}

static FEW_CALLS void write_due(struct stream *stream, uint64_t now)
{
    for (unsigned i = 0; now >= stream->clock_due && i < COUNTED_SLOTS; i++)
        encode_counted(stream, &stream->counted[i]);
    encode_due(stream, now);
}

/* Only outside every call: inside one, the enter of those around is perhaps not written yet. */
uint64_t tailrace_due_before(struct stream *stream, uint64_t now)
{
    if (stream->depth || stream->header->closed || !stream_busy(stream))
        return now;
    write_due(stream, now);
    stream_ready(stream);
    return clock_now();
}

void tailrace_call_end(struct stream *stream, unsigned depth, uint64_t end, unsigned class_number,
                       const int64_t *words, unsigned count)
{
    if (UNLIKELY(stream->state != STREAM_READY || stream->depth < depth)) {
        end_unwritten(stream, depth);
        return;
    }
    stream->busy_frame = (uintptr_t)&stream;
    stream->state = STREAM_BUSY;
    __asm__ volatile("" ::: "memory");
    if (UNLIKELY(!tidy(stream, depth) ||
                 !(class_number == CLASS_FILE
                       ? write_file_ended(stream, depth, end, words)
                       : write_other_ended(stream, depth, end, class_number, words, count))))
        lose(stream, depth);
    stream->depth = depth - 1;
    if (UNLIKELY(!--stream->end_in))
        cost_end(stream, end);
    if (UNLIKELY(end >= stream->due) && stream->state == STREAM_BUSY)
        write_due(stream, end);
    __asm__ volatile("" ::: "memory");
    if (LIKELY(stream->state == STREAM_BUSY))
        stream->state = STREAM_READY;
    count_again(stream);
}

void tailrace_call_forget(struct stream *stream, unsigned depth)
{
    if (stream->depth == depth)
        stream->depth = depth - 1;
    count_again(stream);
}

void tailrace_call_known(struct stream *stream, unsigned depth, unsigned class_number,
                         const int64_t *words, unsigned count)
{
    if (stream->state == STREAM_GONE || depth > NESTING_MAX + 1)
        return;
    struct open_call *open = &stream->open[depth];
    open->class_number = (uint8_t)class_number;
    open->words_count = (uint8_t)(count < KNOWN_WORDS_MAX ? count : KNOWN_WORDS_MAX);
    memcpy(stream->known[depth], words, open->words_count * sizeof *words);
}
