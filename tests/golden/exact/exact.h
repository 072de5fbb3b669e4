/* The exact program: an interpreter of the `program` part of a case file (see ../README.md).
 *
 * Every operation takes a time that follows by arithmetic: computing is sleeping until a deadline,
 * so that it is exact however few cores there are; files are slowed by ../slowfs.c by a known
 * amount. All durations are nanoseconds, all sizes bytes. */
#ifndef EXACT_H
#define EXACT_H

#include <stdint.h>

enum { ARGUMENTS_MAX = 6, INSTRUCTIONS_MAX = 256, BUFFER_BYTES = 16 << 20 };

/* What an expression of the case file may name: p, P, and i, the turn of the innermost loop. */
struct variables {
    int64_t rank, ranks, turn;
};

struct call;
typedef void operation_function(const struct call *call);

struct operation {
    const char *name;
    int arguments_min;
    operation_function *run;
};

struct instruction {
    int line;
    char first[32], last[32]; /* ranks that run it, as expressions; empty: all */
    const struct operation *operation;
    int arguments;
    char argument[ARGUMENTS_MAX][64];
};

struct program {
    int instructions;
    struct instruction instruction[INSTRUCTIONS_MAX];
};

/* One instruction at work. */
struct call {
    const struct instruction *instruction;
    struct variables variables;
};

/* What the program knows about itself: the test holds the trace against it. */
struct account {
    int64_t begin_ns,
        end_ns; /* the window: end of MPI_Init, begin of MPI_Finalize; CLOCK_MONOTONIC */
    int64_t useful_ns,
        file_ns;       /* spent in compute, in POSIX and STDIO calls of this rank's main thread */
    int64_t late_ns;   /* by how much the system woke this rank too late, in all */
    int64_t waited_ns; /* ready to run, but not on a processor; 0 where the kernel does not tell */
};

extern struct account account;
extern char *outgoing, *incoming; /* BUFFER_BYTES each */

/* What the thread of thread_write does when it has written, if anything. */
extern void (*thread_wrote)(void);

/* Operations marked by the program's structure, not run: repeat N, end. */
extern const struct operation operation_repeat, operation_end;
extern const struct operation operations_posix[], operations_message[], operations_collective[],
    operations_shared[], operations_group[], operations_request[];

/* Ends the program with a sentence that names the line. */
_Noreturn void fail(int line, const char *sentence, const char *what);

int64_t expression(const char *text, const struct variables *variables, int line);
/* The value of argument `index`, or `absent` where the line has fewer. */
int64_t value(const struct call *call, int index);
int64_t value_or(const struct call *call, int index, int64_t absent);
/* Argument `index` with `{p}` replaced by the rank. The result lives until the next call. */
const char *text(const struct call *call, int index);

void read_program(const char *path, struct program *program);
void run_program(const struct program *program, struct variables variables);

int64_t now_ns(void);
/* How long the calling thread has waited for a processor since it began. By system calls that no
 * preload sees. */
int64_t waited_ns(void);
/* Slot of a name in a table of up to 32 names, a new one on first use. */
int slot(char names[32][64], const char *name, int line);

#endif
