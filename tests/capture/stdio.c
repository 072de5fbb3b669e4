/* stdio.c: STDIO whose requests and counts are known; what=argv[1], file=argv[2]. "kernel" prints
 * what the kernel counted of reads and writes meanwhile, by its own account. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void fail(const char *what)
{
    fprintf(stderr, "stdio: %s\n", what);
    exit(1);
}

static FILE *opened(const char *path, const char *mode)
{
    FILE *file = fopen(path, mode);
    if (!file)
        fail(path);
    return file;
}

/* Past capture: bytes that the process read and wrote. */
static void kernel_counts(long counts[2])
{
    char text[512] = "";
    long descriptor = syscall(SYS_openat, AT_FDCWD, "/proc/self/io", O_RDONLY);
    if (syscall(SYS_read, descriptor, text, sizeof text - 1) <= 0 ||
        sscanf(text, "rchar: %ld wchar: %ld", &counts[0], &counts[1]) != 2)
        fail("no /proc/self/io");
    syscall(SYS_close, descriptor);
}

/* --- Writing --- */

/* 100,000 prints of 4, 10, 21, 6 and 1 bytes: 840,000 bytes. */
static void write_kinds(FILE *file)
{
    for (int i = 0; i < 20000; i++) {
        fwrite(&i, 4, 1, file);
        fprintf(file, "%9d\n", i);
        fputs("a text of some length", file);
        fprintf(file, "%s", "sixsix");
        putc('\n', file);
    }
}

static void *write_in_thread(void *file)
{
    for (int i = 0; i < 20000; i++) {
        fwrite(&i, 4, 1, file);
        fprintf(file, "%d\n", 100000 + i);
    }
    return NULL;
}

static void write_together(FILE *file)
{
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, write_in_thread, file);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
}

/* A print that is longer than the room and than every print before it. */
static void write_unforeseen(FILE *file)
{
    fprintf(file, "%d", 1);
    fprintf(file, "%5000d", 2);
    fprintf(file, "%5000d", 3);
}

static void die(FILE *file)
{
    for (int i = 0; i < 5000; i++)
        fwrite(&i, 4, 1, file);
    raise(SIGKILL);
}

/* --- Reading --- */

static void read_lines(const char *path)
{
    char line[128];
    FILE *file = opened(path, "r");
    while (fgets(line, sizeof line, file))
        ;
    fclose(file);
}

static void read_kinds(const char *path)
{
    char block[100];
    int number;
    FILE *file = opened(path, "r");
    while (fread(block, 7, 3, file) && fscanf(file, "%*s %d", &number) != EOF && getc(file) != EOF)
        ;
    fclose(file);
}

int main(int count, char **words)
{
    const char *what = count > 2 ? words[1] : "", *path = words[2];
    if (!strcmp(what, "writes"))
        write_kinds(opened(path, "w")); /* exit closes it */
    else if (!strcmp(what, "_exit"))
        write_kinds(opened(path, "w")), _exit(0);
    else if (!strcmp(what, "threads"))
        write_together(opened(path, "w"));
    else if (!strcmp(what, "unforeseen"))
        write_unforeseen(opened(path, "w"));
    else if (!strcmp(what, "killed"))
        die(opened(path, "w"));
    else if (!strcmp(what, "lines"))
        read_lines(path);
    else if (!strcmp(what, "kernel")) {
        long before[2], after[2];
        kernel_counts(before);
        read_kinds(path);
        kernel_counts(after);
        printf("%ld\n", after[0] - before[0]);
    } else
        fail("what?");
    return 0;
}
