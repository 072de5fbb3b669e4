/* working.c: the calls by which a program changes its working directory, from which relative paths
 * start. They are not recorded: the name of the directory is asked for anew after them.
 */
#define _GNU_SOURCE
#include <fts.h>
#include <ftw.h>
#include <unistd.h>

#include "functions.h"
#include "process.h"

#define CHANGE(name, parameters, arguments)                                                        \
    TAILRACE_EXPORT int name parameters                                                            \
    {                                                                                              \
        paths_directory_changes(false);                                                            \
        int result = REAL(name) arguments;                                                         \
        paths_directory_changes(false);                                                            \
        return result;                                                                             \
    }
CHANGE(chdir, (const char *path), (path))
CHANGE(fchdir, (int fd), (fd))
CHANGE(daemon, (int stay, int keep), (stay, keep))

/* These change it between any two calls of the program's, by functions of libc's own. */
#define WALK(name, visitor)                                                                        \
    TAILRACE_EXPORT int name(const char *path, visitor visit, int descriptors, int flags)          \
    {                                                                                              \
        if (flags & FTW_CHDIR)                                                                     \
            paths_directory_changes(true);                                                         \
        return REAL(name)(path, visit, descriptors, flags);                                        \
    }
WALK(nftw, __nftw_func_t)
WALK(nftw64, __nftw64_func_t)

#define OPEN_TREE(name, tree, entry)                                                               \
    TAILRACE_EXPORT tree *name(char *const *paths, int options,                                    \
                               int (*compare)(const entry **, const entry **))                     \
    {                                                                                              \
        if (!(options & FTS_NOCHDIR))                                                              \
            paths_directory_changes(true);                                                         \
        return REAL(name)(paths, options, compare);                                                \
    }
OPEN_TREE(fts_open, FTS, FTSENT)
OPEN_TREE(fts64_open, FTS64, FTSENT64)
