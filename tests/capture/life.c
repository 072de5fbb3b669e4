/* life.c: what happens to processes and threads. usage: life HOW [NUMBER] [FILE]
 *
 * Each HOW writes records of one byte into FILE (default "data") and then ends, forks, jumps … in
 * its own way. Exit status 3: life.c itself failed. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static long number = 10;
static const char *path = "data";
static int file;

static void fail(const char *what)
{
    dprintf(2, "life: %s: %s\n", what, strerror(errno));
    _exit(3);
}

static int open_file(const char *name)
{
    int opened = open(name, O_RDWR | O_CREAT, 0600);
    if (opened < 0)
        fail(name);
    return opened;
}

static void write_bytes(int to, long count)
{
    for (long i = 0; i < count; i++)
        if (pwrite(to, "x", 1, i) != 1)
            fail("pwrite");
}

/* --- Ends --- */

static void end_exit(void)
{
    exit(7);
}
static void end__exit(void)
{
    _exit(7);
}
static void end_quick_exit(void)
{
    quick_exit(7);
}
static void end_abort(void)
{
    abort();
}
static void end_assert(void)
{
    assert(file < 0);
}
static sigjmp_buf before_abort;

static void leave_abort(int signal)
{
    (void)signal;
    siglongjmp(before_abort, 1);
}
static void end_caught(void) /* an abort that is left again */
{
    signal(SIGABRT, leave_abort);
    if (!sigsetjmp(before_abort, 1))
        abort();
    write_bytes(file, number);
    exit(7);
}
static void end_kill(void)
{
    kill(getpid(), SIGKILL);
}
static void end_crash(void)
{
    *(volatile int *)0 = 1;
}

static void late_write(void)
{
    write_bytes(file, 5);
}
__attribute__((destructor)) static void very_late_write(void)
{
    if (getenv("LATE"))
        write_bytes(file, 5);
}
static void end_late(void)
{
    atexit(late_write);
    exit(0);
}

/* Counts in a shared page what it has written, until it is killed: argument 3 is the page's file.
 */
static void endless(void)
{
    int page = open_file("progress");
    if (ftruncate(page, 4096))
        fail("ftruncate");
    atomic_long *progress = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, page, 0);
    for (;;) {
        write_bytes(file, 1);
        atomic_fetch_add(progress, 1);
    }
}

/* --- Processes --- */

static void wait_for(pid_t child)
{
    int status;
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status))
        fail("child");
}

static void do_fork(void)
{
    pid_t child = fork();
    if (!child) {
        write_bytes(file, 1000);
        exit(0);
    }
    wait_for(child);
    write_bytes(file, number);
}

/* No atfork handler runs. */
static void do_raw_fork(void)
{
    pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (!child) {
        write_bytes(file, 1000);
        _exit(0);
    }
    wait_for(child);
    write_bytes(file, number);
}

static void do_vfork(void)
{
    int other = open_file("other");
    pid_t child = vfork();
    if (!child) {
        close(file);
        dup2(other, file);
        execl("/bin/true", "true", (char *)NULL);
        _exit(1);
    }
    wait_for(child);
    write_bytes(file, number); /* still "data": the child changed its own descriptors */
}

static void do_exec(char **arguments)
{
    write_bytes(file, number);
    execl(arguments[0], arguments[0], "exit", "20", "after", (char *)NULL);
    fail("exec");
}

static void do_system(void)
{
    if (system("echo from the shell > shell.txt"))
        fail("system");
    FILE *pipe = popen("cat shell.txt", "r");
    char line[100];
    if (!pipe || !fgets(line, sizeof line, pipe) || strcmp(line, "from the shell\n") ||
        pclose(pipe))
        fail("popen");
    write_bytes(file, number);
}

/* --- Threads --- */

static void *write_own(void *argument)
{
    char name[64];
    snprintf(name, sizeof name, "%s.%ld", path, (long)argument);
    int own = open_file(name);
    write_bytes(own, number);
    close(own);
    return NULL;
}

enum { THREADS = 64 };
static pthread_barrier_t all_have_written;

