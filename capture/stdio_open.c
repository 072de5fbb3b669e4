/* stdio_open.c: FILEs opened, closed, flushed and positioned. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>

#include "process.h"
#include "stdio_file.h"

/* --- Opening --- */

static const char temporary[] = "<temporary file>";

static void end_open(struct stream *stream, struct call *call, FILE *fp, const char *path,
                     const char *mode)
{
    uint64_t end = clock_now();
    int error = fp ? 0 : errno;
    uint32_t file = descriptor_opened(fp ? stdio_descriptor(fp) : -1,
                                      path == temporary ? NO_DIRECTORY : AT_FDCWD, path, error);
    file = fp ? file_of_call(stream, call, end, stdio_descriptor(fp), file) : file;
    unsigned creates = strpbrk(mode, "wa") ? FILE_CREATES : 0;
    unsigned appends = strchr(mode, 'a') ? FILE_APPENDS : 0;
    end_file_call(stream, call, end, FILE_OPEN, creates | appends, file, 0, 0, error);
    if (error)
        errno = error;
}

static FILE *end_any_open(struct stream *stream, struct call *call, FILE *fp, const char *path,
                          const char *mode)
{
    if (stream)
        end_open(stream, call, fp, path, mode);
    else if (fp)
        descriptor_set(stdio_descriptor(fp), DESCRIPTOR_UNKNOWN);
    return fp;
}

