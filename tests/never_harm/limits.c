/* limits.c: what a program may do at the edge of its means. limits MODE prints what it saw. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* --- Bad pointers --- */

#define BAD ((char *)16)
#define TRY(call)                                                                                  \
    do {                                                                                           \
        errno = 0;                                                                                 \
        long result = (call);                                                                      \
        printf("%s: %ld %d\n", #call, result, errno);                                              \
    } while (0)

static int bad_pointers(void)
{
    struct stat status;
    char text[8];
    TRY(open(BAD, O_RDONLY));
    TRY(open(BAD, O_CREAT | O_WRONLY, 0600));
    TRY(openat(AT_FDCWD, BAD, O_RDONLY));
    TRY(creat(BAD, 0600));
    TRY(stat(BAD, &status));
    TRY(lstat(BAD, &status));
    TRY(fstatat(AT_FDCWD, BAD, &status, 0));
    TRY(access(BAD, R_OK));
    TRY(access(BAD, 077));
    TRY(unlink(BAD));
    TRY(unlinkat(AT_FDCWD, BAD, 077));
    TRY(rename(BAD, "there"));
    TRY(rename("nowhere", BAD));
    TRY(link(BAD, BAD));
    TRY(symlink(BAD, BAD));
    TRY(mkdir(BAD, 0700));
    TRY(rmdir(BAD));
    TRY(truncate(BAD, 0));
    TRY(truncate(BAD, -1));
    TRY(readlink(BAD, text, sizeof text));
    TRY(chmod(BAD, 0600));
    TRY(chown(BAD, 0, 0));
    TRY(fopen(BAD, "r") != NULL);
    TRY(stat("nowhere", (struct stat *)BAD));
    TRY(stat("/", (struct stat *)BAD));
    return 0;
}

/* --- Small stacks --- */

enum { STACK_BYTES = 1 << 18, NEAR_BYTES = 256, PAINT = 0x5a };

static void use(const char *name)
{
    struct stat status;
    if (!strcmp(name, "open"))
        close(open("limits.txt", O_CREAT | O_WRONLY, 0600));
    else if (!strcmp(name, "stat"))
        stat("nowhere", &status);
    else if (!strcmp(name, "rename"))
        rename("nowhere", "there");
    else if (!strcmp(name, "unlink"))
        unlink("nowhere");
    else if (!strcmp(name, "mkdir"))
        mkdir("/", 0700);
}

/* How deep a call goes below here. */
static __attribute__((noinline)) size_t depth_of(const char *name)
{
    volatile char *here = (volatile char *)__builtin_frame_address(0) - NEAR_BYTES, *at;
    for (at = here; at > here - STACK_BYTES / 2; at--)
        *at = PAINT;
    use(name);
    for (at = here - STACK_BYTES / 2 + 1; at < here && *at == PAINT; at++)
        ;
    return (size_t)(here - at);
}

/* The first call of a thread, and a later one. */
static void *measure(void *name)
{
    size_t first = depth_of(name), later = depth_of(name);
    printf("%s %zu %zu\n", (char *)name, first, later);
    return NULL;
}

static int stack(void)
{
    static char *const names[] = {"open", "stat", "rename", "unlink", "mkdir"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        pthread_t thread;
        use(names[i]); /* what the loader looks up at the first time */
        pthread_create(&thread, NULL, measure, names[i]);
        pthread_join(thread, NULL);
    }
    return 0;
}

static void on_crash(int number)
{
    (void)number;
    int log = open("crash.log", O_CREAT | O_WRONLY | O_APPEND, 0600);
    (void)!write(log, "crashed\n", 8);
    close(log);
    _exit(42);
}

static int alternate_stack(void)
{
    stack_t small = {.ss_sp = aligned_alloc(4096, 8192), .ss_size = 8192};
    sigaltstack(&small, NULL);
    struct sigaction action = {.sa_handler = on_crash, .sa_flags = SA_ONSTACK};
    sigaction(SIGSEGV, &action, NULL);
    *(volatile int *)16 = 1;
    return 1;
}

/* --- What is forbidden --- */

static void write_much(int file)
{
    for (int i = 0; i < 400000; i++)
        if (pwrite(file, "x", 1, i % 7) != 1)
            _exit(9);
}

#define ALLOW(name)                                                                                \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1),                                         \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static int filter(int by_call)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(pwrite64),
        ALLOW(write),
        ALLOW(close),
        ALLOW(exit_group),
        ALLOW(rt_sigreturn),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
    int file = open("limits.txt", O_CREAT | O_WRONLY, 0600);
    write_much(file);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (by_call ? syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program)
                : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        return 8;
    write_much(file);
    close(file);
    return 5;
}

/* Becomes another program, behind a filter for a call that this one never makes. */
static int become(void)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fallocate, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        execl("/proc/self/exe", "limits", "refused", NULL);
    return 8;
}

static int strict(void)
{
    int file = open("limits.txt", O_CREAT | O_WRONLY, 0600);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
        return 8;
    for (int i = 0; i < 1000; i++)
        (void)!write(file, "x", 1);
    syscall(SYS_exit, 6);
    return 0;
}

static int no_counter(void)
{
    struct stat status;
    if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0))
        return 8;
    int file = open("limits.txt", O_CREAT | O_WRONLY, 0600);
    for (int i = 0; i < 1000; i++)
        if (write(file, "x", 1) != 1 || fstat(file, &status))
            return 9;
    return 4;
}

/* A request that fails changes nothing. */
static int refused(void)
{
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, 16);
    prctl(PR_SET_TSC, PR_TSC_SIGSEGV + 100, 0, 0, 0);
    write_much(open("limits.txt", O_CREAT | O_WRONLY, 0600));
    return 3;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    if (!strcmp(mode, "pointers"))
        return bad_pointers();
    if (!strcmp(mode, "stack"))
        return stack();
    if (!strcmp(mode, "alternate"))
        return alternate_stack();
    if (!strcmp(mode, "filter"))
        return filter(0);
    if (!strcmp(mode, "filter-call"))
        return filter(1);
    if (!strcmp(mode, "become"))
        return become();
    if (!strcmp(mode, "strict"))
        return strict();
    if (!strcmp(mode, "counter"))
        return no_counter();
    return refused();
}
