/* paths.c: numbers for files. A path record is written where the number is made. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "process.h"
#include "record.h"
#include "system.h"

enum { CACHED_PATHS = 128, CACHED_BYTES = 248 };

/* Paths that are named but not opened (stat, unlink, failed open), by their hash; longer ones get a number each time.
 */
struct path_cache {
    struct {
        uint32_t number;
        char path[CACHED_BYTES];
    } entries[CACHED_PATHS];
};

size_t path_cache_bytes(void)
{
    return sizeof(struct path_cache);
}

/* --- Absolute paths ------------------------------------------------------------------------------------------ */

/* The directory that relative paths start from; empty where the kernel does not tell. */
static size_t directory_of(char *path, size_t bytes, int directory)
{
    char link[40];
    if (directory == AT_FDCWD)
        snprintf(link, sizeof link, "/proc/self/cwd");
    else
        snprintf(link, sizeof link, "/proc/self/fd/%d", directory);
    ssize_t length = system_readlink(link, path, bytes - 2);
    if (length <= 0 || path[0] != '/')
        return 0;
    if (path[length - 1] != '/')
        path[length++] = '/';
    return (size_t)length;
}

/* `path` as the program gave it, behind its directory where it is relative. Cut where it does not fit. */
void path_absolute(char *absolute, size_t bytes, int directory, const char *path)
{
    size_t length = path[0] == '/' || directory == NO_DIRECTORY ? 0 : directory_of(absolute, bytes, directory);
    snprintf(absolute + length, bytes - length, "%s", path);
}

/* --- Numbers ------------------------------------------------------------------------------------------------- */

static bool write_path(uint32_t number, const char *path)
{
    uint8_t payload[4 + PATH_BYTES];
    size_t bytes = strnlen(path, PATH_BYTES);
    memcpy(payload, &number, 4);
    memcpy(payload + 4, path, bytes);
    return tailrace_record(HEAD_PATH, payload, 4 + bytes);
}

uint32_t path_number(const char *absolute)
{
    uint32_t number = atomic_fetch_add_explicit(&process.next_file, 1, memory_order_relaxed);
    write_path(number, absolute);
    return number;
}

uint32_t tailrace_file_open(const char *path)
{
    char absolute[PATH_BYTES];
    path_absolute(absolute, sizeof absolute, AT_FDCWD, path);
    return path_number(absolute);
}

static struct path_cache *cache(void)
{
    struct stream *stream = tailrace_stream;
    if (!stream || stream->state == STREAM_GONE)
        return NULL;
    if (!stream->paths)
        stream->paths = system_map_memory(sizeof *stream->paths);
    return stream->paths;
}

static unsigned cache_place(const char *path, size_t bytes)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ (uint8_t)path[i]) * 0x100000001b3u;
    return (unsigned)(hash >> 57) % CACHED_PATHS;
}

uint32_t path_number_named(const char *absolute)
{
    size_t bytes = strlen(absolute);
    struct path_cache *paths = bytes < CACHED_BYTES ? cache() : NULL;
    if (!paths)
        return path_number(absolute);
    unsigned place = cache_place(absolute, bytes);
    if (!paths->entries[place].number || strcmp(paths->entries[place].path, absolute)) {
        memcpy(paths->entries[place].path, absolute, bytes + 1);
        paths->entries[place].number = path_number(absolute);
    }
    return paths->entries[place].number;
}

uint32_t tailrace_file_named(const char *path)
{
    char absolute[PATH_BYTES];
    path_absolute(absolute, sizeof absolute, AT_FDCWD, path);
    return path_number_named(absolute);
}
