/* leaving.c: jumps out of calls, from a handler of signals or of MPI's errors.
 *
 * What was called below the place that is jumped to is left now, and ends now: as a call of which
 * nothing is known but that it was made, for one that was left may not have done what it is for.
 * A jump out of capture itself is told later, by the next call (tailrace_drop_stale). */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>

#include "functions.h"
#include "process.h"

void __longjmp_chk(struct __jmp_buf_tag environment[1], int value) __attribute__((noreturn));

#if defined(__x86_64__) && defined(__GLIBC__)
/* Where the stack will be. glibc keeps it turned, and mixed with a secret of the process. */
static uintptr_t stack_of(const struct __jmp_buf_tag *environment)
{
    enum { STACK_POINTER = 6, TURNED = 17 };
    uintptr_t kept = (uintptr_t)environment->__jmpbuf[STACK_POINTER], secret;
    __asm__("movq %%fs:0x30, %0" : "=r"(secret));
    return (kept >> TURNED | kept << (64 - TURNED)) ^ secret;
}

static bool is_known;

/* Whether this libc keeps it so: for a place of our own it has to be this function's frame. */
static __attribute__((constructor, noinline)) void leaving_prepare(void)
{
    sigjmp_buf here;
    if (sigsetjmp(here, 0))
        return;
    uintptr_t stack = stack_of(here), frame = (uintptr_t)__builtin_frame_address(0);
    is_known = stack <= frame && frame - stack < sizeof here + 4096;
}
#else
#define is_known false
#define stack_of(environment) ((void)(environment), (uintptr_t)0)
#endif

static void leave(const struct __jmp_buf_tag *environment)
{
    struct stream *stream = tailrace_stream;
    if (!is_known || !stream || stream->state != STREAM_READY || !stream->depth)
        return;
    uintptr_t stack = stack_of(environment);
    while (stream->state == STREAM_READY && stream->depth &&
           stream->open[stream->depth].frame < stack)
        tailrace_call_end(stream, stream->depth, clock_now(), CLASS_PLAIN, NULL, 0);
}

#define JUMP(name)                                                                                 \
    TAILRACE_EXPORT __attribute__((noreturn)) void name(struct __jmp_buf_tag environment[1],       \
                                                        int value)                                 \
    {                                                                                              \
        leave(environment);                                                                        \
        REAL(name)(environment, value);                                                            \
        __builtin_unreachable();                                                                   \
    }
JUMP(longjmp)
JUMP(_longjmp)
JUMP(siglongjmp)
JUMP(__longjmp_chk)
