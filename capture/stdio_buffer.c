/* stdio_buffer.c: what a FILE's buffer serves is counted, what reaches the system is a request. */
#define _GNU_SOURCE

#include "glibc.h"
#include "libdl.h"
#include "process.h"
#include "stdio_file.h"
#include "system.h"

void stdio_release(void *fp)
{
    funlockfile(fp);
}

/* What the buffers hold counts as written already, exit() being about to do so: what is put into
 * them from now on is written with them. */
static bool ended;

/* Where no FILE knows its place. */
enum { NOWHERE = -1 };

/* A request that was not foreseen: that it was made and with how many bytes is known, but not how
 * long it took. */
static void record_untimed(enum function function, uint32_t file, enum file_op op, int64_t bytes,
                           int64_t place, int error)
{
    struct call call;
    struct stream *stream = call_begin(&call, function);
    if (stream)
        end_file_call(stream, &call, stream->open[call.depth].begin, op, flags_of_place(place),
                      file, bytes, place, error);
}

/* --- Whose functions are behind ours --- */

bool stdio_direct;

/* Another preloaded library, a sanitizer say, that stands there must see every call. */
void stdio_prepare(void)
{
    static const enum function functions[] = {
        FUNCTION_fwrite, FUNCTION_fread,    FUNCTION_fputs,   FUNCTION_puts,
        FUNCTION_fgets,  FUNCTION_fputc,    FUNCTION_fgetc,   FUNCTION_putc,
        FUNCTION_getc,   FUNCTION_getdelim, FUNCTION_putchar, FUNCTION_getchar,
    };
    Dl_info libc, found;
    process.write_count = encode_buffered;
    stdio_direct = libdl.address((void *)gnu_get_libc_version, &libc);
    for (unsigned i = 0; i < sizeof functions / sizeof *functions; i++)
        stdio_direct = stdio_direct &&
                       libdl.address((void *)functions_real[functions[i]], &found) &&
                       found.dli_fbase == libc.dli_fbase;
}

/* --- Counts --- */

static uint32_t with_margin(int64_t bytes)
{
    bytes += bytes / 4;
    return bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
}

/* The first ones are taken to be no longer than a line. */
void stdio_longer(struct buffered *slot, int64_t bytes)
{
    slot->longest = bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
    if (with_margin(bytes) > slot->foreseen)
        slot->foreseen = with_margin(bytes);
}

void stdio_write_slot(struct buffered *slot)
{
    struct stream *stream = tailrace_stream;
    if (!slot->calls || !stream_busy(stream))
        return;
    if (slot->calls >= BUFFERED_ENOUGH && slot->longest)
        slot->foreseen = with_margin(slot->longest);
    uint32_t file = slot->file;
    int64_t bytes = slot->op == FILE_WRITE ? slot->bytes : 0;
    encode_buffered(stream, slot);
    if (stream->header->closed)
        encode_end(stream); /* anew */
    stream_ready(stream);
    if (ended && bytes)
        record_untimed((enum function)slot->function, file, FILE_WRITE, bytes, NOWHERE, 0);
}

struct buffered *stdio_take_slot(uint32_t file, enum file_op op)
{
    struct stream *stream = tailrace_stream;
    if (!stream || stream->state != STREAM_READY)
        stream = tailrace_stream_enter();
    if (!stream || stream->state != STREAM_READY)
        return NULL;
    struct buffered *slot = &stream->buffered[BUFFERED_SLOT(file, op)];
    if (slot->file != file || slot->op != op) {
        stdio_write_slot(slot);
        *slot = (struct buffered){.file = file, .op = (uint16_t)op, .foreseen = BUFFERED_LONGEST};
    }
    return slot;
}

/* Counts that stand in time beside the requests that they led to. */
static void write_counts(uint32_t file, unsigned enough)
{
    static const enum file_op ops[] = {FILE_READ, FILE_WRITE};
    struct stream *stream = tailrace_stream;
    if (!stream || stream->state != STREAM_READY)
        return;
    for (int i = 0; i < 2; i++) {
        struct buffered *slot = &stream->buffered[BUFFERED_SLOT(file, ops[i])];
        if (slot->file == file && slot->op == ops[i] && slot->calls >= enough)
            stdio_write_slot(slot);
    }
}

/* --- Requests --- */

void stdio_begin(struct request *request, enum function function, FILE *fp, uint32_t file)
{
    stdio_look(request, function, fp, file);
    write_counts(file, BUFFERED_ENOUGH);
    request->timed = true;
    request->stream = call_begin(&request->call, function);
}

