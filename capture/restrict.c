/* restrict.c: programs that give up what capture needs.
 *
 * A seccomp filter may end the process at the next system call of ours, so from then on there are
 * none: what fits into the memory that is already mapped is recorded, the rest is counted as lost.
 * SECCOMP_MODE_STRICT and PR_SET_TSC forbid reading the counter as well: recording ends.
 * What the process becomes or starts inherits the filter, and would end where capture begins there:
 * nothing is preloaded into it.
 */
#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/prctl.h>

#include "descriptors.h"
#include "functions.h"
#include "preload.h"
#include "process.h"
#include "system.h"
#include "thread.h"

enum { ROOM_BYTES = 1 << 21 };

static enum restriction of_mode(long mode, long strict, long filter)
{
    return mode == strict   ? RESTRICTION_CLOCK
           : mode == filter ? RESTRICTION_CALLS
                            : RESTRICTION_NONE;
}

enum restriction restriction_of(long number, const long arguments[6])
{
    if (number == SYS_seccomp)
        return of_mode(arguments[0], SECCOMP_SET_MODE_STRICT, SECCOMP_SET_MODE_FILTER);
    if (number == SYS_prctl && (int)arguments[0] == PR_SET_SECCOMP)
        return of_mode(arguments[1], SECCOMP_MODE_STRICT, SECCOMP_MODE_FILTER);
    if (number == SYS_prctl && (int)arguments[0] == PR_SET_TSC && arguments[1] == PR_TSC_SIGSEGV)
        return RESTRICTION_CLOCK;
    return RESTRICTION_NONE;
}

/* While it is still allowed: room for what comes, the names of what is written to, or the end. */
void restrict_before(enum restriction restriction)
{
    int saved = errno;
    struct stream *stream = tailrace_stream;
    if (!tailrace_recording)
        return;
    if (restriction == RESTRICTION_CLOCK)
        thread_process_ends();
    if (restriction == RESTRICTION_CALLS) {
        for (int i = 0; i <= 2; i++)
            descriptor_file(i);
        if (stream && stream_busy(stream)) {
            stream_grow(stream, ROOM_BYTES);
            stream_ready(stream);
        }
    }
    errno = saved;
}

void restrict_after(enum restriction restriction)
{
    if (restriction == RESTRICTION_CALLS)
        preload_forget();
    if (!tailrace_recording)
        return;
    tailrace_calls_forbidden = 1;
    if (restriction == RESTRICTION_CLOCK)
        thread_stop();
}

TAILRACE_EXPORT int prctl(int option, ...)
{
    va_list list;
    va_start(list, option);
    long arguments[6] = {option};
    for (int i = 1; i < 5; i++)
        arguments[i] = va_arg(list, long);
    va_end(list);
    enum restriction restriction = restriction_of(SYS_prctl, arguments);
    restrict_before(restriction);
    int result = REAL(prctl)(option, arguments[1], arguments[2], arguments[3], arguments[4]);
    if (restriction && result >= 0)
        restrict_after(restriction);
    return result;
}
