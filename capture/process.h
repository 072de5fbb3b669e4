/* process.h: what capture knows about the process it is a guest of. Private to the core. */
#ifndef TAILRACE_PROCESS_H
#define TAILRACE_PROCESS_H

#include <stdatomic.h>
#include <sys/types.h>

#include "bytes.h"
#include "stream.h"

enum {
    NO_DIRECTORY = -1000000, /* instead of a directory's descriptor: the path is a name in angle
                                brackets, not a path */
    META_BYTES = 160 * 1024, /* all keys and values of the process */
    FUNCTION_RANGES = 8,
    PATH_BYTES = 4096,
    META_VALUE_BYTES = 256,        /* of the short ones */
    FILTERS_VALUE_BYTES = 33 * 64, /* of each that filters.c knows */
    DIRECTORY_UNSURE = 1,          /* in directory_changes: it may change without our knowing */
};

struct function_range {
    unsigned first, count;
    const char *const *names;
    const uint8_t *layers;
};

struct process {
    int id;
    uint64_t begun; /* ticks, till the main thread's stream begins with them: a program without MPI
                       runs from here, whenever its first call is */
    uint64_t begun_delay_ns; /* what the main thread had waited for a processor by then */
    bool may_record;         /* the user wants it, and the process is no shell or launcher */
    bool all_processes;      /* TAILRACE_PROCESSES=all: forked children too */
    bool main_marked;        /* MPI_Init said which thread is the main one */
    bool usage_ended;        /* the end of the run has come: usage.c */
    int usage_thread;        /* the one that saw it begin */
    char directory[PATH_BYTES];
    char host[65];
    dev_t stderr_device; /* what file descriptor 2 was at the start: only that is ever written to */
    ino_t stderr_inode;
    atomic_flag lock; /* of the list of streams and of the metas */
    struct stream *streams;
    struct stream *awaits_main; /* the main thread's, which has made no call yet */
    atomic_uint threads, next_stream, next_file;
    atomic_uint started, started_written; /* processes that this one started */
    atomic_uint directory_changes;        /* how often the working directory may have changed */
    atomic_ulong lost;                    /* calls of threads that had no stream any more */
    unsigned event_cost_ps;
    unsigned count_cost; /* ticks that counting COUNTS_CALIBRATED calls takes */
    /* encode_buffered() and encode_counted(), which need thread.c, for thread.c; NULL before the
     * first call. */
    void (*write_count)(struct stream *stream, struct buffered *counted);
    void (*write_counted)(struct stream *stream, struct counted *counted);
    struct function_range functions[FUNCTION_RANGES];
    unsigned function_ranges;
    /* A child that another thread forks meanwhile finds the one that counts whole. */
    struct metas {
        size_t bytes;
        char text[META_BYTES]; /* key 0 value 0 … */
    } metas[2];
    atomic_uint metas_now;
};

extern struct process process;

void process_lock(void);
void process_unlock(void);
bool process_lock_comes_back(void);

/* The name and layer of a function; "function N" where nobody registered it. */
const char *process_function_name(unsigned function, uint8_t *layer);

static inline struct metas *process_metas(void)
{
    return &process.metas[process.metas_now];
}

/* Adds a meta to the process's list, replacing an earlier value of the same key. */
void process_add_meta(const char *key, const char *value);

/* Marks memory, once; and whether it is a copy that a fork made since, also one of which nobody told
 * us (a raw clone system call). */
void process_mark(void);
bool process_was_copied(void);

/* In a forked child, before anything is recorded there. */
void process_forked(void);

/* --- stream.c --- */
struct stream *
stream_create(bool of_main); /* the process's first thread: its time begins earlier */
void stream_trim(struct stream *stream);
void stream_free(struct stream *stream);
FEW_CALLS bool stream_grow(struct stream *stream, size_t bytes);
void stream_use_memory(struct stream *stream, struct stream_header *header, void *window,
                       size_t bytes);
void stream_set_limit(struct stream *stream);

/* --- records.c: the caller has set the stream busy, or is alone with it --- */
/* Where a payload of at most `bytes` goes, NULL where the stream has no space. */
static inline uint8_t *encode_begin(struct stream *stream, size_t bytes)
{
    bytes += HEAD_BYTES + 2;
    if (UNLIKELY(stream->limit < stream->at + bytes) && !stream_grow(stream, bytes))
        return NULL;
    return stream->at + HEAD_BYTES + 2;
}

/* The record exists once its payload, which ends here, is whole. */
static inline void encode_publish(struct stream *stream, unsigned head, uint8_t *end)
{
    uint8_t *payload = stream->at + HEAD_BYTES + 2;
    put_u16(stream->at + HEAD_BYTES, (unsigned)(end - payload));
    publish(stream->at, head, 0);
    stream->at = end;
}

bool encode_record(struct stream *stream, unsigned head, const void *first, size_t first_bytes,
                   const void *second, size_t second_bytes);
void encode_name(struct stream *stream, unsigned function);
void encode_clock(struct stream *stream);
void encode_counters(struct stream *stream); /* nothing where none are counted */
void encode_metas(struct stream *stream);
bool encode_note(struct stream *stream, const char *key, const char *text);

/* --- encode.c: likewise --- */
/* Nothing where none counted. */
void encode_buffered(struct stream *stream, struct buffered *slot);
void encode_counted(struct stream *stream, struct counted *counted);

/* --- due.c --- */
static inline void stream_set_due(struct stream *stream)
{
    uint64_t wait_due = stream->processor.due;
    stream->due = wait_due < stream->clock_due ? wait_due : stream->clock_due;
}

