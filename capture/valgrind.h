/* valgrind.h: whether the process runs on valgrind's processor.
 *
 * That one knows rotations which change nothing, as a question to valgrind; any other only executes
 * them (valgrind's manual, "The Client Request mechanism"). Memcheck complains on the program's
 * stderr where what is read was not written, as words of the stack that may hold a return address
 * were not; and valgrind of system calls that it does not know.
 */
#ifndef TAILRACE_VALGRIND_H
#define TAILRACE_VALGRIND_H

#include <stdbool.h>
#include <stdint.h>

static inline bool runs_under_valgrind(void)
{
    enum { RUNNING_ON_VALGRIND = 0x1001, QUESTION_WORDS = 6 };
    static const uint64_t question[QUESTION_WORDS] = {RUNNING_ON_VALGRIND}; /* stacks are small */
#if defined(__x86_64__)
    uint64_t depth = 0;
    __asm__ volatile("rolq $3, %%rdi; rolq $13, %%rdi; rolq $61, %%rdi; rolq $51, %%rdi\n\t"
                     "xchgq %%rbx, %%rbx"
                     : "+d"(depth)
                     : "a"(question)
                     : "cc", "memory");
#elif defined(__aarch64__)
    register uint64_t depth __asm__("x3") = 0;
    register const uint64_t *asked __asm__("x4") = question;
    __asm__ volatile("ror x12, x12, #3; ror x12, x12, #13; ror x12, x12, #51; ror x12, x12, #61\n\t"
                     "orr x10, x10, x10"
                     : "+r"(depth)
                     : "r"(asked)
                     : "cc", "memory", "x12");
#endif
    return depth != 0;
}

#endif
