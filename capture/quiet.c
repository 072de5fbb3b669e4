/* quiet.c: writes that raise no signal.
 *
 * The kernel sends these signals to the thread that writes. They are held back around the call, and
 * the one that the call itself raised is taken back; one that was already waiting is the program's.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <signal.h>
#include <time.h>

#include "quiet.h"
#include "system.h"

/* The kernel's set of signals, which is smaller than libc's. */
typedef uint64_t signals;

static signals bit_of(int signal)
{
    return (signals)1 << (signal - 1);
}

static long change_mask(int how, const signals *set, signals *before)
{
    return system_call(SYS_rt_sigprocmask, how, (long)set, (long)before, sizeof *set, 0, 0);
}

static signals pending(void)
{
    signals waiting = 0;
    system_call(SYS_rt_sigpending, (long)&waiting, sizeof waiting, 0, 0, 0, 0);
    return waiting;
}

static void take_back(signals raised)
{
    struct timespec at_once = {0, 0};
    if (raised)
        system_call(SYS_rt_sigtimedwait, (long)&raised, 0, (long)&at_once, sizeof raised, 0, 0);
}

ssize_t quiet_write(int descriptor, const void *bytes, size_t count)
{
    signals held = bit_of(SIGPIPE) | bit_of(SIGXFSZ) | bit_of(SIGTTOU), before;
    if (change_mask(SIG_BLOCK, &held, &before))
        return -EPERM;
    signals waiting_before = pending();
    ssize_t done = system_write(descriptor, bytes, count);
    signals raised = done == -EPIPE ? bit_of(SIGPIPE) : done == -EFBIG ? bit_of(SIGXFSZ) : 0;
    take_back(raised & ~waiting_before);
    change_mask(SIG_SETMASK, &before, NULL);
    return done;
}

bool quiet_is_ready(int descriptor, short event)
{
    struct pollfd asked = {.fd = descriptor, .events = event};
    struct timespec at_once = {0, 0};
    long ready = system_call(SYS_ppoll, (long)&asked, 1, (long)&at_once, 0, sizeof(signals), 0);
    return ready == 1 && asked.revents & event;
}
