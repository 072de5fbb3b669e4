/* alone DIRECTORY WHAT NUMBER: a program without MPI.
 *
 *   write      NUMBER writes, then exit status 9
 *   abort      NUMBER writes, then SIGABRT
 *   _exit      NUMBER writes, then _exit(7)
 *   exec       NUMBER writes, then itself anew by execl, execv, execle, execvp, fexecve, each
 * writing again fork       NUMBER writes, half of them by a child spawn      posix_spawn of
 * /bin/echo, its status passed on files      NUMBER files, one after another: open, one write,
 * close threads    64 threads, NUMBER writes each
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>

#include "counters.h"

extern char **environ;

static const char *directory;
static uint64_t number;

static void write_all(int n)
{
    int descriptor = open_data(directory, n);
    for (uint64_t turn = 0; turn < number; turn++)
        write_counted(descriptor, n, turn);
    close(descriptor);
}

/* The variants whose arguments other tracers have corrupted; `next` says which of them comes now.
 */
static void exec_next(char **argument, int next)
{
    char step[32], self[] = "/proc/self/exe";
    snprintf(step, sizeof step, "exec%d", next + 1);
    char *arguments[] = {argument[0], argument[1], step, argument[3], NULL};
    fflush(stdout);
    if (next == 0)
        execl(self, argument[0], argument[1], step, argument[3], (char *)NULL);
    if (next == 1)
        execv(self, arguments);
    if (next == 2)
        execle(self, argument[0], argument[1], step, argument[3], (char *)NULL, environ);
    if (next == 3)
        execvp(argument[0], arguments);
    if (next == 4)
        fexecve(open(self, O_RDONLY | O_CLOEXEC), arguments, environ);
}

static void *write_in_thread(void *n)
{
    write_all((int)(intptr_t)n);
    return NULL;
}

static void write_in_threads(void)
{
    pthread_t threads[COUNTERS];
    for (intptr_t n = 0; n < COUNTERS; n++)
        if (pthread_create(&threads[n], NULL, write_in_thread, (void *)n))
            fail("pthread_create");
    for (int n = 0; n < COUNTERS; n++)
        pthread_join(threads[n], NULL);
}

static void write_one_file(uint64_t n)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/many/file.%llu", directory, (unsigned long long)n);
    int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (descriptor < 0)
        fail(path);
    if (write(descriptor, &n, sizeof n) != sizeof n)
        fail(path);
    close(descriptor);
    count(0);
}

static int wait_for(pid_t child)
{
    int status;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int fork_and_write(void)
{
    fflush(stdout);
    pid_t child = fork();
    write_all(child ? 0 : 1);
    if (!child)
        exit(4);
    return wait_for(child);
}

static int spawn(void)
{
    pid_t child;
    char *arguments[] = {"echo", "spawned", NULL};
    fflush(stdout);
    if (posix_spawn(&child, "/bin/echo", NULL, NULL, arguments, environ))
        fail("posix_spawn");
    return wait_for(child);
}

int main(int arguments, char **argument)
{
    if (arguments != 4)
        fail("usage: alone DIRECTORY WHAT NUMBER");
    const char *what = argument[2];
    directory = argument[1];
    number = strtoull(argument[3], NULL, 10);
    open_counters(directory);
    introduce(0);
    printf("%s begins\n", what);
    if (!strcmp(what, "fork"))
        return fork_and_write();
    if (!strcmp(what, "spawn"))
        return spawn();
    if (!strcmp(what, "threads"))
        return write_in_threads(), 0;
    if (!strcmp(what, "files")) {
        for (uint64_t n = 0; n < number; n++)
            write_one_file(n);
        return 0;
    }
    write_all(0);
    printf("%s has written\n", what);
    fflush(stdout);
    if (!strcmp(what, "abort"))
        abort();
    if (!strcmp(what, "_exit"))
        _exit(7);
    if (!strncmp(what, "exec", 4))
        exec_next(argument, atoi(what + 4));
    return 9;
}
