/* thread.c: which stream belongs to the calling thread, from its first recorded call to its end,
 * and across fork. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "glibc.h"
#include "places.h"
#include "process.h"
#include "record.h"
#include "system.h"
#include "thread.h"

enum {
    CLOSING_PASSES = 3, /* of the destructors of thread-specific data: close in the last but one,
                           others may still write */
    RETRY_EVERY = 256,  /* lost calls between two attempts to go on */
};

__thread struct stream *tailrace_stream __attribute__((tls_model("initial-exec")));
static __thread enum {
    THREAD_NEW,
    THREAD_OPENING,
    THREAD_WITHOUT,
    THREAD_ENDED
} thread_state __attribute__((tls_model("initial-exec")));
static pthread_key_t key;
static bool key_exists;

/* --- Its stream --- */

static void link_stream(struct stream *stream)
{
    process_lock();
    stream->next = process.streams;
    process.streams = stream;
    process_unlock();
}

static void unlink_stream(struct stream *stream)
{
    process_lock();
    for (struct stream **link = &process.streams; *link; link = &(*link)->next) {
        if (*link == stream) {
            *link = stream->next;
            break;
        }
    }
    process_unlock();
}

/* Threads that have it in the same place have their stack there, too. */
static void *place_of_thread(void)
{
    return &thread_state;
}

/* One whose thread has ended, of the calling thread's stack if there is one; NULL where there is
 * none. */
static struct stream *take_idle(void)
{
    void *self = place_of_thread();
    struct stream *found = NULL;
    process_lock();
    for (struct stream *stream = process.streams; stream; stream = stream->next)
        if (stream->idle && !stream->header->closed && (!found || stream->owner == self))
            found = stream;
    if (found)
        found->idle = false;
    process_unlock();
    if (found && found->owner != self)
        places_leave_stack(found);
    return found;
}

static struct stream *make_stream(bool of_main)
{
    struct stream *stream = stream_create(of_main);
    if (!stream)
        return NULL;
    encode_clock(stream);
    encode_metas(stream);
    link_stream(stream);
    stream->state = STREAM_READY;
    return stream;
}

/* A program without MPI runs from its begin, also where its main thread never makes a call and
 * nobody knows in which thread it will end: so that one has a stream as soon as any has. */
static void make_for_main(void)
{
    static atomic_flag made = ATOMIC_FLAG_INIT;
    if (!process.begun || process.main_marked || atomic_flag_test_and_set(&made))
        return;
    __atomic_store_n(&process.awaits_main, make_stream(true), __ATOMIC_RELEASE);
}

/* Ready, with its first records; NULL where its file cannot be made. A thread that is not the
 * process's first goes on with what another has left: to make a file for each of thousands took
 * longer than what they do. */
static struct stream *open_stream(void)
{
    bool is_main = system_thread() == process.id;
    struct stream *stream =
        is_main ? __atomic_exchange_n(&process.awaits_main, NULL, __ATOMIC_ACQ_REL) : take_idle();
    if (!is_main && !stream && !process.streams)
        make_for_main();
    if (!stream && (stream = make_stream(is_main)))
        stream->counters = counters_open();
    if (stream && is_main)
        encode_first_wait(stream);
    return stream;
}

/* Into a stream what a thread counted: its own, or another's that may never come to a record. */
static void write_counts(struct stream *into, struct stream *of)
{
    for (unsigned i = 0; process.write_count && i < BUFFERED_SLOTS; i++) {
        struct buffered counted = of->buffered[i];
        of->buffered[i].calls = 0;
        of->buffered[i].bytes = 0;
        process.write_count(into, &counted);
    }
    for (unsigned i = 0; process.write_counted && i < COUNTED_SLOTS; i++) {
        struct counted counted = of->counted[i];
        of->counted[i].calls = 0;
        process.write_counted(into, &counted);
    }
}

/* In a process that goes on (a late destructor may still write), records may follow: they replace
 * the end. */
static void finish_stream(struct stream *stream)
{
    write_counts(stream, stream);
    encode_end(stream);
    stream->header->closed = 1;
    if ((stream->state & 3) != STREAM_FULL)
        stream_trim(stream);
}

/* Nothing of it is the thread's own: it is in no call, and neither its waits nor what counters say
 * are in there. */
static bool may_go_on(const struct stream *stream)
{
    return stream->state == STREAM_READY && !stream->depth && !stream->counting &&
           !stream->counters && !stream->header->closed &&
           !(stream->header->flags & HEADER_FLAG_MAIN);
}

/* Its last moment is known, as the end that others have. */
static void leave_stream(struct stream *stream)
{
    write_counts(stream, stream);
    encode_clock(stream);
    stream->owner = place_of_thread();
    stream->closing_passes = 0;
    process_lock();
    stream->idle = true;
    process_unlock();
}

