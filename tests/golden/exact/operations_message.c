/* Messages and requests. Optional last arguments: tag. Source `any` is MPI_ANY_SOURCE. */
#include <mpi.h>
#include <string.h>

#include "exact.h"

static char request_names[32][64];
static MPI_Request requests[32];

MPI_Request *named_request(const struct call *call);
int source_of(const struct call *call, int index);

static MPI_Request *request_of(const struct call *call)
{
    return &requests[slot(request_names, text(call, 0), call->instruction->line)];
}

MPI_Request *named_request(const struct call *call)
{
    return request_of(call);
}

int source_of(const struct call *call, int index)
{
    return strcmp(call->instruction->argument[index], "any") == 0 ? MPI_ANY_SOURCE
                                                                  : (int)value(call, index);
}

static int count(const struct call *call, int index)
{
    return (int)value(call, index);
}

static void send(const struct call *call)
{
    MPI_Send(outgoing, count(call, 1), MPI_BYTE, (int)value(call, 0), (int)value_or(call, 2, 0),
             MPI_COMM_WORLD);
}

static void ssend(const struct call *call)
{
    MPI_Ssend(outgoing, count(call, 1), MPI_BYTE, (int)value(call, 0), (int)value_or(call, 2, 0),
              MPI_COMM_WORLD);
}

static void recv(const struct call *call)
{
    MPI_Recv(incoming, count(call, 1), MPI_BYTE, source_of(call, 0), (int)value_or(call, 2, 0),
             MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* sendrecv DESTINATION SOURCE BYTES */
static void sendrecv(const struct call *call)
{
    MPI_Sendrecv(outgoing, count(call, 2), MPI_BYTE, (int)value(call, 0), 0, incoming,
                 count(call, 2), MPI_BYTE, source_of(call, 1), 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

/* mprobe SOURCE BYTES: a matched probe, then the receive of what it found */
static void mprobe(const struct call *call)
{
    MPI_Message message;
    MPI_Mprobe(source_of(call, 0), MPI_ANY_TAG, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(incoming, count(call, 1), MPI_BYTE, &message, MPI_STATUS_IGNORE);
}

/* isend REQUEST DESTINATION BYTES, irecv REQUEST SOURCE BYTES, and the same for persistent ones */
static void isend(const struct call *call)
{
    MPI_Isend(outgoing, count(call, 2), MPI_BYTE, (int)value(call, 1), 0, MPI_COMM_WORLD,
              request_of(call));
}

static void irecv(const struct call *call)
{
    MPI_Irecv(incoming, count(call, 2), MPI_BYTE, source_of(call, 1), 0, MPI_COMM_WORLD,
              request_of(call));
}

static void send_init(const struct call *call)
{
    MPI_Send_init(outgoing, count(call, 2), MPI_BYTE, (int)value(call, 1), 0, MPI_COMM_WORLD,
                  request_of(call));
}

static void recv_init(const struct call *call)
{
    MPI_Recv_init(incoming, count(call, 2), MPI_BYTE, source_of(call, 1), 0, MPI_COMM_WORLD,
                  request_of(call));
}

static void start(const struct call *call)
{
    MPI_Start(request_of(call));
}
static void wait(const struct call *call)
{
    MPI_Wait(request_of(call), MPI_STATUS_IGNORE);
}
static void free_request(const struct call *call)
{
    MPI_Request_free(request_of(call));
}

/* Polls until done: the time between two tests is useful to the accounts, but short. */
static void test(const struct call *call)
{
    for (int done = 0; !done;)
        MPI_Test(request_of(call), &done, MPI_STATUS_IGNORE);
}

const struct operation operations_message[] = {
    {"send", 2, send},           {"ssend", 2, ssend},
    {"recv", 2, recv},           {"sendrecv", 3, sendrecv},
    {"mprobe", 2, mprobe},       {"isend", 3, isend},
    {"irecv", 3, irecv},         {"send_init", 3, send_init},
    {"recv_init", 3, recv_init}, {"start", 1, start},
    {"wait", 1, wait},           {"request_free", 1, free_request},
    {"test", 1, test},           {0},
};
