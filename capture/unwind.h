/* unwind.h: from a call to who called it, by the tables that C++ exceptions use (.eh_frame).
 *
 * Distributions compile without frame pointers; these tables are in every library of x86-64. No
 * allocation, no lock; every byte that is read lies in the stack's mapping or in a module's segment
 * of tables. Private to the core.
 */
#ifndef TAILRACE_UNWIND_H
#define TAILRACE_UNWIND_H

#include "unwind_table.h"

enum {
    UNWIND_REGISTERS =
        17, /* DWARF's numbers on x86-64; 7 the stack pointer, 16 the return address */
    UNWIND_REMEMBERED = 6,
    UNWIND_KEPT = 2048,
    UNWIND_EXPRESSION = 16, /* values of an expression at once */
};

enum unwind_kind {
    RULE_SAME,
    RULE_UNDEFINED,
    RULE_OFFSET,           /* saved at CFA + value */
    RULE_VALUE_OFFSET,     /* is CFA + value */
    RULE_REGISTER,         /* is in register `value` */
    RULE_EXPRESSION,       /* saved where the expression says */
    RULE_VALUE_EXPRESSION, /* is what the expression says */
};

struct unwind_rule {
    uint32_t kind, bytes; /* bytes of an expression */
    int64_t value;        /* or its address */
};

/* How to find the caller's registers at one instruction. */
struct unwind_row {
    struct unwind_rule cfa; /* RULE_REGISTER with `offset`, or RULE_VALUE_EXPRESSION */
    int64_t cfa_offset;
    struct unwind_rule rules[UNWIND_REGISTERS];
};

/* A row in which all that was saved lies at a distance from the CFA, which is one from a register:
 * nearly all do. */
struct unwind_kept {
    uint64_t instruction;
    int32_t cfa_offset;
    uint8_t cfa_register, saved; /* a bit for each of the six registers that functions preserve */
    int32_t offsets[6];
};

struct unwinder {
    struct modules modules;
    uint64_t value[UNWIND_REGISTERS];
    bool known[UNWIND_REGISTERS];
    bool interrupted; /* the instruction was interrupted by a signal: it is not behind a call */
    uintptr_t slot;   /* where on the stack the latest return address stands */
    uint32_t module;  /* of that address; 0: of none */
    struct unwind_row row, initial, remembered[UNWIND_REMEMBERED];
    uint64_t next[UNWIND_REGISTERS], stack[UNWIND_EXPRESSION];
    bool next_known[UNWIND_REGISTERS];
    struct entry entry;
    uint64_t kept_for; /* the contents of the modules that the kept rows are of */
    struct unwind_kept kept[UNWIND_KEPT];
};

/* Begins with the function that calls this one. */
#if defined(__x86_64__)
#define UNWIND_HERE(unwinder)                                                                      \
    do {                                                                                           \
        struct unwinder *here = (unwinder);                                                        \
        memset(here->known, 0, sizeof here->known);                                                \
        here->known[3] = here->known[6] = here->known[7] = here->known[12] = here->known[13] =     \
            here->known[14] = here->known[15] = here->known[16] = true;                            \
        here->interrupted = true;                                                                  \
        __asm__ volatile("movq %%rbx, 24(%0)\n\tmovq %%rbp, 48(%0)\n\tmovq %%rsp, 56(%0)\n\t"      \
                         "movq %%r12, 96(%0)\n\tmovq %%r13, 104(%0)\n\tmovq %%r14, 112(%0)\n\t"    \
                         "movq %%r15, 120(%0)\n\tleaq 0(%%rip), %%rax\n\tmovq %%rax, 128(%0)"      \
                         :                                                                         \
                         : "r"(here->value)                                                        \
                         : "rax", "memory");                                                       \
    } while (0)
#define UNWIND_POSSIBLE 1
#else
#define UNWIND_HERE(unwinder) ((void)(unwinder))
#define UNWIND_POSSIBLE 0
#endif

/* To the caller; false at the outermost call, and where nothing says how to go on. */
bool unwind_step(struct unwinder *unwinder);

#endif
