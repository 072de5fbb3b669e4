/* A thread that uses no file ends the process, as the one does in which Java's System.exit() runs.
 *
 * Meanwhile the main thread waits for it. Before, it opened a file whose buffer serves 100 prints,
 * and started 3 processes: the last of the counts are written where the process ends. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *end(void *ignored)
{
    usleep(200000);
    exit(7);
    return ignored;
}

int main(void)
{
    pthread_t thread;
    FILE *kept = fopen("kept", "w");
    for (int i = 0; i < 100; i++)
        fputs("ab", kept);
    for (int i = 0; i < 3; i++)
        if (system("true"))
            return 1;
    pthread_create(&thread, NULL, end, NULL);
    pthread_join(thread, NULL);
    return 2;
}
