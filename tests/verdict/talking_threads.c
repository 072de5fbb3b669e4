/* Four threads of each of two ranks exchange 500 messages each and write 100 KiB; the main threads
 * wait for them. */

#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 4, MESSAGES = 500, BYTES = 8192, WRITES = 25, PAGE = 4096 };

static int rank;
static MPI_Comm each[THREADS];

static void *talk(void *number)
{
    char sent[BYTES], received[BYTES], name[32];
    MPI_Comm *own = number;
    int tag = (int)(own - each);
    memset(sent, 'x', sizeof sent);
    snprintf(name, sizeof name, "part.%d.%d", rank, tag);
    int file = open(name, O_CREAT | O_WRONLY, 0600);
    for (int i = 0; i < MESSAGES; i++)
        MPI_Sendrecv(sent, BYTES, MPI_CHAR, 1 - rank, tag, received, BYTES, MPI_CHAR, 1 - rank, tag,
                     *own, MPI_STATUS_IGNORE);
    for (int i = 0; i < WRITES; i++)
        if (write(file, sent, PAGE) != PAGE)
            MPI_Abort(*own, 1);
    close(file);
    return NULL;
}

int main(void)
{
    int level;
    pthread_t threads[THREADS];
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
    if (level != MPI_THREAD_MULTIPLE)
        return 77;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &each[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, talk, &each[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    MPI_Finalize();
    return 0;
}
