/* identity.c: programs that become another user, as runuser, su and servers do, or have another root.
 * What that user cannot read, or what is not there, is not to be loaded into what the program starts:
 * the loader would complain, on the program's stderr, in each process.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "functions.h"
#include "preload.h"
#include "process.h"

/* Where every process is recorded, those that are not have to be named. The stream for the note is
 * opened before: afterwards its directory may be out of reach. */
static void prepare_note(void)
{
    if (tailrace_recording && process.all_processes)
        tailrace_stream_enter();
}

static void forget_preload(void)
{
    char *list = getenv("LD_PRELOAD");
    if (!list || !preload_names_own(list) || getuid() != geteuid() || preload_is_readable())
        return;
    if (process.all_processes)
        tailrace_note("out_of_reach", "");
    preload_forget();
}

#define BECOME(name, parameters, arguments)                                                        \
    TAILRACE_EXPORT int name parameters                                                            \
    {                                                                                              \
        prepare_note();                                                                            \
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
