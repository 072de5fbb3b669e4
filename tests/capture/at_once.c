/* at_once.c: programs that end without destructors. usage: at_once HOW
 *
 *   sleeps    writes a byte, sleeps for 0.2 s, and ends by _exit
 *   vfork     a child that shares the memory ends by _exit; the program is killed after it
 *   handler   children, one for each of very many instructions of their first recorded call, are
 *             interrupted there by a handler that ends them by _exit; prints how many did
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILDREN = 100, STEP = 97, SECONDS_MAX = 20, STATUS = 7 };

static volatile long steps;

static void write_byte(void)
{
    int file = open("data", O_RDWR | O_CREAT, 0600);
    if (file < 0 || pwrite(file, "x", 1, 0) != 1 || close(file))
        _exit(3);
}

static void end_at_last(int signal)
{
    (void)signal;
    if (!--steps)
        _exit(STATUS);
}

static void interrupted(long after)
{
    alarm(SECONDS_MAX); /* whoever waits for a lock of its own is killed */
    steps = after;
    signal(SIGTRAP, end_at_last);
#ifdef __x86_64__
    __asm__ volatile("sub $128, %rsp; pushfq; orq $0x100, (%rsp); popfq; add $128, %rsp");
#endif
    write_byte();
    _exit(STATUS);
}

static int handlers(void)
{
    int ended = 0, status;
    for (long i = 1; i <= CHILDREN; i++) {
        pid_t child = fork();
        if (!child)
            interrupted(i * STEP);
        ended += waitpid(child, &status, 0) == child && WIFEXITED(status) &&
                 WEXITSTATUS(status) == STATUS;
    }
    return printf("%d of %d\n", ended, CHILDREN) < 0;
}

int main(int count, char **arguments)
{
    const char *how = count > 1 ? arguments[1] : "";
    if (!strcmp(how, "handler"))
        return handlers();
    write_byte();
    if (!strcmp(how, "sleeps")) {
        usleep(200000);
        _exit(STATUS);
    }
    if (!strcmp(how, "vfork")) {
        if (!vfork())
            _exit(0);
        raise(SIGKILL);
    }
    return 3;
}
