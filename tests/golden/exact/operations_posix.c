/* Computing, POSIX and STDIO. Files lie in the directory EXACT_DIRECTORY. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "exact.h"

struct account account;
void (*thread_wrote)(void);

static char file_names[32][64], stream_names[32][64];
static int descriptors[32];
static FILE *streams[32];
static struct {
    pthread_t thread;
    int descriptor;
    int64_t bytes;
} background;

int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void compute(const struct call *call)
{
    int64_t begin = now_ns(), deadline = begin + value(call, 0), end;
    struct timespec until = {deadline / 1000000000, deadline % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        continue;
    end = now_ns();
    account.useful_ns += end - begin;
    account.late_ns += end - deadline;
}

static const char *place(const char *name)
{
    static char path[4096];
    const char *directory = getenv("EXACT_DIRECTORY");
    snprintf(path, sizeof path, "%s/%s", directory ? directory : ".", name);
    return path;
}

static int descriptor_of(const struct call *call)
{
    return descriptors[slot(file_names, text(call, 0), call->instruction->line)];
}

/* Books what a file call took, and stops the program where it failed. */
static void book(const struct call *call, int64_t begin, int succeeded)
{
    account.file_ns += now_ns() - begin;
    if (!succeeded)
        fail(call->instruction->line, call->instruction->operation->name, strerror(errno));
}

static void open_file(const struct call *call)
{
    int64_t begin = now_ns();
    int descriptor = open(place(text(call, 0)), O_RDWR | O_CREAT, 0600);
    book(call, begin, descriptor >= 0);
    descriptors[slot(file_names, text(call, 0), call->instruction->line)] = descriptor;
}

static void write_file(const struct call *call)
{
    int64_t begin = now_ns(), bytes = value(call, 1);
    book(call, begin, write(descriptor_of(call), outgoing, (size_t)bytes) == bytes);
}

static void write_at(const struct call *call)
{
    int64_t begin = now_ns(), bytes = value(call, 2);
    book(call, begin,
         pwrite(descriptor_of(call), outgoing, (size_t)bytes, value(call, 1)) == bytes);
}

static void read_file(const struct call *call)
{
    int64_t begin = now_ns(), bytes = value(call, 1);
    book(call, begin, read(descriptor_of(call), incoming, (size_t)bytes) == bytes);
}

static void sync_file(const struct call *call)
{
    int64_t begin = now_ns();
    book(call, begin, fsync(descriptor_of(call)) == 0);
}

static void close_file(const struct call *call)
{
    int64_t begin = now_ns();
    book(call, begin, close(descriptor_of(call)) == 0);
}

static void set_lock(const struct call *call, short type)
{
    struct flock whole = {.l_type = type, .l_whence = SEEK_SET};
    int64_t begin = now_ns();
    book(call, begin, fcntl(descriptor_of(call), F_SETLKW, &whole) == 0);
}

static void lock_file(const struct call *call)
{
    set_lock(call, F_WRLCK);
}
static void unlock_file(const struct call *call)
{
    set_lock(call, F_UNLCK);
}

static void open_stream(const struct call *call)
{
    int64_t begin = now_ns();
    FILE *stream = fopen(place(text(call, 0)), "w");
    book(call, begin, stream != NULL);
    streams[slot(stream_names, text(call, 0), call->instruction->line)] = stream;
}

static FILE *stream_of(const struct call *call)
{
    return streams[slot(stream_names, text(call, 0), call->instruction->line)];
}

static void write_stream(const struct call *call)
{
    int64_t begin = now_ns(), bytes = value(call, 1);
    book(call, begin, fwrite(outgoing, 1, (size_t)bytes, stream_of(call)) == (size_t)bytes);
}

static void close_stream(const struct call *call)
{
    int64_t begin = now_ns();
    book(call, begin, fclose(stream_of(call)) == 0);
}

static void *write_in_background(void *unused)
{
    (void)unused;
    if (write(background.descriptor, outgoing, (size_t)background.bytes) != background.bytes)
        abort();
    if (thread_wrote)
        thread_wrote();
    return NULL;
}

static void start_background(const struct call *call)
{
    background.descriptor = descriptor_of(call);
    background.bytes = value(call, 1);
    if (pthread_create(&background.thread, NULL, write_in_background, NULL))
        fail(call->instruction->line, "cannot start a thread", "");
}

static void join_background(const struct call *call)
{
    (void)call;
    pthread_join(background.thread, NULL);
}

const struct operation operations_posix[] = {
    {"compute", 1, compute},
    {"open", 1, open_file},
    {"write", 2, write_file},
    {"write_at", 3, write_at},
    {"read", 2, read_file},
    {"fsync", 1, sync_file},
    {"close", 1, close_file},
    {"lock", 1, lock_file},
    {"unlock", 1, unlock_file},
    {"fopen", 1, open_stream},
    {"fwrite", 2, write_stream},
    {"fclose", 1, close_stream},
    {"thread_write", 2, start_background},
    {"thread_join", 0, join_background},
    {0},
};
