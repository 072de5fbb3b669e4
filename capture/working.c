/* working.c: the calls by which a program changes its working directory, from which relative paths
 * start. They are not recorded: the name of the directory is asked for anew after them. Walks through
 * trees change it too (posix_walk.c).
 */
#define _GNU_SOURCE
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
