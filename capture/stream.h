/* stream.h: one thread's raw stream, and what the MPI part of capture may ask of the core.
 *
 * The format is docs/reference/internals/trace.md. How a wrapper records a call is record.h.
 */
#ifndef TAILRACE_STREAM_H
#define TAILRACE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clock.h"
#include "visibility.h"

enum {
    HEADER_BYTES = 4096,
    SHAPES = 239, /* shape numbers are 1 … 239 */
    SHAPE_WORDS_NEAR =
        15, /* words kept beside the shape's key; longer shapes keep theirs elsewhere */
    SHAPE_WORDS_MAX = 255, /* longer shapes are never remembered, always defined anew */
    KNOWN_WORDS_MAX = 14,  /* of a call whose end is not known yet */
    NESTING_MAX = 30,      /* open calls of one thread */
    RECENT = 2048,         /* functions whose last shape is tried first, by number */
    OFFSET_SLOTS = 64,     /* expected[file mod 64] */
    FUNCTIONS_MAX = 65536,
    BUFFERED_SLOTS = 32,    /* buffered[]: files and directions of STDIO */
    BUFFERED_CALLS = 1024,  /* so many counted calls make a record */
    BUFFERED_LONGEST = 256, /* a print is taken to be no longer until enough of them are known */
    BUFFERED_ENOUGH = 64,
    COUNTED_SLOTS = 96,      /* functions that are counted and not timed */
    COUNTED_CALLS = 1 << 16, /* so many counted calls of one make a record */
};

#define BUFFERED_SLOT(file, op) (((file) * 2 + (op)) % BUFFERED_SLOTS)

/* Layers of functions, as in the record "name". */
enum layer { LAYER_MPI, LAYER_MPI_IO, LAYER_POSIX, LAYER_STDIO, LAYER_ASYNCHRONOUS };

/* The header of a raw stream, mapped. */
struct stream_header {
    char magic[8];
    uint32_t version, process, thread, flags;
    uint64_t ticks_per_s;
    uint32_t clock, event_cost_ps;
    uint64_t start, lost, in_flight_begin, in_flight_function, full_at, closed;
    uint64_t own_ticks; /* what capture took of the thread's time so far */
};

enum { HEADER_FLAG_MAIN = 1 };

enum { FUNCTION_MPI_FIRST = 1000 }; /* numbers below are POSIX's and STDIO's */

/* A call between its begin and its end. It lives in the stream, not on the program's stack: a
 * longjmp or an exception out of a wrapped call must leave nothing dangling. */
struct open_call {
    uint64_t begin;
    uintptr_t frame; /* an address in the wrapper's stack frame: what tells a call that was left by
                        longjmp */
    uint16_t function;
    uint8_t written; /* its record "enter" is in the stream */
    uint8_t class_number;
    uint8_t words_count;
    uint32_t place; /* from where, once the record "enter" is written */
};
_Static_assert(sizeof(struct open_call) == 32, "two lie in a cache line");

/* A call on a file needs only the first cache line. */
struct __attribute__((aligned(64))) shape {
    uint64_t key; /* shape_key(); 0: empty */
    int64_t words[SHAPE_WORDS_NEAR];
};

/* Function (none is 0), class, number of words, and from where it is called, in one number: compared
 * at once. */
static inline uint64_t shape_key(unsigned function, unsigned class_number, unsigned count,
                                 uint32_t place)
{
    return function | class_number << 16 | count << 24 | (uint64_t)place << 32;
}

/* What a thread asked of a FILE's buffer since the last record of that (class "buffered"). */
struct buffered {
    uint32_t file; /* 0: none */
    uint16_t op, function;
    uint32_t calls;
    uint32_t longest;  /* bytes of the longest call whose length was not known before it */
    uint32_t foreseen; /* what the next one is taken to move at most */
    int64_t bytes;
};

/* How often a thread called a function that is counted and not timed, since the last record of that
 * (class "counted"). */
struct counted {
    uint32_t calls, most; /* at `most` the slow way is gone, the first time at once */
    uint16_t function;
};

struct counters;

/* What is known of the thread's waiting for a processor: processor.c. */
struct processor {
    uint64_t due;     /* ticks of the next sample */
    uint64_t sampled; /* ticks of the last one, 0 before the first, and the run delay then */
    uint64_t delay_ns;
    uint64_t waited_ns; /* of it, what no record holds yet */
    uint64_t cost;      /* ticks that a sample takes */
};

