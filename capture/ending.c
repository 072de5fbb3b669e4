/* ending.c: the program ends at once, without the destructors of which capture's is one: what there
 * is to say at the end is said here, so that the run is known to last until then.
 *
 * A signal handler may end the program, and a child that shares its parent's memory (vfork) ends
 * with these, too. So nothing is done in another process than the recorded one, nor on a stack for
 * signals, nor while what was interrupted holds the lock; and the loader is not asked for the real
 * function, which is looked up at the start. Other nodes' streams are left to `tailrace collect`.
 */
#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

#include "functions.h"
#include "process.h"
#include "system.h"
#include "thread.h"

void ending_prepare(void)
{
    real_function(FUNCTION__exit);
    real_function(FUNCTION_abort);
    real_function(FUNCTION___assert_fail);
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

/* The loader is asked only where a library ends the program before capture starts. */
static any_function found_at_start(int function)
{
    any_function found = __atomic_load_n(&functions_real[function], __ATOMIC_RELAXED);
    return found ? found : real_function(function);
}

/* A handler of SIGABRT may run yet, or leave by longjmp: what is called then is recorded behind the
 * end, too. The C library's own abort, as malloc's, goes by no symbol. */
__attribute__((used)) any_function ending_real_abort(void)
{
    close_streams();
    return found_at_start(FUNCTION_abort);
}

__attribute__((used)) any_function ending_real_assert(void)
{
    close_streams();
    return found_at_start(FUNCTION___assert_fail);
}

#if defined(__x86_64__)
/* They are jumped to: a handler that prints the stack prints what it would without capture. */
TAILRACE_EXPORT __attribute__((naked, noreturn)) void abort(void)
{
    __asm__("endbr64\n\t"
            "subq $8, %rsp\n\t"
            "call ending_real_abort\n\t"
            "addq $8, %rsp\n\t"
            "jmp *%rax");
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
TAILRACE_EXPORT
__attribute__((naked, noreturn)) void __assert_fail(const char *assertion, const char *path,
                                                    unsigned line, const char *function)
{
    __asm__("endbr64\n\t"
            "pushq %rdi\n\t"
            "pushq %rsi\n\t"
            "pushq %rdx\n\t"
            "pushq %rcx\n\t"
            "subq $8, %rsp\n\t"
            "call ending_real_assert\n\t"
            "addq $8, %rsp\n\t"
            "popq %rcx\n\t"
            "popq %rdx\n\t"
            "popq %rsi\n\t"
            "popq %rdi\n\t"
            "jmp *%rax");
}
#pragma GCC diagnostic pop
#else
TAILRACE_EXPORT __attribute__((noreturn)) void abort(void)
{
    ((__typeof__(abort) *)ending_real_abort())();
    __builtin_trap();
}

TAILRACE_EXPORT __attribute__((noreturn)) void
__assert_fail(const char *assertion, const char *path, unsigned line, const char *function)
{
    ((__typeof__(__assert_fail) *)ending_real_assert())(assertion, path, line, function);
    __builtin_trap();
}
#endif
