/* Programs whose I/O takes another way than the main thread's calls: off_path NAME, in the working
 * directory. Each moves 64 MiB, but for what is said beside it. */

#define _GNU_SOURCE
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MIB = 1 << 20, PIECES = 64 };

static char *data; /* 1 MiB */

static void fail(const char *what)
{
    perror(what);
    exit(errno == ENOSYS || errno == EPERM ? 77 : 1); /* 77: the kernel does not offer it */
}

static int created(const char *name)
{
    int file = open(name, O_CREAT | O_EXCL | O_RDWR, 0600);
    if (file < 0)
        fail(name);
    return file;
}

static void written(int file, int pieces)
{
    for (int i = 0; i < pieces; i++)
        if (write(file, data, MIB) != MIB)
            fail("write");
}

static void *ring_part(int ring, size_t bytes, off_t offset)
{
    void *part = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring, offset);
    if (part == MAP_FAILED)
        fail("mmap of a ring");
    return part;
}

/* So many requests as `request`, each at another offset, one at a time. */
static void ask_ring(struct io_uring_sqe request, unsigned times)
{
    struct io_uring_params given = {0};
    int ring = (int)syscall(SYS_io_uring_setup, 1, &given);
    if (ring < 0)
        fail("io_uring_setup");
    char *sent = ring_part(ring, given.sq_off.array + given.sq_entries * sizeof(unsigned),
                           IORING_OFF_SQ_RING);
    char *done = ring_part(ring, given.cq_off.cqes + given.cq_entries * sizeof(struct io_uring_cqe),
                           IORING_OFF_CQ_RING);
    struct io_uring_sqe *asked = ring_part(ring, given.sq_entries * sizeof *asked, IORING_OFF_SQES);
    for (unsigned i = 0; i < times; i++) {
        *asked = request;
        asked->off += (unsigned long)i * request.len;
        ((unsigned *)(sent + given.sq_off.array))[0] = 0;
        __atomic_store_n((unsigned *)(sent + given.sq_off.tail), i + 1, __ATOMIC_RELEASE);
        if (syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1)
            fail("io_uring_enter");
        __atomic_store_n((unsigned *)(done + given.cq_off.head), i + 1, __ATOMIC_RELEASE);
    }
    close(ring);
}

static void uring(void)
{
    int file = created("uring");
    ask_ring(
        (struct io_uring_sqe){
            .opcode = IORING_OP_WRITE, .fd = file, .addr = (unsigned long)data, .len = MIB},
        PIECES);
    close(file);
}

/* As event loops do: the ring is there for what epoll is to watch. */
static void ring_of_events(void)
{
    struct epoll_event event = {.events = EPOLLIN};
    int ends[2], watch = epoll_create1(0);
    if (pipe(ends) || watch < 0)
        fail("pipe");
    written(created("log"), 1);
    ask_ring((struct io_uring_sqe){.opcode = IORING_OP_EPOLL_CTL,
                                   .fd = watch,
                                   .addr = (unsigned long)&event,
                                   .len = EPOLL_CTL_ADD,
                                   .off = (unsigned)ends[0]},
             1);
}

/* The kernel's write, without the C library's: as a program does that has liburing linked in. */
static void direct(void)
{
    int file = created("direct");
    for (int i = 0; i < PIECES; i++) {
#if defined(__x86_64__)
        long result = SYS_write;
        __asm__ volatile("syscall"
                         : "+a"(result)
                         : "D"((long)file), "S"(data), "d"((long)MIB)
                         : "rcx", "r11", "memory");
        if (result != MIB)
            fail("write");
#else
        exit(77);
#endif
    }
}

/* Of a file of 64 MiB single bytes are written again and again: each time the kernel counts a page
 * at least. */
static void again(void)
{
    int file = created("again");
    written(file, PIECES);
    for (unsigned i = 0; i < 40000; i++) {
        if (pwrite(file, data, 1, (off_t)(i * 2654435761u % (64u * MIB))) != 1)
            fail("pwrite");
        if (i % 4000 == 0)
            fsync(file);
    }
}

/* Few bytes are written and many events: their stream is capture's, not the program's. */
static void reads(void)
{
    int file = created("reads");
    written(file, 1);
    for (unsigned i = 0; i < 1000000; i++)
        if (pread(file, data, 1 + i % 60, (off_t)(i * 2654435761u % (MIB - 60))) < 0)
            fail("pread");
}

