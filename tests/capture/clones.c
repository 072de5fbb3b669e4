/* Children that no fork makes, before their parent's first call on a file: clones WAY. Each writes,
 * and so does the parent in the end. */
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char stack[1 << 16];

static int write_some(void *name)
{
    int file = open(name, O_CREAT | O_WRONLY | O_TRUNC, 0600);
    for (int i = 0; i < 100; i++) {
        if (write(file, "12345678", 8) != 8)
            return 1;
    }
    return close(file);
}

static pid_t start(const char *way)
{
    struct clone_args arguments = {.exit_signal = SIGCHLD};
    if (!strcmp(way, "clone"))
        return clone(write_some, stack + sizeof stack, SIGCHLD, "child");
    if (!strcmp(way, "shared"))
        return clone(write_some, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, "child");
    pid_t child = !strcmp(way, "clone3") ? (pid_t)syscall(SYS_clone3, &arguments, sizeof arguments)
                                         : (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (!child)
        _exit(write_some("child"));
    return child;
}

int main(int count, char **words)
{
    int status = 1;
    pid_t child = start(count > 1 ? words[1] : "");
    if (child < 0 || waitpid(child, &status, 0) != child)
        return 1;
    return status || write_some("parent");
}
