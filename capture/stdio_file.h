/* stdio_file.h: what the wrappers of STDIO share.
 *
 * A request is what the system is asked for. A call that the FILE's buffer serves is none: it is
 * counted for its file (struct buffered) and not timed. How many bytes a call moved between buffer
 * and system follows from what the buffer held before and after it, and from what the call itself
 * put or got:
 *
 *   written to the system = pending before + put - pending after
 *   read from the system  = got - available before + available after
 *
 * A call that may have to reach the system is timed from its begin (struct request). A print whose
 * length nobody knows is timed where less room is left than the longest print so far took, and a
 * quarter more; one that is longer still is recorded with its bytes and without a duration.
 */
#ifndef TAILRACE_STDIO_FILE_H
#define TAILRACE_STDIO_FILE_H

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "glibc.h"
#include "wrap.h"

/* --- The FILE --- */

/* fileno() would set errno for a FILE that is none, as fmemopen's; open_memstream's has a number
 * that nobody set. */
static inline int stdio_descriptor(FILE *fp)
{
    enum { IS_FILE = 0x2000 };
    return LIKELY(fp->_flags & IS_FILE) ? fp->_fileno : -1;
}

static inline uint32_t stdio_file(FILE *fp)
{
    return descriptor_file(stdio_descriptor(fp));
}

/* The number of the file to record for, 0 where there is none. */
static inline uint32_t stdio_recorded(FILE *fp)
{
    return LIKELY(tailrace_recording) ? stdio_file(fp) : 0;
}

/* As glibc's libio.h has them, and gnulib uses them. */
enum { FLAG_UNBUFFERED = 2, FLAG_EOF = 0x10, FLAG_IN_BACKUP = 0x100, FLAG_APPENDS = 0x1000 };

/* Bytes that may be put without a look at the system; not positive where every call needs one. */
static inline int64_t stdio_room(FILE *fp)
{
    return fp->_IO_write_end - fp->_IO_write_ptr;
}

/* Whether the buffer may be used as the inlined putc_unlocked and getc_unlocked use it: the FILE is
 * one of bytes, and no other library stands between us and libc. */
extern bool stdio_direct;

static inline bool stdio_is_direct(FILE *fp)
{
    return LIKELY(stdio_direct && fp->_mode < 0);
}

/* Numbers, most of them, are moved without a call. */
static inline void stdio_copy(char *to, const char *from, size_t bytes)
{
    if (bytes == 4)
        memcpy(to, from, 4);
    else if (bytes == 8)
        memcpy(to, from, 8);
    else
        memcpy(to, from, bytes);
}

/* What fwrite does where there is room. */
static inline void stdio_put_bytes(FILE *fp, const void *data, size_t bytes)
{
    stdio_copy(fp->_IO_write_ptr, data, bytes);
    fp->_IO_write_ptr += bytes;
}

/* What fread does where there is as much. */
static inline void stdio_get_bytes(FILE *fp, void *data, size_t bytes)
{
    stdio_copy(data, fp->_IO_read_ptr, bytes);
    fp->_IO_read_ptr += bytes;
}

/* Bytes that were put and not written. */
static inline int64_t stdio_pending(FILE *fp)
{
    return fp->_IO_write_ptr - fp->_IO_write_base;
}

/* Whether characters lie in a buffer of their own, which are got first. */
static inline bool stdio_is_pushed_back(FILE *fp)
{
    return fp->_flags & FLAG_IN_BACKUP;
}

/* Bytes that were read and not got, the characters pushed back included. */
static inline int64_t stdio_available(FILE *fp)
{
    int64_t beside = stdio_is_pushed_back(fp) ? fp->_IO_save_end - fp->_IO_save_base : 0;
    return fp->_IO_read_end - fp->_IO_read_ptr + beside;
}

/* Of them, those that lie one after another at stdio_next(). */
static inline int64_t stdio_near(FILE *fp)
{
    return fp->_IO_read_end - fp->_IO_read_ptr;
}

static inline const char *stdio_next(FILE *fp)
{
    return fp->_IO_read_ptr;
}

