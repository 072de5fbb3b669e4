/* process.h: what capture knows about the process it is a guest of. Private to the core. */
#ifndef TAILRACE_PROCESS_H
#define TAILRACE_PROCESS_H

#include <stdatomic.h>
#include <sys/types.h>

#include "stream.h"

enum {
    NO_DIRECTORY = -1000000, /* instead of a directory's descriptor: the path is a name in angle brackets, not a path */
    META_BYTES = 160 * 1024, /* all keys and values of the process */
    FUNCTION_RANGES = 8,
    PATH_BYTES = 4096,
};

struct function_range {
    unsigned first, count;
    const char *const *names;
    const uint8_t *layers;
};

struct process {
    int id;
    bool started;       /* our constructor has run; until then nothing below is known */
    bool may_record;    /* the user wants it, and the process is no shell or launcher */
    bool all_processes; /* TAILRACE_PROCESSES=all: forked children too */
    bool main_marked;   /* MPI_Init said which thread is the main one */
    char directory[PATH_BYTES];
    char host[65];
    dev_t stderr_device; /* what file descriptor 2 was at the start: only that is ever written to */
    ino_t stderr_inode;
    atomic_flag lock; /* of the list of streams and of the metas */
    struct stream *streams;
    atomic_uint threads, next_stream, next_file;
    atomic_ulong lost; /* calls of threads that had no stream any more */
    unsigned event_cost_ps;
    struct function_range functions[FUNCTION_RANGES];
    unsigned function_ranges;
    size_t meta_bytes;
    char meta[META_BYTES]; /* key 0 value 0 … */
};

extern struct process process;

void process_lock(void);
void process_unlock(void);

/* The name and layer of a function; "function N" where nobody registered it. */
const char *process_function_name(unsigned function, uint8_t *layer);

/* Adds a meta to the process's list, replacing an earlier value of the same key. */
void process_add_meta(const char *key, const char *value);

/* In a forked child, before anything is recorded there. */
void process_forked(void);

/* --- stream.c --- */
struct stream *stream_open(void);
void stream_close(struct stream *stream);
void stream_finish(struct stream *stream);
bool stream_grow(struct stream *stream, size_t bytes);
void stream_use_memory(struct stream *stream, struct stream_header *header, void *window, size_t bytes);
void stream_set_limit(struct stream *stream);

/* --- records.c: the caller has set the stream busy, or is alone with it --- */
bool encode_record(struct stream *stream, unsigned head, const void *first, size_t first_bytes, const void *second,
                   size_t second_bytes);
void encode_clock(struct stream *stream);
void encode_metas(struct stream *stream);
void encode_end(struct stream *stream);
void encode_due(struct stream *stream); /* a clock record and its company; after the end, the end anew */
bool encode_note(struct stream *stream, const char *key, const char *text);

/* --- thread.c --- */
bool stream_busy(struct stream *stream); /* begins a section in which records are written; false where nothing may be */
void stream_ready(struct stream *stream);

/* --- calibrate.c: picoseconds that recording one call takes. --- */
unsigned calibrate_event_cost_ps(void);

/* --- counters.c --- */
struct counters;
struct counters *counters_open(void);
void counters_close(struct counters *counters);
void counters_describe(void);
const uint64_t *counters_useful(const struct counters *counters);

/* --- paths.c --- */
size_t path_cache_bytes(void);
uint32_t path_number(const char *absolute);
uint32_t path_number_named(const char *absolute);
void path_absolute(char *absolute, size_t bytes, int directory, const char *path);

#endif
