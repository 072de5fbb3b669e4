/* Who forks while others write, with handlers of the program's own that write, or lock what writers
 * hold: forks flush|lock. The handlers are registered before main, and before capture's. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FORKS = 200, WRITERS = 2 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int log_file = -1, locks, flushes;

static void before(void)
{
    if (flushes)
        fflush(stdout);
    if (locks)
        pthread_mutex_lock(&lock);
}

static void after(void)
{
    if (locks)
        pthread_mutex_unlock(&lock);
}

__attribute__((constructor)) static void register_handlers(void)
{
    pthread_atfork(before, after, after);
}

static void *write_line(void *unused)
{
    pthread_mutex_lock(&lock);
    if (log_file < 0)
        log_file = open("log.txt", O_CREAT | O_WRONLY | O_APPEND, 0644);
    if (write(log_file, "a line\n", 7) != 7)
        perror("log.txt");
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *fork_once(void *ended_well)
{
    int status = 1;
    pid_t child = fork();
    if (!child)
        _exit(3);
    waitpid(child, &status, 0);
    *(int *)ended_well += WIFEXITED(status) && WEXITSTATUS(status) == 3;
    return NULL;
}

int main(int count, char **words)
{
    int well = 0;
    pthread_t threads[WRITERS + 1];
    if (count < 2)
        return 2;
    locks = !strcmp(words[1], "lock");
    flushes = !locks;
    for (int i = 0; i < FORKS; i++) {
        for (int k = 0; k < WRITERS; k++)
            pthread_create(&threads[k], NULL, write_line, NULL);
        pthread_create(&threads[WRITERS], NULL, fork_once, &well);
        for (int k = 0; k <= WRITERS; k++)
            pthread_join(threads[k], NULL);
    }
    printf("%d\n", well);
    return well != FORKS;
}
