/* stdio_open.c: FILEs opened, closed, flushed and positioned. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>

#include "process.h"
#include "stdio_file.h"

/* --- Opening ------------------------------------------------------------------------------------------------- */

static const char temporary[] = "<temporary file>";

static void end_open(struct stream *stream, struct call *call, FILE *fp, const char *path, const char *mode)
{
    uint64_t end = clock_now();
    int error = fp ? 0 : errno;
    uint32_t file =
        descriptor_opened(fp ? stdio_descriptor(fp) : -1, path == temporary ? NO_DIRECTORY : AT_FDCWD, path);
    end_file_call(stream, call, end, FILE_OPEN, strpbrk(mode, "wa") ? FILE_CREATES : 0, file, 0, 0, error);
    if (error)
        errno = error;
}

static FILE *end_any_open(struct stream *stream, struct call *call, FILE *fp, const char *path, const char *mode)
{
    if (stream)
        end_open(stream, call, fp, path, mode);
    else if (fp)
        descriptor_set(stdio_descriptor(fp), DESCRIPTOR_UNKNOWN);
    return fp;
}

#define OPEN(name, parameters, arguments, path, mode)                                                                  \
    TAILRACE_EXPORT FILE *name parameters                                                                              \
    {                                                                                                                  \
        if (!tailrace_recording)                                                                                       \
            return REAL(name) arguments;                                                                               \
        struct call call;                                                                                              \
        struct stream *stream = call_begin(&call, FUNCTION_##name);                                                    \
        return end_any_open(stream, &call, REAL(name) arguments, path, mode);                                          \
    }
OPEN(fopen, (const char *restrict path, const char *restrict mode), (path, mode), path, mode)
OPEN(fopen64, (const char *restrict path, const char *restrict mode), (path, mode), path, mode)
OPEN(tmpfile, (void), (), temporary, "w")
OPEN(tmpfile64, (void), (), temporary, "w")

/* --- Closing ------------------------------------------------------------------------------------------------- */

/* What is known of the FILE's descriptor, forgotten before the descriptor is closed; 0 where nothing is recorded. */
static uint32_t forget(FILE *fp)
{
    if (!tailrace_recording)
        return 0;
    int descriptor = stdio_descriptor(fp);
    uint32_t file = descriptor_entry(descriptor);
    if (file > DESCRIPTOR_IGNORED && characters_wait(descriptor))
        characters_record(descriptor, file);
    if (file != DESCRIPTOR_UNKNOWN)
        descriptor_set(descriptor, DESCRIPTOR_UNKNOWN);
    return file > DESCRIPTOR_IGNORED ? file : 0;
}

TAILRACE_EXPORT int fclose(FILE *fp)
{
    uint32_t file = forget(fp);
    if (!file)
        return REAL(fclose)(fp);
    struct call call;
    struct stream *stream = call_begin(&call, FUNCTION_fclose);
    int result = REAL(fclose)(fp);
    if (stream)
        end_file_call(stream, &call, clock_now(), FILE_CLOSE, 0, file, 0, 0, ERROR_OF_RESULT);
    return result;
}

TAILRACE_EXPORT int fcloseall(void)
{
    if (tailrace_recording) {
        characters_flush();
        descriptors_reset(0, UINT32_MAX);
    }
    return REAL(fcloseall)();
}

/* Without a path only the mode changes, and the file stays. */
#define REOPEN(name)                                                                                                   \
    TAILRACE_EXPORT FILE *name(const char *restrict path, const char *restrict mode, FILE *restrict fp)                \
    {                                                                                                                  \
        if (!tailrace_recording || !path)                                                                              \
            return REAL(name)(path, mode, fp);                                                                         \
        forget(fp);                                                                                                    \
        struct call call;                                                                                              \
        struct stream *stream = call_begin(&call, FUNCTION_##name);                                                    \
        return end_any_open(stream, &call, REAL(name)(path, mode, fp), path, mode);                                    \
    }
REOPEN(freopen)
REOPEN(freopen64)

/* Pipes are not recorded, but their number may have been a file's. */
TAILRACE_EXPORT FILE *popen(const char *command, const char *mode)
{
    FILE *fp = REAL(popen)(command, mode);
    if (fp && tailrace_recording)
        descriptor_set(stdio_descriptor(fp), DESCRIPTOR_UNKNOWN);
    return fp;
}

TAILRACE_EXPORT int pclose(FILE *fp)
{
    forget(fp);
    return REAL(pclose)(fp);
}

/* --- Flushing ------------------------------------------------------------------------------------------------ */

static uint32_t file_or_all(FILE *fp)
{
    return fp ? stdio_file(fp) : wrap_special("<all files>");
}

#define FLUSH(name)                                                                                                    \
    TAILRACE_EXPORT int name(FILE *fp)                                                                                 \
    {                                                                                                                  \
        uint32_t file;                                                                                                 \
        if (!tailrace_recording || !(file = file_or_all(fp)))                                                          \
            return REAL(name)(fp);                                                                                     \
        struct call call;                                                                                              \
        struct stream *stream =                                                                                        \
            fp ? stdio_begin(&call, FUNCTION_##name, fp, file) : call_begin(&call, FUNCTION_##name);                   \
        int result = REAL(name)(fp);                                                                                   \
        if (stream)                                                                                                    \
            end_file_call(stream, &call, clock_now(), FILE_SYNC, 0, file, 0, 0, ERROR_OF_RESULT);                      \
        return result;                                                                                                 \
    }
FLUSH(fflush)
FLUSH(fflush_unlocked)

/* --- Positioning
 * ------------------------------------------------------------------------------------------------------ */

#define SEEK(name, off)                                                                                                \
    WRAP_STDIO_AS(int, name, (FILE * fp, off offset, int whence), REAL(name)(fp, offset, whence), fp, FILE_SEEK,       \
                  whence == SEEK_SET ? FILE_OFFSET : 0, 0, whence == SEEK_SET ? offset : 0, ERROR_OF_RESULT)
SEEK(fseek, long)
SEEK(fseeko, off_t)
SEEK(fseeko64, off64_t)

#define TELL(name, off)                                                                                                \
    WRAP_STDIO_AS(off, name, (FILE * fp), REAL(name)(fp), fp, FILE_SEEK, result < 0 ? 0 : FILE_OFFSET, 0, MOVED,       \
                  ERROR_OF_RESULT)
TELL(ftell, long)
TELL(ftello, off_t)
TELL(ftello64, off64_t)

WRAP_STDIO(int, fgetpos, (FILE *restrict fp, fpos_t *restrict place), (fp, place), fp, FILE_SEEK, 0, result ? errno : 0)
WRAP_STDIO(int, fgetpos64, (FILE *restrict fp, fpos64_t *restrict place), (fp, place), fp, FILE_SEEK, 0,
           result ? errno : 0)
WRAP_STDIO(int, fsetpos, (FILE * fp, const fpos_t *place), (fp, place), fp, FILE_SEEK, 0, result ? errno : 0)
WRAP_STDIO(int, fsetpos64, (FILE * fp, const fpos64_t *place), (fp, place), fp, FILE_SEEK, 0, result ? errno : 0)

TAILRACE_EXPORT void rewind(FILE *fp)
{
    struct call call;
    uint32_t file = tailrace_recording ? stdio_file(fp) : 0;
    struct stream *stream = file ? stdio_begin(&call, FUNCTION_rewind, fp, file) : NULL;
    REAL(rewind)(fp);
    if (stream)
        end_file_call(stream, &call, clock_now(), FILE_SEEK, FILE_OFFSET, file, 0, 0, 0);
}
