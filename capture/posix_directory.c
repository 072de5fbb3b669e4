/* posix_directory.c: listing directories. readdir hands out entries from a buffer: a call that fills
 * it asks the system, and only such calls are recorded. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>

#include "newer.h"
#include "process.h"
#include "wrap.h"

/* --- Opening and closing --- */

TAILRACE_EXPORT DIR *opendir(const char *path)
{
    if (!tailrace_recording)
        return REAL(opendir)(path);
    struct call call;
    struct stream *stream = call_begin(&call, FUNCTION_opendir);
    DIR *result = REAL(opendir)(path);
    uint64_t end = stream ? clock_now() : 0;
    int error = result ? 0 : errno;
    uint32_t file = stream ? wrap_path(AT_FDCWD, path, error) : DESCRIPTOR_UNKNOWN;
    if (result)
        descriptor_set(dirfd(result), file);
    if (stream)
        end_file_call(stream, &call, end, FILE_METADATA, 0, file, 0, 0, error);
    return result;
}

/* Not recorded: it frees the buffer. */
TAILRACE_EXPORT int closedir(DIR *directory)
{
    DIR *volatile given = directory; /* declared never to be NULL, but libc refuses that kindly */
    if (tailrace_recording && given)
        descriptor_set(dirfd(directory), DESCRIPTOR_UNKNOWN);
    return REAL(closedir)(directory);
}

/* --- Reading --- */

/* How far into a DIR its buffer begins: no entry lies before the first of a filled buffer. */
static ptrdiff_t buffer_begin = PTRDIFF_MAX;

/* At the end of a directory the system is asked, too. */
static bool was_filled(DIR *directory, const void *entry)
{
    if (!entry)
        return true;
    ptrdiff_t at = (const char *)entry - (const char *)directory;
    ptrdiff_t begin = __atomic_load_n(&buffer_begin, __ATOMIC_RELAXED);
    if (at < begin)
        __atomic_store_n(&buffer_begin, at, __ATOMIC_RELAXED);
    return at <= begin;
}

static void end_reading(struct stream *stream, struct call *call, DIR *directory, const void *entry)
{
    if (LIKELY(!was_filled(directory, entry))) {
        call_forget(stream, call);
        return;
    }
    int saved = errno;
    uint64_t end = clock_now();
    uint32_t file = descriptor_file(dirfd(directory));
    if (file)
        end_file_call(stream, call, end, FILE_METADATA, 0, file, 0, 0, 0);
    else
        call_forget(stream, call);
    errno = saved;
}

#define READ(name, entry)                                                                          \
    TAILRACE_EXPORT struct entry *name(DIR *directory)                                             \
    {                                                                                              \
        if (!tailrace_recording)                                                                   \
            return REAL(name)(directory);                                                          \
        struct call call;                                                                          \
        struct stream *stream = call_begin(&call, FUNCTION_##name);                                \
        struct entry *result = REAL(name)(directory);                                              \
        if (stream)                                                                                \
            end_reading(stream, &call, directory, result);                                         \
        return result;                                                                             \
    }
READ(readdir, dirent)
READ(readdir64, dirent64)

WRAP_FILE(ssize_t, getdents64, (int fd, void *buffer, size_t bytes), (fd, buffer, bytes),
          descriptor_file(fd), FILE_METADATA, 0, 0, 0)

/* --- Whole directories --- */

#define SCAN(name, entry)                                                                          \
    WRAP_PATH(int, name,                                                                           \
              (const char *restrict path, struct entry ***restrict list,                           \
               int (*select)(const struct entry *),                                                \
               int (*compare)(const struct entry **, const struct entry **)),                      \
              (path, list, select, compare), AT_FDCWD, path, FILE_METADATA)
SCAN(scandir, dirent)
SCAN(scandir64, dirent64)