enum stream_state {
    STREAM_GONE = 0,  /* the memory of a forked child: the kernel wiped it (MADV_WIPEONFORK) */
    STREAM_READY = 1, /* the only state in which calls are recorded without further questions */
    STREAM_BUSY = 2,  /* a record is being written: a signal handler's calls are counted as lost */
    STREAM_FULL = 3,  /* no space: calls are counted as lost */
};

/* Calls of which every so many is timed: cost.c. */
struct cost_sample {
    uint64_t ticks, mean; /* of all, and of one lately */
    uint32_t timed;
    uint16_t interval;
};

struct cost {
    struct cost_sample begin, end, due; /* of those due each is timed */
    uint64_t rare; /* ticks of what is timed each time, and what they were at the last sample */
    uint64_t rare_seen;
    uint64_t counted; /* calls that were only counted */
};

struct stream {
    uint32_t state; /* enum stream_state; 4 more for every tailrace_suppress_begin() */
    uint32_t
        depth; /* open[depth] is the innermost open call; open[0] stands for the thread itself */
    uint64_t cursor; /* ticks reached by the records so far */
    uint8_t *at;     /* where the next record goes */
    uint8_t *limit;  /* a call record may start before this address */
    uint64_t due;    /* ticks at which the next record is due that is no call */
    struct stream_header *header;
    struct counters *counters; /* NULL unless asked for and available */
    uint32_t latest_file;      /* of the last record "path" in this stream */
    uint16_t begin_in, end_in; /* the so many-th call from now on is timed by cost.c */
    uint64_t next_token; /* number of the next request this thread starts: for the MPI part, who
                             alone counts it */
    uint32_t process;
    uint32_t thread;       /* index of the thread in the process */
    struct places *places; /* places.c: from where calls come; NULL before the first */
    uint32_t latest_start; /* from where the latest path starts: paths.c; 0: from nowhere known */
    uintptr_t busy_frame;  /* where on the stack the recorder is at work */
    struct open_call open[NESTING_MAX + 2];
    int64_t known[NESTING_MAX + 2][KNOWN_WORDS_MAX]; /* of each */
    int64_t expected[OFFSET_SLOTS];
    struct shape shapes[SHAPES + 1]; /* the first is none */
    uint8_t recent[RECENT];
    uint32_t buffered_max; /* counted calls that make a record */
    struct buffered buffered[BUFFERED_SLOTS];
    uintptr_t counting; /* frame of a counted call in which others may be made; 0: none */
    struct counted counted[COUNTED_SLOTS];
    /* What only the slow path needs. */
    struct stream *next; /* list of the process's streams */
    bool idle;           /* its thread has ended: the next one to begin goes on with it */
    void *owner;         /* the place of that thread: who has the same one has its stack */
    uint8_t *window;     /* the mapped part of the file: its address, size and place in the file */
    size_t window_bytes;
    size_t touched_bytes; /* of the window: so far `limit` goes, and the kernel has pages for it */
    uint64_t window_offset;
    uint64_t device, inode; /* the file must still be this one when it is opened again to grow */
    uint64_t lost_at_full;
    bool retry, leave_lost; /* full for want of a descriptor; a written enter has no leave */
    unsigned closing_passes;
    uint64_t clock_due; /* the earlier of this and processor.due is `due` */
    struct processor processor;
    struct cost cost;
    uint64_t named[FUNCTIONS_MAX / 64];
    uint64_t noted[64];
    uint32_t told_to_wait[8]; /* files of the last such writes, by number mod 8 (posix_data.c) */
    int64_t (*long_words)[SHAPE_WORDS_MAX];
    struct path_cache *paths; /* paths.c alone knows what is in it */
    size_t paths_bytes;
    size_t places_bytes;
    bool places_failed; /* there is no memory for them, or they are not looked for */
    char path[512];
};

static inline bool stream_has_named(const struct stream *stream, unsigned function)
{
    return stream->named[function / 64] >> function % 64 & 1;
}

/* Whether the innermost open call is one of MPI's. */
static inline bool stream_is_in_mpi(const struct stream *stream)
{
    return stream->open[stream->depth].function >= FUNCTION_MPI_FIRST;
}

/* The calling thread's stream, NULL before its first recorded call. */
extern TAILRACE_EXPORT_DATA __thread struct stream *tailrace_stream
    __attribute__((tls_model("initial-exec")));

/* Whether this process records (the gate's decision). Wrappers need not ask: call_begin() returns
 * NULL where it does not. */
extern TAILRACE_EXPORT_DATA int tailrace_recording;

/* --- For the MPI part (exported). All preserve errno. --- */