static void *write_beside_others(void *argument)
{
    write_own(argument);
    pthread_barrier_wait(&all_have_written);
    return NULL;
}

static void do_threads(void)
{
    pthread_t threads[THREADS];
    pthread_barrier_init(&all_have_written, NULL, THREADS);
    for (long i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, write_beside_others, (void *)i))
            fail("pthread_create");
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static void do_threads_in_turn(void)
{
    pthread_t thread;
    for (long i = 0; i < THREADS; i++)
        if (pthread_create(&thread, NULL, write_own, (void *)i) || pthread_join(thread, NULL))
            fail("pthread_create");
}

static pthread_key_t key;
static void write_at_thread_end(void *value)
{
    (void)value;
    write_bytes(file, 3);
}

static void *with_destructor(void *unused)
{
    (void)unused;
    write_bytes(file, number);
    pthread_setspecific(key, &key);
    return NULL;
}

static void do_thread_destructor(void)
{
    pthread_t thread;
    pthread_key_create(&key, write_at_thread_end);
    pthread_create(&thread, NULL, with_destructor, NULL);
    pthread_join(thread, NULL);
}

static int pipe_ends[2];
static void *read_forever(void *unused)
{
    (void)unused;
    char byte;
    dup2(pipe_ends[0], 0); /* descriptor 0 is recorded whatever it is */
    write_bytes(file, number);
    return (void *)read(0, &byte, 1);
}

/* Cancelled inside a recorded call. */
static void do_cancel(void)
{
    pthread_t thread;
    if (pipe(pipe_ends))
        fail("pipe");
    pthread_create(&thread, NULL, read_forever, NULL);
    usleep(50000);
    pthread_cancel(thread);
    pthread_join(thread, NULL);
    write_bytes(file, number);
}

/* --- Signals --- */

static atomic_long handled;
static void write_in_handler(int signal)
{
    (void)signal;
    int saved = errno;
    write_bytes(file, 1);
    handled++;
    errno = saved;
}

static void do_signals(void)
{
    struct itimerval every = {{0, 50}, {0, 50}};
    signal(SIGALRM, write_in_handler);
    setitimer(ITIMER_REAL, &every, NULL);
    write_bytes(file, number);
    struct itimerval never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &never, NULL);
    printf("%ld", (long)handled);
}

/* A handler after each single instruction (the processor's trap flag): every place at which a
 * signal can interrupt the recorder is one at which it does. */
static void do_stepped(void)
{
    signal(SIGTRAP, write_in_handler);
    write_bytes(file, 1); /* the dynamic linker is not looked at */
#ifdef __x86_64__
    __asm__ volatile("sub $128, %rsp; pushfq; orq $0x100, (%rsp); popfq; add $128, %rsp");
    write_bytes(file, number - 1);
    __asm__ volatile("sub $128, %rsp; pushfq; andq $~0x100, (%rsp); popfq; add $128, %rsp");
#else
    write_bytes(file, number - 1);
#endif
    printf("%ld", (long)handled);
}

static sigjmp_buf before_abort;
static void jump_back(int signal)
{
    (void)signal;
    siglongjmp(before_abort, 1);
}

/* Leaves a recorded read of an empty pipe (as descriptor 0) by siglongjmp, many times more often
 * than calls can be nested. */
static void do_longjmp(void)
{
    char byte;
    if (pipe(pipe_ends))
        fail("pipe");
    dup2(pipe_ends[0], 0);
    signal(SIGALRM, jump_back);
    for (volatile long i = 0; i < number; i++) {
        if (sigsetjmp(before_abort, 1))
            continue;
        struct itimerval once = {{0, 0}, {0, 300}};
        setitimer(ITIMER_REAL, &once, NULL);
        read(0, &byte, 1);
    }
    signal(SIGALRM, SIG_IGN);
    write_bytes(file, 100);
}

/* --- Descriptors and paths --- */

static void do_many_files(void)
{
    char name[64];
    for (long i = 0; i < number; i++) {
        snprintf(name, sizeof name, "many.%ld", i % 100);
        int one = open_file(name);
        write_bytes(one, 1);
        close(one);
    }
}

