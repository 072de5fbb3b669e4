/* posix_glob.c: names that libc lists directories for, or looks up part by part: those that fit a
 * pattern, and those without links in them.
 *
 * glibc has two versions of glob: since 2.27 it calls another one of the functions that a program may
 * give it to list with (gl_lstat in place of gl_stat), which an older program leaves out. A program
 * gets the version that it was linked with: capture defines both (versions.map).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <wordexp.h>

#include "libdl.h"
#include "thread.h"
#include "wrap.h"

#if defined(__x86_64__)
#define OLDER "GLIBC_2.2.5"
#define WITH_ROOM "GLIBC_2.3" /* realpath makes room for the answer where it gets none */
#else
#define OLDER "GLIBC_2.17"
#endif
#define NEWER "GLIBC_2.27"

enum { PREFIX_BYTES = 512 };

/* Where the C library has it without versions, that one. */
static any_function find_version(any_function *kept, enum function function, const char *name,
                                 const char *version)
{
    any_function found = __atomic_load_n(kept, __ATOMIC_RELAXED);
    if (found)
        return found;
    int saved = errno;
    if (libdl_find() && libdl.symbol_of_version)
        found = (any_function)libdl.symbol_of_version(RTLD_NEXT, name, version);
    if (!found)
        found = real_function(function);
    errno = saved;
    __atomic_store_n(kept, found, __ATOMIC_RELAXED);
    return found;
}

/* Of a pattern the directory where the search begins, else the file itself. */
static uint32_t searched(const char *pattern, int flags)
{
    char prefix[PREFIX_BYTES] = ".";
    size_t bytes = strcspn(pattern, flags & GLOB_BRACE ? "*?[\\{" : "*?[\\");
    if (!pattern[bytes])
        return wrap_path(AT_FDCWD, pattern, 0);
    while (bytes && pattern[bytes - 1] != '/')
        bytes--;
    bool of_home = *pattern == '~' && flags & (GLOB_TILDE | GLOB_TILDE_CHECK);
    if (bytes >= PREFIX_BYTES || of_home)
        return wrap_special("<all files>");
    if (bytes) {
        memcpy(prefix, pattern, bytes);
        prefix[bytes] = 0;
    }
    return wrap_path(AT_FDCWD, prefix, 0);
}

static void end_search(struct stream *stream, struct call *call, const char *pattern, int flags,
                       int result)
{
    int saved = errno;
    uint64_t end = clock_now();
    end_file_call(stream, call, end, FILE_METADATA, 0, searched(pattern, flags), 0, 0,
                  result == GLOB_ABORTED ? saved : 0);
    errno = saved;
}

/* Where the program gives functions of its own to list with, what these do is seen. */
#define GLOB(name, version_name, version, list)                                                    \
    TAILRACE_EXPORT int version_name(const char *restrict pattern, int flags,                      \
                                     int (*fail)(const char *, int), list *restrict found)         \
    {                                                                                              \
        static any_function kept;                                                                  \
        __typeof__(name) *real =                                                                   \
            (__typeof__(name) *)find_version(&kept, FUNCTION_##name, #name, version);              \
        if (!tailrace_recording || flags & GLOB_ALTDIRFUNC)                                        \
            return real(pattern, flags, fail, found);                                              \
        struct call call;                                                                          \
        struct stream *stream = call_begin(&call, FUNCTION_##name);                                \
        int result = real(pattern, flags, fail, found);                                            \
        if (stream)                                                                                \
            end_search(stream, &call, pattern, flags, result);                                     \
        return result;                                                                             \
    }
GLOB(glob, glob_older, OLDER, glob_t)
GLOB(glob, glob_newer, NEWER, glob_t)
GLOB(glob64, glob64_older, OLDER, glob64_t)
GLOB(glob64, glob64_newer, NEWER, glob64_t)
__asm__(".symver glob_older, glob@" OLDER "\n.symver glob_newer, glob@@" NEWER "\n"
        ".symver glob64_older, glob64@" OLDER "\n.symver glob64_newer, glob64@@" NEWER);

/* --- Words, as a shell expands them --- */

static bool has_command(const char *words)
{
    return strchr(words, '`') || strstr(words, "$(");
}

static uint32_t expanded(const char *words)
{
    bool is_one = !words[strcspn(words, " \t\n$`~'\"\\{")];
    return is_one ? searched(words, 0) : wrap_special("<all files>");
}

/* Words without a pattern are not looked for. */
TAILRACE_EXPORT int wordexp(const char *restrict words, wordexp_t *restrict found, int flags)
{
    if (!tailrace_recording)
        return REAL(wordexp)(words, found, flags);
    if (has_command(words) && !(flags & WRDE_NOCMD))
        thread_started_process();
    if (!words[strcspn(words, "*?[")])
        return REAL(wordexp)(words, found, flags);
    struct call call;
    struct stream *stream = call_begin(&call, FUNCTION_wordexp);
    int result = REAL(wordexp)(words, found, flags);
    int saved = errno;
    uint64_t end = stream ? clock_now() : 0;
    if (stream)
        end_file_call(stream, &call, end, FILE_METADATA, 0, expanded(words), 0, 0, 0);
    errno = saved;
    return result;
}

/* --- Names without links --- */

#define ERROR_OF_NAME (result ? 0 : errno)

#define RESOLVE(symbol, name, real, parameters, arguments)                                         \
    TAILRACE_EXPORT char *symbol parameters                                                        \
    {                                                                                              \
        __typeof__(name) *found = real;                                                            \
        if (!tailrace_recording)                                                                   \
            return found arguments;                                                                \
        struct call call;                                                                          \
        struct stream *stream = call_begin(&call, FUNCTION_##name);                                \
        char *result = found arguments;                                                            \
        uint64_t end = stream ? clock_now() : 0;                                                   \
        if (stream)                                                                                \
            end_file_call(stream, &call, end, FILE_STAT, 0,                                        \
                          wrap_path(AT_FDCWD, path, ERROR_OF_NAME), 0, 0, ERROR_OF_NAME);          \
        return result;                                                                             \
    }
#define RESOLVE_VERSION(symbol, version)                                                           \
    static any_function kept_##symbol;                                                             \
    RESOLVE(symbol, realpath,                                                                      \
            (__typeof__(realpath) *)find_version(&kept_##symbol, FUNCTION_realpath, "realpath",    \
                                                 version),                                         \
            (const char *restrict path, char *restrict resolved), (path, resolved))

char *__realpath_chk(const char *path, char *resolved, size_t room);

#ifdef WITH_ROOM
RESOLVE_VERSION(realpath_older, OLDER)
RESOLVE_VERSION(realpath_newer, WITH_ROOM)
__asm__(".symver realpath_older, realpath@" OLDER "\n.symver realpath_newer, realpath@@" WITH_ROOM);
#else
RESOLVE_VERSION(realpath, OLDER)
#endif
RESOLVE(__realpath_chk, __realpath_chk, REAL(__realpath_chk),
        (const char *path, char *resolved, size_t room), (path, resolved, room))
RESOLVE(canonicalize_file_name, canonicalize_file_name, REAL(canonicalize_file_name),
        (const char *path), (path))
