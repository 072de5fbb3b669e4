/* Some ranks do more than others; or I/O is not what costs. */

#include "planted.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

/* One rank of each two writes for both. */
static void every_other(void)
{
    for (int i = 0; i < 4; i++) {
        if (rank % 2 == 0) {
            int file = open_file("check", rank + ranks * i, O_CREAT | O_WRONLY);
            put(file, 8 * MB);
            put(file, 8 * MB);
            close(file);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void last_reads(void)
{
    int file = prepared("input.dat", 96);
    if (rank == ranks - 1)
        for (int i = 0; i < 96; i++)
            get_at(file, MB, (off_t)i * MB);
    MPI_Barrier(MPI_COMM_WORLD);
    close(file);
}

/* Equal bytes in each file, but one rank has most of the files. */
static void uneven_files(void)
{
    int files = 40 * (rank + 1) * (rank + 1);
    for (int i = 0; i < files; i++) {
        int file = open_file("zone", i * ranks + rank, O_CREAT | O_WRONLY);
        put(file, 100);
        close(file);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* As many calls everywhere, and the last rank has most of the bytes. */
static void uneven_sync(void)
{
    for (int i = 0; i < 4; i++) {
        int file = open_file("state", i * ranks + rank, O_CREAT | O_WRONLY);
        put(file, rank == ranks - 1 ? 16 * MB : 4 * MB);
        if (fsync(file))
            fail("fsync");
        close(file);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* Rank 0 hands out numbers in turn; each of the others appends lines for what it is given. */
static void handed_out(void)
{
    int task = 0, tasks = 1000;
    for (int given = 0; rank == 0 && given < tasks * (ranks - 1); given++)
        MPI_Send(&given, 1, MPI_INT, 1 + given % (ranks - 1), 0, MPI_COMM_WORLD);
    if (rank == 0)
        return;
    int file = open_file("results", rank, O_CREAT | O_WRONLY);
    while (tasks--) {
        MPI_Recv(&task, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int line = 0; line < 40; line++)
            put(file, 60);
    }
    close(file);
}

/* Rank 0 alone makes each step safe: few bytes, and the others wait. */
static void sync_of_one(void)
{
    for (int i = 0; i < 30; i++) {
        compute(0.001);
        if (rank == 0) {
            int file = open_file("state", -1, O_CREAT | O_WRONLY | O_APPEND);
            put(file, 8192);
            if (fsync(file))
                fail("fsync");
            close(file);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* Each rank has a file of its own, and rank 0 most of the bytes. */
static void most_of_one(void)
{
    int file = open_file("part", rank, O_CREAT | O_WRONLY);
    for (int i = 0; i < 8; i++) {
        for (int k = 0; k < (rank == 0 ? 24 : 1); k++)
            put(file, MB);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    close(file);
}

static void small_messages(void)
{
    char byte = 0;
    for (int i = 0; i < 150000; i++)
        MPI_Sendrecv_replace(&byte, 1, MPI_BYTE, rank ^ 1, 0, rank ^ 1, 0, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE);
    int file = open_file("result", rank, O_CREAT | O_WRONLY);
    put(file, 1000);
    close(file);
}

static void large_messages(void)
{
    for (int i = 0; i < 60; i++)
        MPI_Sendrecv_replace(data, 8 * MB, MPI_BYTE, rank ^ 1, 0, rank ^ 1, 0, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE);
}

static void log_lines(int lines)
{
    int file = open_file("log", rank, O_CREAT | O_WRONLY);
    for (int i = 0; i < lines; i++)
        put(file, 40);
    close(file);
}

/* Two wrongs: uneven computation, and small writes that take less. */
static void mostly_imbalance(void)
{
    for (int i = 0; i < 10; i++) {
        compute(rank == 1 ? 0.08 : 0.005);
        log_lines(12000);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* The same two, the other way round. */
static void mostly_lines(void)
{
    for (int i = 0; i < 4; i++) {
        compute(rank == 1 ? 0.02 : 0.005);
        log_lines(60000);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void *write_beside(void *unused)
{
    int file = open_file("history", rank, O_CREAT | O_WRONLY);
    for (int i = 0; i < 8; i++)
        put(file, MB);
    close(file);
    return unused;
}

/* A thread writes while the rank computes longer than that takes. */
static void writer_thread(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, write_beside, NULL))
        fail("pthread_create");
    compute(0.4);
    pthread_join(thread, NULL);
}

/* Work that the ranks share, and lines that rank 0 alone writes for all. */
static void lines_of_one(void)
{
    compute(0.4 / ranks);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        log_lines(60000);
}

/* Work that the ranks share, and messages that one rank would not need. */
static void messages_of_more(void)
{
    compute(0.4 / ranks);
    for (int i = 0; ranks > 1 && i < 60; i++)
        MPI_Sendrecv_replace(data, 8 * MB, MPI_BYTE, rank ^ 1, 0, rank ^ 1, 0, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE);
}

/* Work that the ranks share, but for what each of them does again. */
static void work_of_each(void)
{
    compute(0.3 / ranks + 0.3);
}

const struct program PLANTED_ROLES[] = {
    {"every_other", every_other},       {"last_reads", last_reads},
    {"uneven_files", uneven_files},     {"small_messages", small_messages},
    {"uneven_sync", uneven_sync},       {"handed_out", handed_out},
    {"large_messages", large_messages}, {"mostly_imbalance", mostly_imbalance},
    {"mostly_lines", mostly_lines},     {"writer_thread", writer_thread},
    {"lines_of_one", lines_of_one},     {"messages_of_more", messages_of_more},
    {"work_of_each", work_of_each},     {"sync_of_one", sync_of_one},
    {"most_of_one", most_of_one},       {NULL, NULL},
};
