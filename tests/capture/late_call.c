/* Makes its first call on a file 200 ms after it began; a child of it waits as long for its own. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void write_late(void)
{
    usleep(200000);
    int file = open("late", O_CREAT | O_WRONLY | O_APPEND, 0600);
    if (file < 0 || write(file, "x", 1) != 1)
        exit(1);
    close(file);
}

int main(void)
{
    pid_t child = fork();
    if (!child) {
        write_late();
        exit(0);
    }
    waitpid(child, NULL, 0);
    write_late();
    return 0;
}