/* The end of the last filling, and what comes next of it, under characters pushed back. */
static inline const char *stdio_filling_end(FILE *fp)
{
    return stdio_is_pushed_back(fp) ? fp->_IO_save_end : fp->_IO_read_end;
}

static inline const char *stdio_filling_next(FILE *fp)
{
    return stdio_is_pushed_back(fp) ? fp->_IO_save_base : fp->_IO_read_ptr;
}

/* Its length, right after it. */
static inline int64_t stdio_filling(FILE *fp)
{
    return fp->_IO_read_end - fp->_IO_read_base;
}

static inline bool stdio_is_buffered(FILE *fp)
{
    return !(fp->_flags & FLAG_UNBUFFERED);
}

static inline bool stdio_at_end(FILE *fp)
{
    return fp->_flags & FLAG_EOF;
}

/* Where the descriptor stands, if the FILE knows; else negative. */
static inline int64_t stdio_place(FILE *fp)
{
    return fp->_offset;
}

/* Where the bytes will go that were put and not written: a FILE that has read ahead goes back, and
 * one that appends goes to the end of the file, wherever that is. */
static inline int64_t stdio_pending_place(FILE *fp)
{
    int64_t place = fp->_flags & FLAG_APPENDS ? -1 : fp->_offset;
    return place < 0 ? place : place + (fp->_IO_write_base - fp->_IO_read_end);
}

extern char __libc_single_threaded __attribute__((weak, visibility("default")));

static inline bool stdio_is_alone(void)
{
    return &__libc_single_threaded && __libc_single_threaded;
}

/* --- Its lock --- */

/* What the buffer holds must not change between our look at it and the call: where there are other
 * threads the FILE is locked for both (the lock is recursive). Whether it was locked. */
static inline bool stdio_lock(FILE *fp)
{
    if (LIKELY(stdio_is_alone()))
        return false;
    flockfile(fp);
    return true;
}

static inline void stdio_unlock(FILE *fp, bool locked)
{
    if (UNLIKELY(locked))
        funlockfile(fp);
}

void stdio_release(void *fp);

/* `statement`, in which a thread may be cancelled: the lock would stay for ever. */
#define STDIO_GUARDED(fp, locked, statement)                                                       \
    do {                                                                                           \
        if (locked && pthread_key_create) {                                                        \
            pthread_cleanup_push(stdio_release, fp);                                               \
            statement;                                                                             \
            pthread_cleanup_pop(0);                                                                \
        } else {                                                                                   \
            statement;                                                                             \
        }                                                                                          \
    } while (0)

/* --- Calls that are counted --- */

struct buffered *stdio_take_slot(uint32_t file, enum file_op op);

/* The thread's count for the file, NULL where nothing is to be recorded. */
static inline struct buffered *stdio_slot(uint32_t file, enum file_op op)
{
    struct stream *stream = tailrace_stream;
    if (LIKELY(stream && stream->state == STREAM_READY)) {
        struct buffered *slot = &stream->buffered[BUFFERED_SLOT(file, op)];
        if (LIKELY(slot->file == file && slot->op == op))
            return slot;
    }
    return stdio_take_slot(file, op);
}

void stdio_write_slot(struct buffered *slot);

static inline void stdio_count_in(struct buffered *slot, enum function function, int64_t bytes)
{
    if (UNLIKELY(!slot))
        return;
    slot->function = (uint16_t)function;
    slot->bytes += bytes;
    if (UNLIKELY(++slot->calls >= tailrace_stream->buffered_max))
        stdio_write_slot(slot);
}

static inline void stdio_count(uint32_t file, enum file_op op, enum function function,
                               int64_t bytes)
{
    stdio_count_in(stdio_slot(file, op), function, bytes);
}

/* Where the count will be, looked for before the FILE is locked: what comes after that waits for it.
 * A signal handler may give the place away meanwhile, so that it is looked at again. */
static inline struct buffered *stdio_expected(uint32_t file, enum file_op op)
{
    struct stream *stream = tailrace_stream;
    return LIKELY(stream && stream->state == STREAM_READY)
               ? &stream->buffered[BUFFERED_SLOT(file, op)]
               : NULL;
}