static void mapping(void)
{
    int file = created("mesh.bin");
    if (ftruncate(file, (off_t)PIECES * MIB))
        fail("ftruncate");
    char *map = mmap(NULL, (size_t)PIECES * MIB, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (map == MAP_FAILED)
        fail("mmap");
    for (int i = 0; i < PIECES; i++)
        memcpy(map + (size_t)i * MIB, data, MIB);
}

/* Reads so much of a file of its own, as who loads a table does. */
static void read_mapped(int bytes)
{
    int file = created("mesh.bin");
    written(file, PIECES);
    char *map = mmap(NULL, (size_t)bytes, PROT_READ, MAP_PRIVATE, file, 0);
    if (map == MAP_FAILED)
        fail("mmap");
    for (int at = 0; at < bytes; at += 4096)
        data[at % MIB] += map[at];
}

static void privately(void)
{
    read_mapped(PIECES * MIB);
}

static void little(void)
{
    read_mapped(MIB / 2);
}

static void *write_there(void *unused)
{
    written(created("history"), PIECES);
    return unused;
}

/* The main thread writes 1 MiB itself, so that it is the one with the accounts. */
static void thread(void)
{
    pthread_t writer;
    written(created("log"), 1);
    if (pthread_create(&writer, NULL, write_there, NULL))
        fail("pthread_create");
    pthread_join(writer, NULL);
}

/* The main thread makes no call: it waits until the other has ended, and computes for 0.3 s. */
static void thread_alone(void)
{
    pthread_t writer;
    struct timespec begin, now;
    if (pthread_create(&writer, NULL, write_there, NULL))
        fail("pthread_create");
    pthread_join(writer, NULL);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    while ((now.tv_sec - begin.tv_sec) * 1000000000 + now.tv_nsec - begin.tv_nsec < 300000000);
}

/* Two threads at once run, or sleep, for 0.3 s each; the main one waits for them. */
static void *run_there(void *asleep)
{
    struct timespec rest = {.tv_nsec = 300000000}, ran = {0};
    if (asleep)
        nanosleep(&rest, NULL);
    while (!asleep && ran.tv_nsec < rest.tv_nsec)
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ran);
    return NULL;
}

static void of_two(bool asleep)
{
    pthread_t workers[2];
    for (int i = 0; i < 2; i++)
        if (pthread_create(&workers[i], NULL, run_there, asleep ? &workers : NULL))
            fail("pthread_create");
    for (int i = 0; i < 2; i++)
        pthread_join(workers[i], NULL);
    written(created("log"), 1);
}

static void workers(void)
{
    of_two(false);
}

static void sleepers(void)
{
    of_two(true);
}

static void forked(void)
{
    written(created("log"), 1);
    pid_t child = fork();
    if (!child) {
        written(created("history"), PIECES);
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

static void shell(void)
{
    written(created("log"), 1);
    if (system("dd if=/dev/zero of=history bs=1M count=64 status=none"))
        fail("system");
}

/* 128 MiB in all: what is sent was written before. */
static void send(void)
{
    int from = created("from"), to = created("to");
    off_t offset = 0;
    written(from, PIECES);
    while (sendfile(to, from, &offset, MIB) > 0)
        continue;
}

static void asynchronous(void)
{
    static struct aiocb requests[PIECES];
    int file = created("field");
    for (int i = 0; i < PIECES; i++) {
        requests[i] = (struct aiocb){
            .aio_fildes = file, .aio_buf = data, .aio_nbytes = MIB, .aio_offset = (off_t)i * MIB};
        if (aio_write(&requests[i]))
            fail("aio_write");
    }
    for (int i = 0; i < PIECES; i++) {
        const struct aiocb *waited[] = {&requests[i]};
        while (aio_error(&requests[i]) == EINPROGRESS)
            aio_suspend(waited, 1, NULL);
        aio_return(&requests[i]);
    }
}

int main(int arguments, char **words)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } programs[] = {{"uring", uring},
                    {"mapping", mapping},
                    {"privately", privately},
                    {"little", little},
                    {"direct", direct},
                    {"again", again},
                    {"reads", reads},
                    {"thread", thread},
                    {"forked", forked},
                    {"shell", shell},
                    {"send", send},
                    {"asynchronous", asynchronous},
                    {"workers", workers},
                    {"sleepers", sleepers},
                    {"thread_alone", thread_alone},
                    {"ring_of_events", ring_of_events}};
    data = malloc(MIB);
    memset(data, 'x', MIB);
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        if (arguments == 2 && !strcmp(words[1], programs[i].name))
            programs[i].run();
    free(data);
    return 0;
}
