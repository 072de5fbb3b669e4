/* ending.c: the program ends at once, without the destructors of which capture's is one: what there
 * is to say at the end is said here, so that the run is known to last until then.
 *
 * A signal handler may end the program, and a child that shares its parent's memory (vfork) ends
 * with these, too. So nothing is done in another process than the recorded one, nor on a stack for
 * signals, nor while what was interrupted holds the lock; and the loader is not asked for the real
 * function, which is looked up at the start. Other nodes' streams are left to `tailrace collect`.
 */
#include <stdlib.h>
#include <unistd.h>

#include "functions.h"
#include "process.h"
#include "system.h"
#include "thread.h"

void ending_prepare(void)
{
    real_function(FUNCTION__exit);
}

static void close_streams(void)
{
    bool own = tailrace_recording && !tailrace_calls_forbidden && system_process() == process.id;
    if (own && !thread_is_on_signal_stack() && process_lock_comes_back())
        thread_process_ends();
}

__attribute__((noreturn)) static void end_now(int status)
{
    any_function found = __atomic_load_n(&functions_real[FUNCTION__exit], __ATOMIC_RELAXED);
    if (found)
        ((__typeof__(_exit) *)found)(status);
    for (;;)
        system_call(SYS_exit_group, status, 0, 0, 0, 0, 0);
}

TAILRACE_EXPORT void _exit(int status)
{
    close_streams();
    end_now(status);
}

TAILRACE_EXPORT void _Exit(int status)
{
    close_streams();
    end_now(status);
}

/* What its handlers still write is recorded behind the end. */
TAILRACE_EXPORT void quick_exit(int status)
{
    close_streams();
    REAL(quick_exit)(status);
    end_now(status);
}
