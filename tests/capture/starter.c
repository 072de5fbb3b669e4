/* starter.c: becomes a program, or starts it and waits for it, by the function of that name.
 *
 * usage: starter FUNCTION PROGRAM
 */
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

int main(int count, char **words)
{
    const char *function = words[1], *program = words[2];
    char **arguments = words + 2;
    pid_t child = 0;
    int status = 0;
    if (count != 3)
        return 2;
    if (!strcmp(function, "vfork") && !(child = vfork()))
        execve(program, arguments, environ);
    if (!strcmp(function, "execve"))
        execve(program, arguments, environ);
    if (!strcmp(function, "execv"))
        execv(program, arguments);
    if (!strcmp(function, "execvp"))
        execvp(strrchr(program, '/') + 1, arguments);
    if (!strcmp(function, "execvpe"))
        execvpe(program, arguments, environ);
    if (!strcmp(function, "execl"))
        execl(program, program, (char *)NULL);
    if (!strcmp(function, "execlp"))
        execlp(strrchr(program, '/') + 1, program, (char *)NULL);
    if (!strcmp(function, "execle"))
        execle(program, program, (char *)NULL, environ);
    if (!strcmp(function, "fexecve"))
        fexecve(open(program, O_RDONLY), arguments, environ);
    if (!strcmp(function, "posix_spawn"))
        posix_spawn(&child, program, NULL, NULL, arguments, environ);
    if (!strcmp(function, "posix_spawnp"))
        posix_spawnp(&child, strrchr(program, '/') + 1, NULL, NULL, arguments, environ);
    if (child <= 0 || waitpid(child, &status, 0) != child)
        return 3;
    return WEXITSTATUS(status);
}
