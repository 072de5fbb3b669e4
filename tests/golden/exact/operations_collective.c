/* Collectives and communicators. The last argument may name a communicator made by `split`. */
#include <mpi.h>

#include "exact.h"

static char communicator_names[32][64];
static MPI_Comm communicators[32];

MPI_Request *named_request(const struct call *call);

static MPI_Comm communicator(const struct call *call, int index)
{
    if (index >= call->instruction->arguments)
        return MPI_COMM_WORLD;
    return communicators[slot(communicator_names, text(call, index), call->instruction->line)];
}

/* split NAME COLOR KEY */
static void split(const struct call *call)
{
    int place = slot(communicator_names, text(call, 0), call->instruction->line);
    MPI_Comm_split(MPI_COMM_WORLD, (int)value(call, 1), (int)value(call, 2), &communicators[place]);
}

static void barrier(const struct call *call)
{
    MPI_Barrier(communicator(call, 0));
}

static void ibarrier(const struct call *call)
{
    MPI_Ibarrier(communicator(call, 1), named_request(call));
}

/* allreduce BYTES, bcast ROOT BYTES, reduce ROOT BYTES, gather ROOT BYTES, scatter ROOT BYTES, scan
 * BYTES */
static void allreduce(const struct call *call)
{
    MPI_Allreduce(outgoing, incoming, (int)value(call, 0), MPI_BYTE, MPI_BOR,
                  communicator(call, 1));
}

static void alltoall(const struct call *call)
{
    MPI_Alltoall(outgoing, (int)value(call, 0), MPI_BYTE, incoming, (int)value(call, 0), MPI_BYTE,
                 communicator(call, 1));
}

static void bcast(const struct call *call)
{
    MPI_Bcast(incoming, (int)value(call, 1), MPI_BYTE, (int)value(call, 0), communicator(call, 2));
}

static void reduce(const struct call *call)
{
    MPI_Reduce(outgoing, incoming, (int)value(call, 1), MPI_BYTE, MPI_BOR, (int)value(call, 0),
               communicator(call, 2));
}

static void gather(const struct call *call)
{
    MPI_Gather(outgoing, (int)value(call, 1), MPI_BYTE, incoming, (int)value(call, 1), MPI_BYTE,
               (int)value(call, 0), communicator(call, 2));
}

static void scatter(const struct call *call)
{
    MPI_Scatter(outgoing, (int)value(call, 1), MPI_BYTE, incoming, (int)value(call, 1), MPI_BYTE,
                (int)value(call, 0), communicator(call, 2));
}

static void scan(const struct call *call)
{
    MPI_Scan(outgoing, incoming, (int)value(call, 0), MPI_BYTE, MPI_BOR, communicator(call, 1));
}

static void pcontrol(const struct call *call)
{
    MPI_Pcontrol((int)value(call, 0));
}

const struct operation operations_collective[] = {
    {"split", 3, split},         {"barrier", 0, barrier},   {"ibarrier", 1, ibarrier},
    {"allreduce", 1, allreduce}, {"alltoall", 1, alltoall}, {"bcast", 2, bcast},
    {"reduce", 2, reduce},       {"gather", 2, gather},     {"scatter", 2, scatter},
    {"scan", 1, scan},           {"pcontrol", 1, pcontrol}, {0},
};