void stdio_begin_last(struct request *request, enum function function, FILE *fp, uint32_t file)
{
    stdio_look(request, function, fp, file);
    if (file)
        write_counts(file, 1);
    else
        request->pending = 0;
    request->timed = true;
    request->stream = call_begin(&request->call, function);
}

/* A request by the way of the call, which goes on: its time is the call's. */
static void record_beside(struct request *request, enum file_op op, int64_t bytes, int64_t place)
{
    struct stream *stream = request->stream;
    unsigned depth = request->call.depth;
    if (bytes <= 0 || !stream)
        return;
    uint64_t begin = stream->open[depth].begin;
    stream->end_in++; /* what it costs is measured with the call, which has not ended at `begin` */
    end_file_call(stream, &request->call, begin, op, flags_of_place(place), request->file, bytes,
                  place, 0);
    if (stream->state != STREAM_READY || stream->depth != depth - 1)
        return;
    if (stream->counters && !stream->depth)
        tailrace_counters_stop(stream->counters);
    stream->open[depth].written = 0;
    stream->depth = depth;
}

static void record(struct request *request, uint64_t end, enum file_op op, int64_t bytes,
                   int64_t place, int error)
{
    if (!request->timed) {
        record_untimed(request->function, request->file, op, bytes, place, error);
    } else if (request->stream) {
        request->file = file_of_call(request->stream, &request->call, end,
                                     stdio_descriptor(request->fp), request->file);
        end_file_call(request->stream, &request->call, end, op, flags_of_place(place),
                      request->file, bytes, place, error);
    }
}

/* Where a request of so many bytes began, after which the descriptor stands where it does now. */
static int64_t begin_of(FILE *fp, int64_t bytes)
{
    int64_t end = stdio_place(fp);
    return bytes > 0 && end >= bytes ? end - bytes : NOWHERE;
}

void stdio_forget(struct request *request)
{
    if (request->timed && request->stream)
        call_forget(request->stream, &request->call);
}

/* What went from the buffer to the system in a call that put so many bytes. */
static int64_t written_of(const struct request *request, int64_t put)
{
    if (ended && stdio_is_buffered(request->fp))
        return 0;
    return request->pending + put - stdio_pending(request->fp);
}

void stdio_put(struct request *request, int64_t bytes, int error)
{
    uint64_t end = request->timed ? clock_now() : 0;
    int64_t put = bytes > 0 ? bytes : 0;
    int64_t written = written_of(request, put);
    if (error && written > put)
        written = put; /* what the buffer held is lost */
    if (written > 0 || error)
        record(request, end, FILE_WRITE, written > 0 ? written : 0, begin_of(request->fp, written),
               error);
    else
        stdio_forget(request);
    if (stdio_is_buffered(request->fp))
        stdio_count_unforeseen(stdio_slot(request->file, FILE_WRITE), request->function, put);
}

void stdio_put_unforeseen(enum function function, FILE *fp, uint32_t file, int64_t pending,
                          int result)
{
    struct request request;
    stdio_look(&request, function, fp, file);
    request.pending = pending;
    stdio_put(&request, result, result < 0 ? errno : 0);
}

static void count_got(const struct request *request, int64_t got)
{
    if (stdio_is_buffered(request->fp))
        stdio_count_unforeseen(stdio_slot(request->file, FILE_READ), request->function, got);
}

void stdio_got(struct request *request, int64_t bytes, int error)
{
    uint64_t end = request->timed ? clock_now() : 0;
    int64_t read = bytes - request->available + stdio_available(request->fp);
    if (read > 0 || error || (stdio_at_end(request->fp) && !request->at_end))
        record(request, end, FILE_READ, read > 0 ? read : 0, begin_of(request->fp, read), error);
    else
        stdio_forget(request);
    count_got(request, bytes);
}

int64_t stdio_system_place(FILE *fp)
{
    return system_call(SYS_lseek, stdio_descriptor(fp), 0, SEEK_CUR, 0, 0, 0);
}

void stdio_got_unknown(struct request *request, int64_t place, int error)
{
    uint64_t end = request->timed ? clock_now() : 0;
    int64_t read = stdio_is_refilled(request) ? stdio_filling(request->fp) : 0;
    if (place >= 0)
        read = stdio_system_place(request->fp) - place;
    int64_t got = request->available + read - stdio_available(request->fp);
    if (read > 0 || error || (stdio_at_end(request->fp) && !request->at_end))
        record(request, end, FILE_READ, read, begin_of(request->fp, read), error);
    else
        stdio_forget(request);
    count_got(request, got > 0 ? got : 0);
}

/* glibc moves within the buffer where the new place lies before the buffer's end; else it reads the
 * block around that place, perhaps the same one again. It always does after it has written what was
 * pending, which empties the buffer. */
