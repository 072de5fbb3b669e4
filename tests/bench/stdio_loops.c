/* stdio_loops.c: what capture adds to a call of STDIO.
 *
 *     stdio_loops FUNCTION FILE ROUNDS THREADS      THREADS: 1, or 2, of which one sleeps
 *
 * FUNCTION: fwrite and fread of 4 bytes, fprintf and fscanf of two numbers, fputs and fgets of a
 * line, putc, getc. In each round CALLS calls of the C library's own function, as many with the FILE
 * locked around each, and as many of the function that the program is linked with, in alternating
 * order and on files of their own: the machine is the same for all. Printed are the medians over the
 * rounds, in ns a call: the bare call, the captured one, and what this and the locked one take more.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { CALLS = 1000, ROUNDS_MAX = 100000, LINES = 20000 };

static const char line[] = "a line of sixty characters, more or less, as they are found..\n";
static const char numbers[] = "12345678 3\n";

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static FILE *opened(const char *path, const char *mode)
{
    FILE *file = fopen(path, mode);
    if (!file) {
        perror(path);
        exit(1);
    }
    return file;
}

/* --- The loops --- */

typedef void (*any_function)(void);

#define LOOP(name, type, call)                                                                     \
    static void loop_##name(any_function any, FILE *file, bool locked)                             \
    {                                                                                              \
        type function = (type)any;                                                                 \
        for (int i = 0; i < CALLS; i++) {                                                          \
            if (locked)                                                                            \
                flockfile(file);                                                                   \
            call;                                                                                  \
            if (locked)                                                                            \
                funlockfile(file);                                                                 \
        }                                                                                          \
    }
typedef size_t (*write_function)(const void *, size_t, size_t, FILE *);
typedef size_t (*read_function)(void *, size_t, size_t, FILE *);
typedef int (*format_function)(FILE *, const char *, ...);
typedef int (*puts_function)(const char *, FILE *);
typedef char *(*gets_function)(char *, int, FILE *);
typedef int (*putc_function)(int, FILE *);
typedef int (*getc_function)(FILE *);

static int value, other;
static char text[256];

LOOP(fwrite, write_function, function(&i, sizeof i, 1, file))
LOOP(fread, read_function, function(&value, sizeof value, 1, file))
LOOP(fprintf, format_function, function(file, "%d %d\n", i, 3))
LOOP(fscanf, format_function, function(file, "%d %d", &value, &other))
LOOP(fputs, puts_function, function(line, file))
LOOP(fgets, gets_function, function(text, sizeof text, file))
LOOP(putc, putc_function, function(i, file))
LOOP(getc, getc_function, function(file))

/* The C library has C99's fscanf under another name. */
int linked_fscanf(FILE *, const char *, ...) __asm__("__isoc99_fscanf");

static const struct loop {
    const char *name, *symbol, *content; /* NULL: written */
    any_function linked;
    void (*run)(any_function, FILE *, bool);
} loops[] = {
    {"fwrite", "fwrite", NULL, (any_function)fwrite, loop_fwrite},
    {"fread", "fread", line, (any_function)fread, loop_fread},
    {"fprintf", "fprintf", NULL, (any_function)fprintf, loop_fprintf},
    {"fscanf", "__isoc99_fscanf", numbers, (any_function)linked_fscanf, loop_fscanf},
    {"fputs", "fputs", NULL, (any_function)fputs, loop_fputs},
    {"fgets", "fgets", line, (any_function)fgets, loop_fgets},
    {"putc", "putc", NULL, (any_function)putc, loop_putc},
    {"getc", "getc", line, (any_function)getc, loop_getc},
};

/* --- The three files --- */

struct side {
    const char *name;
    bool locked;
    any_function function;
    FILE *file;
    double took_ns[ROUNDS_MAX], added_ns[ROUNDS_MAX];
};

enum { BARE, LOCKED, CAPTURED, SIDES };
static struct side sides[SIDES] = {
    {.name = "bare"}, {.name = "locked", .locked = true}, {.name = "captured"}};

static void prepare(struct side *side, const struct loop *loop, const char *path)
{
    char name[4096];
    snprintf(name, sizeof name, "%s.%s", path, side->name);
    void *libc = dlopen("libc.so.6", RTLD_NOW);
    side->function =
        side == &sides[CAPTURED] ? loop->linked : (any_function)dlsym(libc, loop->symbol);
    side->file = opened(name, "w+");
    for (int i = 0; loop->content && i < LINES; i++)
        fputs(loop->content, side->file);
    rewind(side->file);
}

static void measure(struct side *side, const struct loop *loop, int round)
{
    if (ftell(side->file) > (loop->content ? LINES * 5L : 1 << 20))
        rewind(side->file);
    double begin = now_ns();
    loop->run(side->function, side->file, side->locked);
    side->took_ns[round] = (now_ns() - begin) / CALLS;
}

static int compare(const void *left, const void *right)
{
    double difference = *(const double *)left - *(const double *)right;
    return (difference > 0) - (difference < 0);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare);
    return values[count / 2];
}

static void *sleep_on(void *unused)
{
    for (;;)
        pause();
    return unused;
}

static void run(const struct loop *loop, const char *path, int rounds)
{
    for (int i = 0; i < SIDES; i++)
        prepare(&sides[i], loop, path);
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < SIDES; i++)
            measure(&sides[(round + i) % SIDES], loop, round);
        for (int i = 0; i < SIDES; i++)
            sides[i].added_ns[round] = sides[i].took_ns[round] - sides[BARE].took_ns[round];
    }
    printf("%.3f %.3f %.3f %.3f\n", median(sides[BARE].took_ns, rounds),
           median(sides[CAPTURED].took_ns, rounds), median(sides[CAPTURED].added_ns, rounds),
           median(sides[LOCKED].added_ns, rounds));
}

int main(int count, char **words)
{
    pthread_t thread;
    int rounds = count == 5 ? atoi(words[3]) : 0;
    if (rounds > 0 && atoi(words[4]) > 1)
        pthread_create(&thread, NULL, sleep_on, NULL);
    for (size_t i = 0; rounds > 0 && rounds <= ROUNDS_MAX && i < sizeof loops / sizeof *loops; i++)
        if (!strcmp(words[1], loops[i].name)) {
            run(&loops[i], words[2], rounds);
            return 0;
        }
    fputs("see the head of stdio_loops.c\n", stderr);
    return 2;
}
