/* Two ranks of which one waits, for a planted reason: waits KIND DIRECTORY.
 * Rank 0 prints for how long it was in the call in which it waits. */
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STEPS = 6, PART = 8 << 20 };

/* How long a step's work takes, so that it outweighs what else happens to a step: a count of bytes
 * takes no time to speak of on a machine with quick memory. */
static const double STEP_S = 0.05;

static int rank;
static double waited;
static char *data;

__attribute__((noinline)) static void compute_late(void)
{
    double until = MPI_Wtime() + STEP_S;
    while (MPI_Wtime() < until) {
        for (volatile int i = 0; i < 10000; i++) {
        }
    }
}

__attribute__((noinline)) static void write_history(const char *name)
{
    double until = MPI_Wtime() + STEP_S;
    int file = open(name, O_CREAT | O_WRONLY | O_TRUNC, 0666);
    while (MPI_Wtime() < until) {
        if (pwrite(file, data, PART, 0) != PART)
            abort();
    }
    close(file);
}

__attribute__((noinline)) static void collect(void)
{
    int value;
    double begin = MPI_Wtime();
    MPI_Recv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    waited += MPI_Wtime() - begin;
}

__attribute__((noinline)) static void hand_over(void)
{
    int value = rank;
    double begin = MPI_Wtime();
    MPI_Ssend(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    waited += MPI_Wtime() - begin;
}

__attribute__((noinline)) static void meet(void)
{
    double begin = MPI_Wtime();
    MPI_Barrier(MPI_COMM_WORLD);
    waited += MPI_Wtime() - begin;
}

/* Until rank 1 is there, asking again and again. */
__attribute__((noinline)) static void ask(MPI_Request request)
{
    int there = 0;
    double begin = MPI_Wtime();
    while (!there)
        MPI_Test(&request, &there, MPI_STATUS_IGNORE);
    waited += MPI_Wtime() - begin;
}

__attribute__((noinline)) static void ask_for_message(void)
{
    int value;
    MPI_Request request;
    MPI_Irecv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &request);
    ask(request);
}

__attribute__((noinline)) static void ask_for_all(void)
{
    MPI_Request request;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    if (rank == 0)
        ask(request);
    else
        MPI_Wait(&request, MPI_STATUS_IGNORE);
}

__attribute__((noinline)) static void look(void)
{
    int value, there = 0;
    double begin = MPI_Wtime();
    while (!there)
        MPI_Iprobe(1, 0, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
    waited += MPI_Wtime() - begin;
    MPI_Recv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void *io_thread(void *unused)
{
    (void)unused;
    for (int step = 0; step < STEPS; step++) {
        write_history("thread.bin");
        MPI_Send(&step, 1, MPI_INT, rank, 7, MPI_COMM_WORLD);
    }
    return NULL;
}

__attribute__((noinline)) static void wait_for_thread(void)
{
    int value;
    double begin = MPI_Wtime();
    MPI_Recv(&value, 1, MPI_INT, rank, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    waited += MPI_Wtime() - begin;
}

static void step(const char *kind)
{
    int value = 0;
    void (*receive)(void) = !strcmp(kind, "sender")   ? collect
                            : !strcmp(kind, "tested") ? ask_for_message
                            : !strcmp(kind, "probed") ? look
                                                      : NULL;
    if (receive) {
        if (rank == 0) {
            receive();
        } else {
            compute_late();
            MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        }
    } else if (!strcmp(kind, "receiver")) {
        if (rank == 0) {
            hand_over();
        } else {
            compute_late();
            MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    } else if (!strcmp(kind, "writer")) {
        if (rank == 1)
            write_history("history.bin");
        meet();
    } else if (!strcmp(kind, "tested-writer")) {
        if (rank == 1)
            write_history("history.bin");
        ask_for_all();
    } else if (rank == 0) {
        wait_for_thread();
    }
}

int main(int argc, char **argv)
{
    int provided;
    if (argc < 3 || chdir(argv[2]))
        return 2;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (provided < MPI_THREAD_MULTIPLE)
        MPI_Abort(MPI_COMM_WORLD, 77);
    data = calloc(1, PART);
    memset(data, 1, PART);
    MPI_Barrier(MPI_COMM_WORLD);
    pthread_t thread;
    int threaded = !strcmp(argv[1], "thread") && rank == 0;
    if (threaded)
        pthread_create(&thread, NULL, io_thread, NULL);
    for (int i = 0; i < STEPS; i++)
        step(argv[1]);
    if (threaded)
        pthread_join(thread, NULL);
    if (rank == 0)
        printf("waited %.6f\n", waited);
    MPI_Finalize();
    return 0;
}