static bool is_filled_by_seek(const struct request *request, int64_t written)
{
    return written > 0 || stdio_place(request->fp) != request->place ||
           stdio_filling_end(request->fp) != request->filling_end || !stdio_available(request->fp);
}

void stdio_sought(struct request *request, bool seeks, int flags, int64_t offset, int error)
{
    uint64_t end = clock_now();
    int64_t written = written_of(request, 0);
    if (!request->stream)
        return;
    if (!error)
        record_beside(request, FILE_WRITE, written, request->pending_place);
    int64_t filling = stdio_filling(request->fp);
    if (seeks && is_filled_by_seek(request, written))
        record_beside(request, FILE_READ, filling, begin_of(request->fp, filling));
    end_file_call(request->stream, &request->call, end, FILE_SEEK, flags, request->file, 0, offset,
                  error);
}

void stdio_flushed(struct request *request, int error)
{
    uint64_t end = clock_now();
    int64_t written = written_of(request, 0);
    if (written > 0 || error)
        record(request, end, FILE_WRITE, error ? 0 : written, begin_of(request->fp, written),
               error);
    else
        stdio_forget(request);
}

void stdio_closed(struct request *request, int error)
{
    if (!error && !ended)
        record_beside(request, FILE_WRITE, request->pending, request->pending_place);
}

/* --- All FILEs --- */

typedef struct iterator *position; /* of libio's list of FILEs */

static void add_pending(struct stdio_pending_file *found, unsigned *count, FILE *fp)
{
    int64_t bytes = fp ? stdio_pending(fp) : 0;
    int descriptor = fp ? stdio_descriptor(fp) : -1;
    if (bytes <= 0 || descriptor < 0 || *count >= STDIO_FILES_MAX)
        return;
    uint32_t file = stdio_file(fp);
    if (file)
        found[(*count)++] = (struct stdio_pending_file){file, bytes};
}

/* libio's own list, by the functions that it has for that. */
static unsigned find_pending(struct stdio_pending_file found[STDIO_FILES_MAX])
{
    position (*first)(void) = (position (*)(void))libdl.symbol(RTLD_DEFAULT, "_IO_iter_begin");
    position (*next)(position) =
        (position (*)(position))libdl.symbol(RTLD_DEFAULT, "_IO_iter_next");
    FILE *(*file)(position) = (FILE * (*)(position)) libdl.symbol(RTLD_DEFAULT, "_IO_iter_file");
    void (*lock)(void) = (void (*)(void))libdl.symbol(RTLD_DEFAULT, "_IO_list_lock");
    void (*unlock)(void) = (void (*)(void))libdl.symbol(RTLD_DEFAULT, "_IO_list_unlock");
    unsigned count = 0;
    if (!first || !next || !file || !lock || !unlock)
        return 0;
    lock();
    for (position at = first(); at; at = next(at))
        add_pending(found, &count, file(at));
    unlock();
    return count;
}

void stdio_all_begin(struct stdio_all *all, enum function function)
{
    all->count = ended ? 0 : find_pending(all->found);
    for (unsigned i = 0; i < all->count; i++)
        write_counts(all->found[i].file, BUFFERED_ENOUGH);
    all->request.function = (uint16_t)function;
    all->request.timed = all->count > 0;
    all->request.stream = all->count ? call_begin(&all->request.call, function) : NULL;
}

void stdio_all_end(struct stdio_all *all, int error)
{
    uint64_t end = clock_now();
    unsigned most = 0;
    for (unsigned i = 1; i < all->count; i++)
        most = all->found[i].bytes > all->found[most].bytes ? i : most;
    for (unsigned i = 0; i < all->count && !error; i++) {
        all->request.file = all->found[i].file;
        if (i != most)
            record_beside(&all->request, FILE_WRITE, all->found[i].bytes, NOWHERE);
    }
    if (all->count && all->request.stream)
        end_file_call(all->request.stream, &all->request.call, end, FILE_WRITE, 0,
                      all->found[most].file, error ? 0 : all->found[most].bytes, NOWHERE, error);
}

/* exit() writes what the buffers hold after our last look: with its bytes, but nobody sees how long
 * it takes. */
void stdio_process_ends(void)
{
    struct stdio_pending_file found[STDIO_FILES_MAX];
    unsigned count = tailrace_recording ? find_pending(found) : 0;
    for (unsigned i = 0; i < count; i++) {
        write_counts(found[i].file, 1);
        record_untimed(FUNCTION_fflush, found[i].file, FILE_WRITE, found[i].bytes, NOWHERE, 0);
    }
    ended = true;
}