static void close_stream(struct stream *stream)
{
    finish_stream(stream);
    counters_close(stream->counters);
    stream->counters = NULL;
    unlink_stream(stream);
    stream_free(stream);
}

/* --- The end of a thread --- */

/* Libraries write from such destructors too, in no certain order: stay until the last but one pass.
 */
static void thread_ends(void *value)
{
    struct stream *stream = value;
    if (stream != tailrace_stream || stream->state == STREAM_GONE)
        return;
    if (++stream->closing_passes < CLOSING_PASSES && !pthread_setspecific(key, stream))
        return;
    thread_state = THREAD_ENDED;
    tailrace_stream = NULL;
    __asm__ volatile("" ::: "memory");
    if (may_go_on(stream))
        leave_stream(stream);
    else
        close_stream(stream);
}

/* --- Its beginning --- */

static void forget_stream(void)
{
    process_forked();
    tailrace_stream = NULL;
    thread_state = THREAD_NEW;
}

/* Not so in a child that shares its parent's memory, nor, mostly, in one that has a copy. */
static bool is_recorded(void)
{
    if (process_was_copied())
        forget_stream();
    return tailrace_recording && system_process() == process.id;
}

static struct stream *first_call(void)
{
    if (!is_recorded())
        return NULL;
    if (thread_state != THREAD_NEW) {
        atomic_fetch_add(&process.lost, 1);
        return NULL;
    }
    int saved = errno;
    thread_state = THREAD_OPENING;
    struct stream *stream = open_stream();
    thread_state = stream ? THREAD_NEW : THREAD_WITHOUT;
    tailrace_stream = stream;
    if (stream && key_exists)
        pthread_setspecific(key, stream);
    if (!stream)
        atomic_fetch_add(&process.lost, 1);
    errno = saved;
    return stream;
}

/* The memory was wiped by fork, and nobody told us. */
static struct stream *in_forked_child(void)
{
    forget_stream();
    return tailrace_recording ? first_call() : NULL;
}

/* --- A stream that is not ready --- */

bool thread_is_on_signal_stack(void)
{
    stack_t stack;
    return !system_call(SYS_sigaltstack, 0, (long)&stack, 0, 0, 0, 0) &&
           (stack.ss_flags & SS_ONSTACK);
}

/* A handler interrupted the recorder: its calls are lost. Unless it jumped out of it, and the
 * recorder's frame is gone.
 */
static struct stream *interrupted(struct stream *stream)
{
    char here;
    if ((uintptr_t)&here <= stream->busy_frame || thread_is_on_signal_stack()) {
        stream->header->lost++;
        return NULL;
    }
    stream->state = STREAM_READY;
    return stream;
}

static struct stream *without_space(struct stream *stream)
{
    uint64_t lost = ++stream->header->lost - stream->lost_at_full;
    if (!stream->retry || stream->leave_lost || lost % RETRY_EVERY)
        return NULL;
    if (!stream_grow(stream, 0))
        return NULL;
    stream->header->full_at = 0;
    stream->state = STREAM_READY;
    return NULL; /* this call is counted as lost; the next one is not */
}

struct stream *tailrace_stream_enter(void)
{
    struct stream *stream = tailrace_stream;
    if (!stream)
        return first_call();
    switch (stream->state) {
    case STREAM_GONE: return in_forked_child();
    case STREAM_READY: return stream;
    case STREAM_BUSY: return interrupted(stream);
    case STREAM_FULL: return without_space(stream);
    default: return NULL; /* suppressed */
    }
}

/* --- Sections in which records are written --- */

/* The thread's stream, opened if need be, in such a section; NULL where nothing is recorded. */
static struct stream *section(void)
{
    if (!tailrace_recording)
        return NULL;
    struct stream *stream = tailrace_stream;
    if (!stream || stream->state < STREAM_READY)
        stream = tailrace_stream_enter();
    return stream && stream_busy(stream) ? stream : NULL;
}

bool tailrace_record(unsigned head, const void *payload, size_t bytes)
{
    int saved = errno;
    struct stream *stream = section();
    if (!stream)
        return false;
    bool done = encode_record(stream, head, payload, bytes, NULL, 0);
    stream_ready(stream);
    errno = saved;
    return done;
}

void tailrace_clock_record(void)
{
    int saved = errno;
    struct stream *stream = section();
    if (!stream)
        return;
    encode_clock(stream);
    stream_ready(stream);
    errno = saved;
}

void tailrace_note(const char *key_text, const char *text)
{
    int saved = errno;
    struct stream *stream = section();
    if (!stream)
        return;
    encode_note(stream, key_text, text);
    stream_ready(stream);
    errno = saved;
}

void tailrace_meta(const char *key_text, const char *value)
{
    int saved = errno;
    process_add_meta(key_text, value);
    struct stream *stream = tailrace_stream;
    if (stream && stream_busy(stream)) {
        encode_record(stream, HEAD_META, key_text, strlen(key_text) + 1, value, strlen(value));
        stream_ready(stream);
    }
    errno = saved;
}

