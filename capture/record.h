/* record.h: how a wrapper records one call.
 *
 *   struct call call;
 *   struct stream *stream = call_begin(&call, FUNCTION_pwrite);
 *   ssize_t result = real_pwrite(...);
 *   if (stream) { int64_t words[FILE_WORDS] = {...}; call_end(stream, &call, CLASS_FILE, words,
 * FILE_WORDS); }
 *
 * A call inside which others may be recorded (MPI-IO, MPI_Wait) says what it knows before it goes
 * on, so that the record of its beginning can be written when, and only when, something nested
 * comes:
 *
 *   if (stream) call_known(stream, &call, CLASS_FILE, words, FILE_WORDS);
 *
 * Without call_known such a record says CLASS_PLAIN. A call that should leave no record after all
 * (nothing happened, say) ends with call_forget(). Every call_begin() that returned a stream needs
 * exactly one call_end() or call_forget().
 *
 * `struct call` must be a local variable of the wrapper: by its address the recorder sees that an
 * outer call was left by longjmp or by an exception. A call inside another therefore needs a stack
 * frame of its own.
 *
 * The words are those of docs/reference/internals/trace.md with two differences made here, in one
 * place: an offset (flag FILE_OFFSET) is given absolute, and becomes relative when it is written;
 * and a file whose path is the latest in the stream is written as that (flag FILE_LATEST).
 *
 * The format is docs/reference/internals/trace.md. Nothing here allocates, locks or calls the
 * system on the common path; errno is preserved.
 */
#ifndef TAILRACE_RECORD_H
#define TAILRACE_RECORD_H

#include "stream.h"

enum call_class {
    CLASS_PLAIN,
    CLASS_FILE,
    CLASS_SEND,
    CLASS_RECEIVE,
    CLASS_SEND_RECEIVE,
    CLASS_COMPLETE,
    CLASS_COLLECTIVE,
    CLASS_START,
    CLASS_COMMUNICATOR,
    CLASS_ONE_SIDED,
    CLASS_CONTROL,
    CLASS_ON_REQUEST,
    CLASS_PROBE,
    CLASS_BUFFERED = 14,
    CLASS_COUNTED,
    CLASS_MORE = 254,
    CLASS_LONG = 255,
};

/* Class 1: op, flags, file, bytes, offset, error, comm. */
enum {
    FILE_WORD_OP,
    FILE_WORD_FLAGS,
    FILE_WORD_FILE,
    FILE_WORD_BYTES,
    FILE_WORD_OFFSET,
    FILE_WORD_ERROR,
    FILE_WORD_COMM,
    FILE_WORDS
};

/* Class 14: op (FILE_READ or FILE_WRITE), file, calls, bytes. */
enum {
    BUFFERED_WORD_OP,
    BUFFERED_WORD_FILE,
    BUFFERED_WORD_CALLS,
    BUFFERED_WORD_BYTES,
    BUFFERED_WORDS
};

enum file_op {
    FILE_OPEN,
    FILE_CLOSE,
    FILE_READ,
    FILE_WRITE,
    FILE_SYNC,
    FILE_SEEK,
    FILE_STAT,
    FILE_LOCK,
    FILE_TRUNCATE,
    FILE_MAP,
    FILE_UNLINK,
    FILE_RENAME,
    FILE_MAKE_DIRECTORY,
    FILE_SET_VIEW,
    FILE_METADATA,
    FILE_DROP, /* what is cached from the offset on */
};

enum file_flags {
    FILE_OFFSET = 1,
    FILE_COLLECTIVE = 2,
    FILE_STARTS = 4,
    FILE_CREATES = 8,
    FILE_ORDERED = 16,
    FILE_LATEST = 32, /* encode.c alone sets it */
    FILE_APPENDS = 64,
};

/* Heads of the records that are no calls. */
enum head {
    HEAD_DEFINE = 240,
    HEAD_CLOCK,
    HEAD_NAME,
    HEAD_PATH,
    HEAD_COMMUNICATOR,
    HEAD_ENTER,
    HEAD_LEAVE,
    HEAD_META,
    HEAD_NOTE,
    HEAD_COUNTERS,
    HEAD_END,
    HEAD_WAIT,
    HEAD_MODULE,
    HEAD_PLACE,
    HEAD_PATH_BESIDE,
    HEAD_RENAMED,
};

/* Aligned as return addresses are, from which places.h counts whole words to its address. */
struct call {
    _Alignas(uintptr_t) unsigned depth;
};

/* A signal handler must find the entry whole once depth covers it. */
static inline void open_call(struct stream *stream, struct open_call *open, uintptr_t frame,
                             unsigned function, uint64_t begin)
{
    open->frame = frame;
    open->function = (uint16_t)function;
    open->written = 0;
    open->class_number = CLASS_PLAIN;
    open->words_count = 0;
    open->begin = begin;
    stream->header->in_flight_function = function;
    stream->header->in_flight_begin = begin;
    __asm__ volatile("" ::: "memory");
}

/* In each wrapper of the core; MPI's are too many. */
#ifdef TAILRACE_CORE
#define CALL_BEGIN ALWAYS_INLINE
#else
#define CALL_BEGIN inline
#endif

/* Begins a call. Returns the thread's stream, or NULL where the call is not recorded (nothing is to
 * be ended then). */
static CALL_BEGIN struct stream *call_begin(struct call *call, unsigned function)
{
    struct stream *stream = tailrace_stream;
    if (UNLIKELY(!stream || stream->state != STREAM_READY)) {
        if (!tailrace_recording || !(stream = tailrace_stream_enter()))
            return NULL;
    }
    uint64_t entered = UNLIKELY(!--stream->begin_in) ? clock_now() : 0;
    uintptr_t frame = (uintptr_t)call;
    if (UNLIKELY(stream->open[stream->depth].frame <= frame || stream->depth >= NESTING_MAX))
        tailrace_drop_stale(stream, frame);
    if (UNLIKELY(!stream_has_named(stream, function)))
        tailrace_name_function(stream, function);
    if (UNLIKELY(stream->counters && !stream->depth))
        tailrace_counters_stop(stream->counters);
    uint64_t begin = clock_now();
    if (UNLIKELY(begin >= stream->due))
        begin = tailrace_due_before(stream, begin);
    if (UNLIKELY(entered))
        begin = tailrace_cost_begin(stream, entered, begin);
    unsigned depth = call->depth = stream->depth + 1;
    struct open_call *open = &stream->open[depth];
    open_call(stream, open, frame, function, begin);
    stream->depth = depth;
    __asm__ volatile("" ::: "memory");
    if (UNLIKELY(open->frame != frame)) /* a handler's calls used it before depth covered it */
        open_call(stream, open, frame, function, begin);
    return stream;
}

/* Says what is known of the call before it goes on. Words beyond KNOWN_WORDS_MAX are cut. */
static inline void call_known(struct stream *stream, struct call *call, unsigned class_number,
                              const int64_t *words, unsigned count)
{
    tailrace_call_known(stream, call->depth, class_number, words, count);
}

/* Ends the call and writes its record. */
static inline void call_end(struct stream *stream, struct call *call, unsigned class_number,
                            const int64_t *words, unsigned count)
{
    tailrace_call_end(stream, call->depth, clock_now(), class_number, words, count);
}

/* Ends the call without a record, unless something nested was recorded inside it. */
static inline void call_forget(struct stream *stream, struct call *call)
{
    if (UNLIKELY(stream->open[call->depth].written))
        tailrace_call_end(stream, call->depth, clock_now(), CLASS_PLAIN, NULL, 0);
    else
        tailrace_call_forget(stream, call->depth);
}

#endif
