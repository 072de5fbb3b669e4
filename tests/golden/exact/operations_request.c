/* What becomes of requests beside their completion; exchanges and partitioned messages. */
#include <mpi.h>
#include <pthread.h>
#include <stddef.h>

#include "exact.h"

MPI_Request *named_request(const struct call *call);
int source_of(const struct call *call, int index);

/* isendrecv REQUEST DESTINATION SOURCE BYTES */
static void isendrecv(const struct call *call)
{
    const int bytes = (int)value(call, 3);
    MPI_Isendrecv(outgoing, bytes, MPI_BYTE, (int)value(call, 1), 0, incoming, bytes, MPI_BYTE,
                  source_of(call, 2), 0, MPI_COMM_WORLD, named_request(call));
}

static void cancel(const struct call *call)
{
    MPI_Cancel(named_request(call));
}

/* psend_init REQUEST DESTINATION BYTES, precv_init REQUEST SOURCE BYTES: in PARTITIONS equal parts
 */
enum { PARTITIONS = 2 };

static void psend_init(const struct call *call)
{
    MPI_Psend_init(outgoing, PARTITIONS, (MPI_Count)value(call, 2) / PARTITIONS, MPI_BYTE,
                   (int)value(call, 1), 0, MPI_COMM_WORLD, MPI_INFO_NULL, named_request(call));
}

static void precv_init(const struct call *call)
{
    MPI_Precv_init(incoming, PARTITIONS, (MPI_Count)value(call, 2) / PARTITIONS, MPI_BYTE,
                   (int)value(call, 1), 0, MPI_COMM_WORLD, MPI_INFO_NULL, named_request(call));
}

/* pready REQUEST PARTITION */
static void pready(const struct call *call)
{
    MPI_Pready((int)value(call, 1), *named_request(call));
}

/* thread_tells: the thread of the next thread_write sends its rank a message; hear_thread waits for
 * it. Needs EXACT_THREADS=multiple. */
enum { THREAD_TAG = 9 };

static void tell(void)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Send(NULL, 0, MPI_BYTE, rank, THREAD_TAG, MPI_COMM_WORLD);
}

static void thread_tells(const struct call *call)
{
    (void)call;
    thread_wrote = tell;
}

static void hear_thread(const struct call *call)
{
    MPI_Recv(NULL, 0, MPI_BYTE, (int)call->variables.rank, THREAD_TAG, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
}

/* thread_irecv REQUEST SOURCE BYTES: another thread posts the receive, and ends. Needs
 * EXACT_THREADS=multiple. */
static void *post_receive(void *argument)
{
    const struct call *call = argument;
    MPI_Irecv(incoming, (int)value(call, 2), MPI_BYTE, source_of(call, 1), 0, MPI_COMM_WORLD,
              named_request(call));
    return NULL;
}

static void thread_irecv(const struct call *call)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, post_receive, (void *)call))
        fail(call->instruction->line, "cannot start a thread", "");
    pthread_join(thread, NULL);
}

const struct operation operations_request[] = {
    {"isendrecv", 4, isendrecv},
    {"cancel", 1, cancel},
    {"psend_init", 3, psend_init},
    {"precv_init", 3, precv_init},
    {"pready", 2, pready},
    {"thread_tells", 0, thread_tells},
    {"hear_thread", 0, hear_thread},
    {"thread_irecv", 3, thread_irecv},
    {0},
};