/* Names `count` functions from number `first` on (POSIX and STDIO have 1 … 999, MPI 1000 and up).
 * The arrays must stay valid. */
TAILRACE_EXPORT void tailrace_register_functions(unsigned first, unsigned count,
                                                 const char *const *names, const uint8_t *layers);

/* MPI_Init, before its call_begin(): this process is a rank, record from now on if the user wants
 * that at all (raw directory given, no shell or launcher). Returns whether the process records. */
TAILRACE_EXPORT bool tailrace_rank_starts(void);

/* The calling thread is the one that called MPI_Init: header flag bit 0 here and on no other stream
 * of the process. */
TAILRACE_EXPORT void tailrace_mark_main(void);

/* MPI_Finalize, or the end of a process that has not called it: what the kernel counted of the
 * process since tailrace_mark_main(). */
TAILRACE_EXPORT void tailrace_usage_ends(void);

/* A new file number for this path (made absolute against the working directory), its path record
 * written. */
TAILRACE_EXPORT uint32_t tailrace_file_open(const char *path);

/* A file number for a path that is named but not opened (MPI_File_delete, stat, a failed open): the
 * number of the same path's last such use by this thread, as a rule, else a new one. */
TAILRACE_EXPORT uint32_t tailrace_file_named(const char *path);

/* Record "meta": one key and value about the process, in this thread's stream and in those opened
 * later. */
TAILRACE_EXPORT void tailrace_meta(const char *key, const char *value);

/* Record "note", once per stream, key and text. */
TAILRACE_EXPORT void tailrace_note(const char *key, const char *text);

/* Any other record (240 … 250) with its payload of at most 65,535 bytes, e.g. "communicator". False
 * where nothing is recorded. */
TAILRACE_EXPORT bool tailrace_record(unsigned head, const void *payload, size_t bytes);

/* A clock record now (MPI_Init's end, MPI_Finalize's begin): the alignment of nodes wants one close
 * by. */
TAILRACE_EXPORT void tailrace_clock_record(void);

/* Between the two nothing of this thread is recorded nor counted as lost: capture's own messages
 * and files. They nest.
 */
TAILRACE_EXPORT void tailrace_suppress_begin(void);
TAILRACE_EXPORT void tailrace_suppress_end(void);

/* One sentence about capture itself on stderr, "tailrace: …", at most once per process and `once`
 * flag. */
TAILRACE_EXPORT void tailrace_say(int *once, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* --- Behind record.h (exported). --- */

/* The slow way into a call: opens the thread's stream; NULL where this call is not to be recorded.
 */
TAILRACE_EXPORT FEW_CALLS struct stream *tailrace_stream_enter(void);

/* At a function's first call: a reader knows its name then even if the call never ends. */
TAILRACE_EXPORT FEW_CALLS void tailrace_name_function(struct stream *stream, unsigned function);

/* At a call's begin: writes what is due before it, and returns the time after that. */
TAILRACE_EXPORT FEW_CALLS uint64_t tailrace_due_before(struct stream *stream, uint64_t now);

/* At a call's begin: what it took since `entered`; returns the time after that. */
TAILRACE_EXPORT FEW_CALLS uint64_t tailrace_cost_begin(struct stream *stream, uint64_t entered,
                                                       uint64_t begin);

/* A call was counted that is the first of its function, or one of so many that they are written. */
TAILRACE_EXPORT FEW_CALLS void tailrace_count_more(struct stream *stream, struct counted *counted,
                                                   unsigned function);

/* Leaves open calls that a longjmp left behind. */
TAILRACE_EXPORT FEW_CALLS void tailrace_drop_stale(struct stream *stream, uintptr_t frame);

/* Remembers what is known of an open call. */
TAILRACE_EXPORT void tailrace_call_known(struct stream *stream, unsigned depth,
                                         unsigned class_number, const int64_t *words,
                                         unsigned count);

/* Ends a call of which no record was begun. */
TAILRACE_EXPORT void tailrace_call_forget(struct stream *stream, unsigned depth);

/* Counting pauses while a call is open. */
TAILRACE_EXPORT void tailrace_counters_stop(struct counters *counters);
TAILRACE_EXPORT void tailrace_counters_start(struct counters *counters);

/* Writes the record of a call that ended at `end` ticks. */
TAILRACE_EXPORT EACH_CALL void tailrace_call_end(struct stream *stream, unsigned depth,
                                                 uint64_t end, unsigned class_number,
                                                 const int64_t *words, unsigned count);

#endif
