/* stdio_loops.c: the processor time of a loop of STDIO.
 *
 *     stdio_loops FUNCTION FILE CALLS      FUNCTION: fwrite (of 4 bytes), fprintf, fgets, getc
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char line[] = "a line of sixty characters, more or less, as they are found..\n";

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
static void prepare(const char *path)
{
    FILE *file = opened(path, "w");
    for (int i = 0; i < 20000; i++)
        fputs(line, file);
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
    const char *name, *mode;
    void (*run)(FILE *, long);
} loops[] = {
    {"fwrite", "w", loop_fwrite},
    {"fprintf", "w", loop_fprintf},
    {"fgets", "r", loop_fgets},
    {"getc", "r", loop_getc},
};

int main(int count, char **words)
{
    for (size_t i = 0; count == 4 && i < sizeof loops / sizeof *loops; i++) {
        if (strcmp(words[1], loops[i].name))
            continue;
        if (*loops[i].mode == 'r')
            prepare(words[2]);
        double begin = processor_s();
        FILE *file = opened(words[2], loops[i].mode);
        loops[i].run(file, atol(words[3]));
        fclose(file);
        printf("%.6f\n", processor_s() - begin);
        return 0;
    }
    fputs("see the head of stdio_loops.c\n", stderr);
    return 2;
}