/* A program that runs out of descriptors must not stop the recording for good. */
static void do_no_descriptors(void)
{
    struct rlimit limit = {64, 64};
    if (setrlimit(RLIMIT_NOFILE, &limit))
        fail("setrlimit");
    int opened[64], count = 0;
    while (count < 64 && (opened[count] = open("/dev/null", O_RDONLY)) >= 0)
        count++;
    write_bytes(file, number);
    while (count)
        close(opened[--count]);
    write_bytes(file, number);
}

static void do_high_descriptors(void)
{
    struct rlimit limit = {200000, 200000};
    if (setrlimit(RLIMIT_NOFILE, &limit))
        _exit(77);
    int high = fcntl(file, F_DUPFD, 150000);
    if (high < 150000)
        fail("F_DUPFD");
    write_bytes(high, number);
    close(high);
}

/* A descriptor that capture never saw opened. */
static void do_unseen(void)
{
    int unseen = (int)syscall(SYS_openat, AT_FDCWD, "unseen", O_RDWR | O_CREAT, 0600);
    write_bytes(unseen, number);
}

/* Descriptors of capture's own must not be in the way. */
static void do_close_all(void)
{
    for (int fd = 3; fd < 1024; fd++)
        close(fd);
    file = open_file("data");
    if (file != 3)
        fail("the lowest free descriptor");
    write_bytes(file, number);
}

static void do_size_limit(void)
{
    struct rlimit limit = {1 << 20, 1 << 20};
    if (setrlimit(RLIMIT_FSIZE, &limit))
        fail("setrlimit");
    write_bytes(file, number);
}

static void do_sleep(void)
{
    for (int i = 0; i < 5; i++) {
        write_bytes(file, 1);
        usleep(100000);
    }
}

static void do_characters(void)
{
    FILE *text = fopen("characters", "w+");
    for (long i = 0; i < number; i++)
        putc('x', text);
    rewind(text);
    long count = 0;
    while (getc(text) != EOF)
        count++;
    if (count != number)
        fail("getc");
    for (int i = 0; i < 10; i++)
        putchar('y'); /* flushed by exit */
}

static const struct {
    const char *name;
    void (*act)(void);
} acts[] = {
    {"exit", end_exit},
    {"_exit", end__exit},
    {"quick_exit", end_quick_exit},
    {"abort", end_abort},
    {"assert", end_assert},
    {"caught", end_caught},
    {"kill", end_kill},
    {"crash", end_crash},
    {"late", end_late},
    {"endless", endless},
    {"fork", do_fork},
    {"raw_fork", do_raw_fork},
    {"vfork", do_vfork},
    {"system", do_system},
    {"threads", do_threads},
    {"threads_in_turn", do_threads_in_turn},
    {"thread_destructor", do_thread_destructor},
    {"cancel", do_cancel},
    {"signals", do_signals},
    {"stepped", do_stepped},
    {"longjmp", do_longjmp},
    {"many_files", do_many_files},
    {"no_descriptors", do_no_descriptors},
    {"high_descriptors", do_high_descriptors},
    {"unseen", do_unseen},
    {"close_all", do_close_all},
    {"size_limit", do_size_limit},
    {"sleep", do_sleep},
    {"characters", do_characters},
};

static int ends_itself(const char *how)
{
    static const char *const own[] = {"exit",   "_exit", "quick_exit", "abort", "assert",
                                      "caught", "kill",  "crash",      "late"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (!strcmp(how, own[i]))
            return 1;
    return 0;
}

int main(int count, char **arguments)
{
    const char *how = count > 1 ? arguments[1] : "exit";
    number = count > 2 ? atol(arguments[2]) : number;
    path = count > 3 ? arguments[3] : path;
    file = open_file(path);
    if (!strcmp(how, "exec"))
        do_exec(arguments);
    if (ends_itself(how))
        write_bytes(file, number);
    for (size_t i = 0; i < sizeof acts / sizeof *acts; i++)
        if (!strcmp(how, acts[i].name)) {
            acts[i].act();
            return 0;
        }
    return 3;
}