void encode_end(struct stream *stream);
/* A clock record and its company, or how long the thread waited for a processor; after the end, the
 * end anew. */
FEW_CALLS void encode_due(struct stream *stream, uint64_t now);

/* --- thread.c --- */
void thread_stop(void); /* for good; reads no clock and calls no system */
/* Begins a section in which records are written; false where nothing may be. */
static inline bool stream_busy(struct stream *stream)
{
    char here;
    if ((stream->state & 3) != STREAM_READY)
        return false;
    stream->busy_frame = (uintptr_t)&here;
    stream->state ^= STREAM_READY ^ STREAM_BUSY;
    __asm__ volatile("" ::: "memory");
    return true;
}

static inline void stream_ready(struct stream *stream)
{
    __asm__ volatile("" ::: "memory");
    if ((stream->state & 3) == STREAM_BUSY)
        stream->state ^= STREAM_READY ^ STREAM_BUSY;
}

/* --- calibrate.c: picoseconds that recording one call takes; ticks that counting many takes --- */
enum { COUNTS_CALIBRATED = 1024 };
unsigned calibrate_event_cost_ps(void);
unsigned calibrate_count_cost(void);

/* --- cost.c --- */
FEW_CALLS void cost_end(struct stream *stream, uint64_t end);
void cost_due(struct stream *stream, uint64_t since); /* the records that are due, each time */
/* Something long, each time: what it waits for a disk is in it, and for a processor is not. */
struct cost_begun {
    uint64_t ticks, delay_ns;
} cost_rare_begins(void);
void cost_rare_ends(struct stream *stream, struct cost_begun begun);
/* The same, where it is known for how long the thread ran. */
void cost_spent(struct stream *stream, uint64_t ran_ns);
void cost_counted(struct stream *stream, uint32_t calls);

/* --- counters.c --- */
struct counters;
struct counters *counters_open(void);
void counters_close(struct counters *counters);
void counters_describe(void);
const uint64_t *counters_useful(const struct counters *counters);

/* --- processor.c --- */
void processor_begins(void);                   /* the process begins, as far as is recorded */
void encode_first_wait(struct stream *stream); /* of a stream that begins with the process */
void encode_wait(struct stream *stream, bool last);
/* Of the main thread, by another one, all that it waited so far: it has made no call. */
void encode_waits_of_main(struct stream *stream);
void processor_describe(void);
bool processor_delay(uint64_t *delay_ns); /* for which the calling thread waited so far */
bool processor_delay_of(int thread, uint64_t *delay_ns); /* of this process */

/* --- usage.c: what the kernel counts of the process in the run. --- */
bool usage_spell_begin(char *text, size_t room); /* false where it is not known */
bool usage_spell_end(char *text, size_t room);
bool usage_children_left(void);
bool usage_spell_earlier(char *text, size_t room);

/* --- filters.c: what HDF5's filters do to chunks that it writes or has read. --- */
enum filters_way { FILTERS_WRITE, FILTERS_READ, FILTERS_WAYS };
/* The function that ours calls, once it was `target`. */
#define HIDDEN __attribute__((visibility("hidden")))
typedef const void *(*plugin_function)(void); /* H5PLget_plugin_info */
void *filters_compress2(void *target) HIDDEN;
void *filters_register(void *target) HIDDEN;
int tailrace_compress2(unsigned char *made, unsigned long *made_bytes, const unsigned char *taken,
                       unsigned long bytes, int level) HIDDEN;
int tailrace_register_filter(const void *filter_class) HIDDEN;
/* What HDF5 shall have in its place; NULL where that stays. */
void *filters_of_hdf5(void *filter_class) HIDDEN;
/* What HDF5 shall call in its place. */
plugin_function filters_plugin(plugin_function tells) HIDDEN;
void filters_begin(void); /* the run */
bool filters_spell(enum filters_way way, char *text, size_t room);

/* --- stolen.c: until now, by the host, of the processors that the thread may use. --- */
uint64_t stolen_ns(void); /* 0 where nobody knows */

/* --- paths.c --- */
/* Of a path that was opened, that is only named, and of what is open already (0 where that is no
 * file with a path). Relative paths start from the directory's descriptor. */
EACH_CALL uint32_t path_number(int directory, const char *path);
EACH_CALL uint32_t path_number_named(int directory, const char *path);
uint32_t path_number_found(int descriptor, bool is_deleted);
/* Records that the file got that name. */
void path_renamed(uint32_t file, int directory, const char *path);
/* Of a pipe that is open, by the path that a FIFO has; `otherwise` where it cannot be asked. */
uint32_t path_number_of_pipe(int descriptor, bool is_deleted, uint32_t otherwise);
void path_note(const char *key, int descriptor); /* its path as the text of a note */
/* The path of a file that was opened, spelled as in its record. */
void path_note_opened(const char *key, int directory, const char *path);
bool path_is_readable_after(const char *path, int error);
static inline bool path_is_readable(const char *path, int error)
{
    return LIKELY(!error) ? path != NULL : path_is_readable_after(path, error);
}
/* The working directory may be another one now, or from now on at any time (unseen). */
void paths_directory_changes(bool unseen);

/* --- restrict.c: the program asks the kernel for limits that capture must not run into --- */
enum restriction { RESTRICTION_NONE, RESTRICTION_CALLS, RESTRICTION_CLOCK };
enum restriction restriction_of(long number, const long arguments[6]);
void restrict_before(enum restriction restriction);
void restrict_after(enum restriction restriction);

#endif
