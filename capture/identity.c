/* identity.c: programs that become another user, as runuser, su and servers do, or have another root.
 * What that user cannot read, or what is not there, is not to be loaded into what the program starts:
 * the loader would complain, on the program's stderr, in each process.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "functions.h"
#include "libdl.h"
#include "process.h"
#include "system.h"

static bool readable(const char *path)
{
    int file = system_open(path, O_RDONLY | O_CLOEXEC, 0);
    if (file >= 0)
        system_close(file);
    return file != -EACCES && file != -ENOENT && file != -ENOTDIR;
}

/* In the list itself, which becomes shorter. */
static void remove_entry(char *list, const char *own)
{
    size_t bytes = strlen(own);
    char *at = list, *to = list;
    while (*at) {
        size_t length = strcspn(at, ": ");
        size_t whole = length + (at[length] != 0);
        if (length != bytes || strncmp(at, own, bytes)) {
            memmove(to, at, whole);
            to += whole;
        }
        at += whole;
    }
    *to = 0;
}

static void forget_preload(void)
{
    char *list = getenv("LD_PRELOAD");
    Dl_info own;
    if (!list || getuid() != geteuid() || !libdl_find() ||
        !libdl.address((void *)forget_preload, &own) || readable(own.dli_fname))
        return;
    remove_entry(list, own.dli_fname);
    if (!list[strspn(list, ": ")])
        unsetenv("LD_PRELOAD");
}

#define BECOME(name, parameters, arguments)                                                        \
    TAILRACE_EXPORT int name parameters                                                            \
    {                                                                                              \
        int result = REAL(name) arguments;                                                         \
        int saved = errno;                                                                         \
        if (!result)                                                                               \
            forget_preload();                                                                      \
        errno = saved;                                                                             \
        return result;                                                                             \
    }
BECOME(chroot, (const char *path), (path))
BECOME(setuid, (uid_t user), (user))
BECOME(setreuid, (uid_t user, uid_t effective), (user, effective))
BECOME(setresuid, (uid_t user, uid_t effective, uid_t kept), (user, effective, kept))