static inline void stdio_count_expected(struct buffered *expected, uint32_t file, enum file_op op,
                                        enum function function, int64_t bytes)
{
    if (LIKELY(expected && expected->file == file && expected->op == op))
        stdio_count_in(expected, function, bytes);
    else
        stdio_count(file, op, function, bytes);
}

void stdio_longer(struct buffered *slot, int64_t bytes);

/* A call whose length was not known before. */
static inline void stdio_count_unforeseen(struct buffered *slot, enum function function,
                                          int64_t bytes)
{
    if (UNLIKELY(slot && bytes > slot->longest))
        stdio_longer(slot, bytes);
    stdio_count_in(slot, function, bytes);
}

/* … and that reached the system though there seemed to be room: `pending` is what the buffer held
 * before, `result` what the print returned. */
void stdio_put_unforeseen(enum function function, FILE *fp, uint32_t file, int64_t pending,
                          int result);

/* --- Calls that may reach the system --- */

struct request {
    struct call call;
    struct stream *stream; /* NULL: not timed */
    FILE *fp;
    uint32_t file;
    uint16_t function;
    bool timed, at_end;
    int64_t pending, pending_place, available, place;
    const char *filling_next, *filling_end;
};

/* What the buffer holds, without the time. */
static inline void stdio_look(struct request *request, enum function function, FILE *fp,
                              uint32_t file)
{
    request->stream = NULL;
    request->fp = fp;
    request->file = file;
    request->function = (uint16_t)function;
    request->timed = false;
    request->at_end = stdio_at_end(fp);
    request->pending = stdio_pending(fp);
    request->pending_place = stdio_pending_place(fp);
    request->available = stdio_available(fp);
    request->place = stdio_place(fp);
    request->filling_next = stdio_filling_next(fp);
    request->filling_end = stdio_filling_end(fp);
}

/* Whether the buffer was filled anew since, if less than the whole of it was got. */
static inline bool stdio_is_refilled(const struct request *request)
{
    return stdio_filling_end(request->fp) != request->filling_end ||
           stdio_filling_next(request->fp) < request->filling_next;
}

/* … and with it. */
void stdio_begin(struct request *request, enum function function, FILE *fp, uint32_t file);

/* The same where the FILE will be used for this file no more; 0: for none that is recorded. */
void stdio_begin_last(struct request *request, enum function function, FILE *fp, uint32_t file);

/* The call ended: it put, or got, so many bytes. */
void stdio_put(struct request *request, int64_t bytes, int error);
void stdio_got(struct request *request, int64_t bytes, int error);

/* Where the descriptor stands, from the kernel; negative where it has no place. */
int64_t stdio_system_place(FILE *fp);

/* The same of a call that does not say how many it got. The descriptor stood at `place` before; if
 * that is not known, what is gone from the buffer tells, if the call took less than a whole one. */
void stdio_got_unknown(struct request *request, int64_t place, int error);

/* A change of position, which may write what is pending and, so that the next read begins at a
 * whole block, read if it seeks: those are requests of their own without a duration, before the
 * call with its time. */
void stdio_sought(struct request *request, bool seeks, int flags, int64_t offset, int error);

/* It had nothing to do in the system. */
void stdio_forget(struct request *request);

/* A call that writes what is pending and does nothing else: if anything was, it is a request. */
void stdio_flushed(struct request *request, int error);

/* The FILE is gone, or another file's: what was pending became a request without a duration. */
void stdio_closed(struct request *request, int error);

/* A call that writes what is pending in every FILE: a request for each, of which the largest has
 * the time. */
struct stdio_pending_file {
    uint32_t file;
    int64_t bytes;
};
enum { STDIO_FILES_MAX = 32 };
struct stdio_all {
    struct request request;
    unsigned count;
    struct stdio_pending_file found[STDIO_FILES_MAX];
};
void stdio_all_begin(struct stdio_all *all, enum function function);
void stdio_all_end(struct stdio_all *all, int error);

/* A short count or EOF is an error only where the FILE says so. */
#define ERROR_IF(failed) ((failed) && ferror_unlocked(fp) ? errno : 0)

#endif