#define OPEN(name, parameters, arguments, path, mode)                                              \
    TAILRACE_EXPORT FILE *name parameters                                                          \
    {                                                                                              \
        if (!tailrace_recording)                                                                   \
            return REAL(name) arguments;                                                           \
        struct call call;                                                                          \
        struct stream *stream = call_begin(&call, FUNCTION_##name);                                \
        return end_any_open(stream, &call, REAL(name) arguments, path, mode);                      \
    }
OPEN(fopen, (const char *restrict path, const char *restrict mode), (path, mode), path, mode)
OPEN(fopen64, (const char *restrict path, const char *restrict mode), (path, mode), path, mode)
OPEN(tmpfile, (void), (), temporary, "w")
OPEN(tmpfile64, (void), (), temporary, "w")

/* --- Closing --- */

/* What is known of the FILE's descriptor, forgotten before the descriptor is closed; 0 where
 * nothing is recorded. */
static uint32_t forget(FILE *fp)
{
    if (!tailrace_recording)
        return 0;
    int descriptor = stdio_descriptor(fp);
    uint32_t file = descriptor_entry(descriptor);
    if (file != DESCRIPTOR_UNKNOWN)
        descriptor_set(descriptor, DESCRIPTOR_UNKNOWN);
    return file > DESCRIPTOR_IGNORED ? file : 0;
}

/* What the close writes is a request whose time is the close's. */
TAILRACE_EXPORT int fclose(FILE *fp)
{
    uint32_t file = forget(fp);
    if (!file)
        return REAL(fclose)(fp);
    struct request request;
    stdio_begin_last(&request, FUNCTION_fclose, fp, file);
    int result = REAL(fclose)(fp);
    uint64_t end = clock_now();
    stdio_closed(&request, result);
    if (request.stream)
        end_file_call(request.stream, &request.call, end, FILE_CLOSE, 0, file, 0, 0,
                      ERROR_OF_RESULT);
    return result;
}

TAILRACE_EXPORT int fcloseall(void)
{
    if (!tailrace_recording)
        return REAL(fcloseall)();
    struct stdio_all all;
    stdio_all_begin(&all, FUNCTION_fcloseall);
    int result = REAL(fcloseall)();
    stdio_all_end(&all, ERROR_OF_RESULT);
    descriptors_reset(0, UINT32_MAX);
    return result;
}

/* Without a path only the mode changes, and the file stays. */
static uint32_t file_until_now(FILE *fp, const char *path)
{
    return path ? forget(fp) : stdio_file(fp);
}

#define REOPEN(name)                                                                               \
    TAILRACE_EXPORT FILE *name(const char *restrict path, const char *restrict mode,               \
                               FILE *restrict fp)                                                  \
    {                                                                                              \
        if (!tailrace_recording)                                                                   \
            return REAL(name)(path, mode, fp);                                                     \
        struct request request;                                                                    \
        stdio_begin_last(&request, FUNCTION_##name, fp, file_until_now(fp, path));                 \
        FILE *result = REAL(name)(path, mode, fp);                                                 \
        stdio_closed(&request, 0);                                                                 \
        if (path)                                                                                  \
            return end_any_open(request.stream, &request.call, result, path, mode);                \
        stdio_forget(&request);                                                                    \
        return result;                                                                             \
    }
REOPEN(freopen)
REOPEN(freopen64)

TAILRACE_EXPORT int pclose(FILE *fp)
{
    forget(fp);
    return REAL(pclose)(fp);
}

/* --- Flushing --- */

/* Of a FILE that was read from it moves the descriptor back to where reading stopped. */
static int flush(enum function function, FILE *fp, uint32_t file, bool locks)
{
    struct request request;
    int result;
    bool locked = locks && stdio_lock(fp);
    int64_t available = stdio_available(fp);
    stdio_begin(&request, function, fp, file);
    STDIO_GUARDED(fp, locked, result = REAL(fflush_unlocked)(fp));
    if (available && !request.pending)
        stdio_sought(&request, false, 0, 0, ERROR_OF_RESULT);
    else
        stdio_flushed(&request, ERROR_OF_RESULT);
    stdio_unlock(fp, locked);
    return result;
}

#define FLUSH(name, locks)                                                                         \
    TAILRACE_EXPORT int name(FILE *fp)                                                             \
    {                                                                                              \
        uint32_t file = fp ? stdio_recorded(fp) : 0;                                               \
        if (file)                                                                                  \
            return flush(FUNCTION_##name, fp, file, locks);                                        \
        if (fp || !tailrace_recording)                                                             \
            return REAL(name)(fp);                                                                 \
        struct stdio_all all;                                                                      \
        stdio_all_begin(&all, FUNCTION_##name);                                                    \
        int result = REAL(name)(fp);                                                               \
        stdio_all_end(&all, ERROR_OF_RESULT);                                                      \
        return result;                                                                             \
    }
FLUSH(fflush, true)
FLUSH(fflush_unlocked, false)

/* Another buffer, or none: what the old one holds may be written. */
#define SET_BUFFER(type, name, parameters, call)                                                   \
    TAILRACE_EXPORT type name parameters                                                           \
    {                                                                                              \
        struct request request;                                                                    \
        uint32_t file = stdio_recorded(fp);                                                        \
        if (file && stdio_pending(fp) > 0)                                                         \
            stdio_begin(&request, FUNCTION_##name, fp, file);                                      \
        else                                                                                       \
            file = 0;                                                                              \
        call;                                                                                      \
        if (file)                                                                                  \
            stdio_flushed(&request, 0);                                                            \
        SET_BUFFER_RETURN_##type;                                                                  \
    }
#define SET_BUFFER_RETURN_int return result
#define SET_BUFFER_RETURN_void
SET_BUFFER(int, setvbuf, (FILE *restrict fp, char *restrict buffer, int mode, size_t bytes),
           int result = REAL(setvbuf)(fp, buffer, mode, bytes))
SET_BUFFER(void, setbuf, (FILE *restrict fp, char *restrict buffer), REAL(setbuf)(fp, buffer))
SET_BUFFER(void, setbuffer, (FILE *restrict fp, char *restrict buffer, size_t bytes),
           REAL(setbuffer)(fp, buffer, bytes))
SET_BUFFER(void, setlinebuf, (FILE * fp), REAL(setlinebuf)(fp))

/* --- Positioning --- */

#define POSITION(type, name, parameters, arguments, flags, offset, error)                          \
    TAILRACE_EXPORT type name parameters                                                           \
    {                                                                                              \
        uint32_t file = stdio_recorded(fp);                                                        \
        if (!file)                                                                                 \
            return REAL(name) arguments;                                                           \
        struct request request;                                                                    \
        type result;                                                                               \
        bool locked = stdio_lock(fp);                                                              \
        stdio_begin(&request, FUNCTION_##name, fp, file);                                          \
        STDIO_GUARDED(fp, locked, result = REAL(name) arguments);                                  \
        stdio_sought(&request, true, flags, offset, error);                                        \
        stdio_unlock(fp, locked);                                                                  \
        return result;                                                                             \
    }

#define SEEK(name, off)                                                                            \
    POSITION(int, name, (FILE * fp, off offset, int whence), (fp, offset, whence),                 \
             whence == SEEK_SET ? FILE_OFFSET : 0, whence == SEEK_SET ? offset : 0,                \
             ERROR_OF_RESULT)
SEEK(fseek, long)
SEEK(fseeko, off_t)
SEEK(fseeko64, off64_t)
POSITION(int, fsetpos, (FILE * fp, const fpos_t *place), (fp, place), 0, 0, result ? errno : 0)
POSITION(int, fsetpos64, (FILE * fp, const fpos64_t *place), (fp, place), 0, 0, result ? errno : 0)

/* Where the FILE knows its place, nobody is asked for it. */
#define TELL(type, name, parameters, arguments, flags, offset, error)                              \
    TAILRACE_EXPORT type name parameters                                                           \
    {                                                                                              \
        uint32_t file = stdio_recorded(fp);                                                        \
        if (!file || stdio_place(fp) >= 0)                                                         \
            return REAL(name) arguments;                                                           \
        struct call call;                                                                          \
        struct stream *stream = call_begin(&call, FUNCTION_##name);                                \
        type result = REAL(name) arguments;                                                        \
        if (stream)                                                                                \
            end_file_call(stream, &call, clock_now(), FILE_SEEK, flags, file, 0, offset, error);   \
        return result;                                                                             \
    }
#define TELL_OFFSET(name, off)                                                                     \
    TELL(off, name, (FILE * fp), (fp), result < 0 ? 0 : FILE_OFFSET, MOVED, ERROR_OF_RESULT)
TELL_OFFSET(ftell, long)
TELL_OFFSET(ftello, off_t)
TELL_OFFSET(ftello64, off64_t)
TELL(int, fgetpos, (FILE *restrict fp, fpos_t *restrict place), (fp, place), 0, 0,
     result ? errno : 0)
TELL(int, fgetpos64, (FILE *restrict fp, fpos64_t *restrict place), (fp, place), 0, 0,
     result ? errno : 0)

TAILRACE_EXPORT void rewind(FILE *fp)
{
    uint32_t file = stdio_recorded(fp);
    if (!file) {
        REAL(rewind)(fp);
        return;
    }
    struct request request;
    bool locked = stdio_lock(fp);
    stdio_begin(&request, FUNCTION_rewind, fp, file);
    STDIO_GUARDED(fp, locked, REAL(rewind)(fp));
    stdio_sought(&request, true, FILE_OFFSET, 0, 0);
    stdio_unlock(fp, locked);
}
