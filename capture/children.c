/* children.c: the processes that the program starts are counted, because what they read and write
 * is not recorded unless the user asked for all processes.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include "descriptors.h"
#include "functions.h"
#include "thread.h"

#if defined(__x86_64__)
/* vfork returns twice from its caller's frame: it is jumped to, not called. */
TAILRACE_EXPORT __attribute__((naked, returns_twice)) pid_t vfork(void)
{
    __asm__("endbr64\n\t"
            "subq $8, %rsp\n\t"
            "call children_real_vfork\n\t"
            "addq $8, %rsp\n\t"
            "jmp *%rax");
}

/* Counts, and says where vfork is. */
__attribute__((used)) any_function children_real_vfork(void)
{
    thread_started_process();
    descriptors_share(SHARING_UNTIL_EXEC);
    return real_function(FUNCTION_vfork);
}

/* clone takes arguments by kind: all are left where they are. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
TAILRACE_EXPORT __attribute__((naked)) int clone(int (*start)(void *), void *stack, int flags,
                                                 void *argument, ...)
{
    __asm__("endbr64\n\t"
            "pushq %rdi\n\t"
            "pushq %rsi\n\t"
            "pushq %rdx\n\t"
            "pushq %rcx\n\t"
            "pushq %r8\n\t"
            "pushq %r9\n\t"
            "subq $8, %rsp\n\t"
            "movl %edx, %edi\n\t"
            "call children_real_clone\n\t"
            "addq $8, %rsp\n\t"
            "popq %r9\n\t"
            "popq %r8\n\t"
            "popq %rcx\n\t"
            "popq %rdx\n\t"
            "popq %rsi\n\t"
            "popq %rdi\n\t"
            "jmp *%rax");
}
#pragma GCC diagnostic pop

__attribute__((used)) any_function children_real_clone(int flags)
{
    if (!(flags & CLONE_THREAD))
        thread_started_process();
    if ((flags & CLONE_VM) && !(flags & CLONE_THREAD))
        descriptors_share(flags & CLONE_VFORK ? SHARING_UNTIL_EXEC : SHARING_UNTIL_THE_END);
    return real_function(FUNCTION_clone);
}
#endif

TAILRACE_EXPORT int system(const char *command)
{
    if (command)
        thread_started_process();
    return REAL(system)(command);
}

/* The pipe's number may have been a file's. */
TAILRACE_EXPORT FILE *popen(const char *command, const char *mode)
{
    thread_started_process();
    FILE *fp = REAL(popen)(command, mode);
    if (fp && tailrace_recording)
        descriptor_set(fileno(fp), DESCRIPTOR_UNKNOWN);
    return fp;
}
