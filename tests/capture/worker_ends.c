/* The main thread makes no call on a file, and another ends the process: worker_ends WAY. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BEFORE_US = 200000 };

static void *write_and_end(void *way)
{
    usleep(BEFORE_US);
    int file = open("written", O_CREAT | O_WRONLY | O_TRUNC, 0600);
    for (int i = 0; i < 100; i++) {
        if (write(file, "12345678", 8) != 8)
            _exit(1);
    }
    if (!strcmp(way, "exit"))
        exit(7);
    if (!strcmp(way, "_exit"))
        _exit(7);
    if (!strcmp(way, "quick_exit"))
        quick_exit(7);
    if (!strcmp(way, "kill"))
        raise(SIGKILL);
    return way; /* the last thread ends the process */
}

int main(int count, char **words)
{
    pthread_t thread;
    if (count < 2 || pthread_create(&thread, NULL, write_and_end, words[1]))
        return 1;
    if (!strcmp(words[1], "last"))
        pthread_exit(NULL);
    return pthread_join(thread, NULL);
}
