/* stdio_loops.c: the processor time of a loop of STDIO.
 *
 *     stdio_loops FUNCTION FILE CALLS THREADS      THREADS: 1, or 2, of which one sleeps
 *
 * FUNCTION: fwrite and fread of 4 bytes, fprintf and fscanf of two numbers, fputs and fgets of a
 * line, putc, getc.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char line[] = "a line of sixty characters, more or less, as they are found..\n";
static const char numbers[] = "12345678 3\n";

static double processor_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
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

/* 1.2 MB, read again and again. */
static void prepare(const char *path, const char *text)
{
    FILE *file = opened(path, "w");
    for (int i = 0; i < 20000; i++)
        fputs(text, file);
    fclose(file);
}

static void loop_fwrite(FILE *file, long calls)
{
    for (long i = 0; i < calls; i++)
        fwrite(&i, 4, 1, file);
}

static void loop_fprintf(FILE *file, long calls)
{
    for (long i = 0; i < calls; i++)
        fprintf(file, "%ld %d\n", i, 3);
}

static void loop_fputs(FILE *file, long calls)
{
    for (long i = 0; i < calls; i++)
        fputs(line, file);
}

static void loop_putc(FILE *file, long calls)
{
    for (long i = 0; i < calls; i++)
        putc((int)i, file);
}

static void loop_fread(FILE *file, long calls)
{
    int value;
    for (long i = 0; i < calls; i++)
        if (!fread(&value, sizeof value, 1, file))
            rewind(file);
}

static void loop_fscanf(FILE *file, long calls)
{
    long value;
    int other;
    for (long i = 0; i < calls; i++)
        if (fscanf(file, "%ld %d", &value, &other) != 2)
            rewind(file);
}

static void loop_fgets(FILE *file, long calls)
{
    char text[256];
    for (long i = 0; i < calls; i++)
        if (!fgets(text, sizeof text, file))
            rewind(file);
}

static void loop_getc(FILE *file, long calls)
{
    for (long i = 0; i < calls; i++)
        if (getc(file) == EOF)
            rewind(file);
}

static const struct {
    const char *name, *content; /* NULL: written */
    void (*run)(FILE *, long);
} loops[] = {
    {"fwrite", NULL, loop_fwrite}, {"fprintf", NULL, loop_fprintf},
    {"fputs", NULL, loop_fputs},   {"putc", NULL, loop_putc},
    {"fread", line, loop_fread},   {"fscanf", numbers, loop_fscanf},
    {"fgets", line, loop_fgets},   {"getc", line, loop_getc},
};

static void *sleep_on(void *unused)
{
    for (;;)
        pause();
    return unused;
}

int main(int count, char **words)
{
    pthread_t thread;
    if (count == 5 && atoi(words[4]) > 1)
        pthread_create(&thread, NULL, sleep_on, NULL);
    for (size_t i = 0; count == 5 && i < sizeof loops / sizeof *loops; i++) {
        if (strcmp(words[1], loops[i].name))
            continue;
        if (loops[i].content)
            prepare(words[2], loops[i].content);
        double begin = processor_s();
        FILE *file = opened(words[2], loops[i].content ? "r" : "w");
        loops[i].run(file, atol(words[3]));
        fclose(file);
        printf("%.6f\n", processor_s() - begin);
        return 0;
    }
    fputs("see the head of stdio_loops.c\n", stderr);
    return 2;
}