void tailrace_suppress_begin(void)
{
    if (!tailrace_recording)
        return;
    if (!tailrace_stream)
        tailrace_stream_enter();
    if (tailrace_stream && tailrace_stream->state != STREAM_GONE)
        tailrace_stream->state += 4;
}

void tailrace_suppress_end(void)
{
    if (tailrace_stream && tailrace_stream->state >= 4)
        tailrace_stream->state -= 4;
}

/* --- The process --- */

void tailrace_mark_main(void)
{
    char text[META_VALUE_BYTES];
    struct stream *own = tailrace_stream;
    if (!own || own->state == STREAM_GONE)
        return;
    process.main_marked = true;
    process_lock();
    for (struct stream *stream = process.streams; stream; stream = stream->next)
        stream->header->flags &= ~(uint32_t)HEADER_FLAG_MAIN;
    process_unlock();
    own->header->flags |= HEADER_FLAG_MAIN;
    own->processor.due = own->due = 0;
    filters_begin();
    if (tailrace_recording && usage_spell_begin(text, sizeof text))
        tailrace_meta("usage_begin", text);
}

static void filters_end(void)
{
    char text[FILTERS_VALUE_BYTES];
    if (filters_spell(FILTERS_WRITE, text, sizeof text))
        tailrace_meta("compressed", text);
    if (filters_spell(FILTERS_READ, text, sizeof text))
        tailrace_meta("decompressed", text);
}

void tailrace_usage_ends(void)
{
    char text[META_VALUE_BYTES];
    int saved = errno;
    if (!process.usage_ended && tailrace_recording && usage_spell_end(text, sizeof text))
        tailrace_meta("usage_end", text);
    if (!process.usage_ended && tailrace_recording)
        filters_end();
    if (!process.usage_ended && tailrace_recording && process.started && usage_children_left())
        tailrace_meta("children_left", "yes");
    process.usage_ended = true;
    errno = saved;
}

static void write_started(unsigned count)
{
    char text[16];
    process.started_written = count;
    snprintf(text, sizeof text, "%u", count);
    tailrace_meta("processes_started", text);
}

/* Written now and then: of a program that is killed at least half are known. */
void thread_started_process(void)
{
    if (!tailrace_recording || (tailrace_stream && stream_is_in_mpi(tailrace_stream)))
        return;
    unsigned count = atomic_fetch_add(&process.started, 1) + 1;
    if (!(count & (count - 1)))
        write_started(count);
}

/* Before a fork nothing is locked: the program's own handlers run then, which may write, or wait for
 * a thread that does. The child needs no list of streams, and finds the metas whole. */
void thread_prepare(void)
{
    key_exists = pthread_key_create && !pthread_key_create(&key, thread_ends);
    process_mark();
    glibc_at_fork(NULL, thread_started_process, forget_stream);
}

static void add_lost_elsewhere(struct stream *stream)
{
    stream->header->lost += atomic_exchange(&process.lost, 0);
}

static void take_counts(struct stream *own)
{
    process_lock();
    for (struct stream *stream = process.streams; stream; stream = stream->next)
        if (stream != own)
            write_counts(own, stream);
    process_unlock();
}

/* A thread that never used a file may be the one that ends the process, as Java's System.exit() has
 * one do: what there is to say of the others goes into a stream of its own. So does what the main
 * thread computed while others wrote, which may have ended before it. */
static struct stream *last_stream(void)
{
    bool others_only = !tailrace_stream && process.threads && thread_state == THREAD_NEW;
    return others_only ? first_call() : tailrace_stream;
}

/* The stream of a main thread that has made no call ends here, where it is another's to end the
 * process. */
static void end_for_main(void)
{
    struct stream *stream = __atomic_exchange_n(&process.awaits_main, NULL, __ATOMIC_ACQ_REL);
    if (!stream)
        return;
    encode_waits_of_main(stream);
    encode_end(stream);
}

/* Other threads may still run, but what they recorded is whole at any time. */
void thread_process_ends(void)
{
    if (!tailrace_recording)
        return;
    struct stream *own = last_stream();
    if (process.started != process.started_written)
        write_started(process.started);
    tailrace_usage_ends();
    end_for_main();
    process_lock();
    for (struct stream *stream = process.streams; stream; stream = stream->next)
        stream->header->closed = 1;
    process_unlock();
    if (!own || !stream_busy(own))
        return;
    add_lost_elsewhere(own);
    take_counts(own);
    finish_stream(own);
    stream_ready(own);
}

void thread_stop(void)
{
    struct stream *stream = tailrace_stream;
    tailrace_recording = 0;
    if (!stream || stream->state == STREAM_GONE)
        return;
    stream->retry = false;
    stream->state = (stream->state & ~3u) | STREAM_FULL;
}
