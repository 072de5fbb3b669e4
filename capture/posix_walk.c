/* posix_walk.c: functions that walk through a tree of directories inside libc. What they ask the
 * system for is recorded from one entry to the next; what the program does with an entry is its own.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <ftw.h>

#include "process.h"
#include "wrap.h"

/* --- ftw: the program is called with each entry --- */

struct walk {
    enum function function;
    bool changes_directory;
    bool stopped;   /* by the program */
    uint64_t since; /* when libc went on */
    union {
        __ftw_func_t ftw;
        __ftw64_func_t ftw64;
        __nftw_func_t nftw;
        __nftw64_func_t nftw64;
    } visit;
};

/* The innermost: a visit is told nothing of who walks. */
static __thread struct walk *walking __attribute__((tls_model("initial-exec")));

/* The look-up of an entry, or what came after the last. A listing, which many share, is in the time
 * of the first. */
static void record_step(const struct walk *walk, const char *path, int error)
{
    struct call call;
    int saved = errno;
    uint64_t end = clock_now();
    struct stream *stream = call_begin(&call, walk->function);
    if (stream) {
        stream->open[call.depth].begin = walk->since;
        uint32_t file = wrap_path(AT_FDCWD, path, error);
        end_file_call(stream, &call, end, FILE_STAT, 0, file, 0, 0, error);
    }
    errno = saved;
}

static int go_on(struct walk *walk, int result)
{
    walking = walk;
    walk->stopped = result != 0;
    walk->since = clock_now();
    return result;
}

/* From the directory that the program is in by then, which of one that is left is itself. */
static const char *seen_from_here(const struct walk *walk, const char *path, int kind, int base)
{
    if (!walk->changes_directory)
        return path;
    return kind == FTW_DP ? "." : path + base;
}

#define VISIT(name, status_type)                                                                   \
    static int visit_##name(const char *path, const struct status_type *status, int kind)          \
    {                                                                                              \
        struct walk *walk = walking;                                                               \
        record_step(walk, path, 0);                                                                \
        return go_on(walk, walk->visit.name(path, status, kind));                                  \
    }                                                                                              \
    static int visit_n##name(const char *path, const struct status_type *status, int kind,         \
                             struct FTW *place)                                                    \
    {                                                                                              \
        struct walk *walk = walking;                                                               \
        record_step(walk, seen_from_here(walk, path, kind, place->base), 0);                       \
        return go_on(walk, walk->visit.n##name(path, status, kind, place));                        \
    }
VISIT(ftw, stat)
VISIT(ftw64, stat64)

/* The program may leave by a jump: then nothing asks for `walking` before it is set again. */
#define WALK(name, visitor, parameters, arguments, flags)                                          \
    TAILRACE_EXPORT int name parameters                                                            \
    {                                                                                              \
        bool changes = (flags) & FTW_CHDIR;                                                        \
        if (changes)                                                                               \
            paths_directory_changes(true);                                                         \
        if (!tailrace_recording) {                                                                 \
            visitor own = visit;                                                                   \
            return REAL(name) arguments(own);                                                      \
        }                                                                                          \
        struct walk *outer = walking;                                                              \
        struct walk walk = {.function = FUNCTION_##name, .changes_directory = changes};            \
        walk.visit.name = visit;                                                                   \
        go_on(&walk, 0);                                                                           \
        int result = REAL(name) arguments(visit_##name);                                           \
        walking = outer;                                                                           \
        record_step(&walk, path, result == -1 && !walk.stopped ? errno : 0);                       \
        return result;                                                                             \
    }
#define FTW_ARGUMENTS(visitor) (path, visitor, descriptors)
#define NFTW_ARGUMENTS(visitor) (path, visitor, descriptors, flags)
WALK(ftw, __ftw_func_t, (const char *path, __ftw_func_t visit, int descriptors), FTW_ARGUMENTS, 0)
WALK(ftw64, __ftw64_func_t, (const char *path, __ftw64_func_t visit, int descriptors),
     FTW_ARGUMENTS, 0)
WALK(nftw, __nftw_func_t, (const char *path, __nftw_func_t visit, int descriptors, int flags),
     NFTW_ARGUMENTS, flags)
WALK(nftw64, __nftw64_func_t, (const char *path, __nftw64_func_t visit, int descriptors, int flags),
     NFTW_ARGUMENTS, flags)

/* --- fts: the program asks for each entry --- */

/* Opening looks the roots up. With a change of directory, fts_read makes it between any two calls. */
#define OPEN_TREE(name, tree, entry)                                                               \
    TAILRACE_EXPORT tree *name(char *const *paths, int options,                                    \
                               int (*compare)(const entry **, const entry **))                     \
    {                                                                                              \
        if (!(options & FTS_NOCHDIR))                                                              \
            paths_directory_changes(true);                                                         \
        struct call call;                                                                          \
        struct stream *stream = tailrace_recording ? call_begin(&call, FUNCTION_##name) : NULL;    \
        tree *result = REAL(name)(paths, options, compare);                                        \
        uint64_t end = stream ? clock_now() : 0;                                                   \
        int error = result ? 0 : errno;                                                            \
        if (stream)                                                                                \
            end_file_call(stream, &call, end, FILE_STAT, 0, wrap_path(AT_FDCWD, *paths, error), 0, \
                          0, error);                                                               \
        return result;                                                                             \
    }
OPEN_TREE(fts_open, FTS, FTSENT)
OPEN_TREE(fts64_open, FTS64, FTSENT64)

/* The directory that the next call lists, 0 where it only steps on. */
#define DIRECTORY_TO_LIST(tree)                                                                    \
    ((tree)->fts_cur && (tree)->fts_cur->fts_info == FTS_D &&                                      \
             (tree)->fts_cur->fts_instr != FTS_SKIP && !(tree)->fts_child                          \
         ? wrap_path(AT_FDCWD, (tree)->fts_cur->fts_accpath, 0)                                    \
         : 0)

#define LIST_TREE(name, tree, entry, parameters, arguments)                                        \
    TAILRACE_EXPORT entry *name parameters                                                         \
    {                                                                                              \
        uint32_t file = tailrace_recording ? DIRECTORY_TO_LIST(tree) : 0;                          \
        if (!file)                                                                                 \
            return REAL(name) arguments;                                                           \
        struct call call;                                                                          \
        struct stream *stream = call_begin(&call, FUNCTION_##name);                                \
        entry *result = REAL(name) arguments;                                                      \
        uint64_t end = stream ? clock_now() : 0;                                                   \
        bool failed = result && result->fts_info == FTS_DNR;                                       \
        if (stream)                                                                                \
            end_file_call(stream, &call, end, FILE_METADATA, 0, file, 0, 0,                        \
                          failed ? result->fts_errno : 0);                                         \
        return result;                                                                             \
    }
LIST_TREE(fts_read, tree, FTSENT, (FTS * tree), (tree))
LIST_TREE(fts64_read, tree, FTSENT64, (FTS64 * tree), (tree))
LIST_TREE(fts_children, tree, FTSENT, (FTS * tree, int options), (tree, options))
LIST_TREE(fts64_children, tree, FTSENT64, (FTS64 * tree, int options), (tree, options))
