/* Asks MPI many things that it answers from memory: questions [kill|stepped]
 *
 * The main thread asks 200,000 times for its rank, 7 times for a type's size and 5 times for what was
 * received; a second thread asks 3 times for the number of ranks and ends, a third 4 times and stays.
 * `kill`: it ends by a signal then.
 * `stepped`: instead it asks FLUSHES times 10 times for a type's size and once more, while a signal
 * handler writes to a file at the first instruction of that call, then at the second, and so on: long
 * enough after the last time that what was counted is due. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

enum { RANK = 200000, SIZE = 7, RECEIVED = 5, FLUSHES = 40, DUE_US = 110000 };

static sem_t asked;

static void *ask(void *times)
{
    for (intptr_t i = 0; i < (intptr_t)times; i++) {
        int ranks;
        MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    }
    sem_post(&asked);
    while ((intptr_t)times == 4)
        pause();
    return NULL;
}

static volatile int step, steps, file;

static void write_at_step(int signal)
{
    if (++step == steps && write(file, "x", 1) != 1)
        _exit(signal);
}

static int ask_in_steps(const char *path)
{
    int size;
    signal(SIGTRAP, write_at_step);
    file = open(path, O_CREAT | O_WRONLY, 0600);
    for (steps = 1; steps <= FLUSHES; steps++) {
        usleep(DUE_US);
        for (int i = 0; i < 10; i++)
            MPI_Type_size(MPI_DOUBLE, &size);
        step = 0;
#ifdef __x86_64__
        __asm__ volatile("sub $128, %rsp; pushfq; orq $0x100, (%rsp); popfq; add $128, %rsp");
        MPI_Type_size(MPI_DOUBLE, &size);
        __asm__ volatile("sub $128, %rsp; pushfq; andq $~0x100, (%rsp); popfq; add $128, %rsp");
#endif
    }
    return MPI_Finalize() || step < FLUSHES;
}

int main(int argc, char **argv)
{
    int level, rank, size, count, before;
    MPI_Status status;
    pthread_t threads[2];
    MPI_Initialized(&before);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    if (argc > 1 && !strcmp(argv[1], "stepped"))
        return ask_in_steps(argv[2]);
    for (int i = 0; i < RANK; i++)
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < SIZE; i++)
        MPI_Type_size(MPI_DOUBLE, &size);
    MPI_Sendrecv(&rank, 1, MPI_INT, rank, 1, &size, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &status);
    for (int i = 0; i < RECEIVED; i++)
        MPI_Get_count(&status, MPI_INT, &count);
    if (argc > 1)
        raise(SIGKILL);
    sem_init(&asked, 0, 0);
    pthread_create(&threads[0], NULL, ask, (void *)(intptr_t)3);
    pthread_create(&threads[1], NULL, ask, (void *)(intptr_t)4);
    sem_wait(&asked);
    sem_wait(&asked);
    pthread_join(threads[0], NULL);
    return MPI_Finalize() || count != 1 || before;
}
