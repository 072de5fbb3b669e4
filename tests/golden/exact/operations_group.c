/* Topologies and intercommunicators. */
#include <mpi.h>

#include "exact.h"

static MPI_Comm topology = MPI_COMM_NULL, between = MPI_COMM_NULL, merged = MPI_COMM_NULL;

MPI_Request *named_request(const struct call *call);

/* line: each rank's neighbours are the one before and the one after it, by MPI_Cart_create */
static void line(const struct call *call)
{
    const int size = (int)call->variables.ranks, periodic = 0;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &topology);
}

/* downwards: each rank receives from the one before it and sends to the one after it, by
 * MPI_Dist_graph_create_adjacent */
static void downwards(const struct call *call)
{
    const int rank = (int)call->variables.rank, ranks = (int)call->variables.ranks;
    const int before = rank - 1, after = rank + 1, weight = 1;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, rank > 0, &before, &weight, after < ranks,
                                   &after, &weight, MPI_INFO_NULL, 0, &topology);
}

/* ring: as an undirected graph, by MPI_Graph_create */
static void ring(const struct call *call)
{
    enum { MOST = 32 };
    const int ranks = (int)call->variables.ranks;
    int index[MOST], edges[2 * MOST];
    if (ranks > MOST)
        fail(call->instruction->line, "too many ranks for a", "ring");
    for (int rank = 0; rank < ranks; rank++) {
        index[rank] = 2 * (rank + 1);
        edges[2 * rank] = (rank + ranks - 1) % ranks;
        edges[2 * rank + 1] = (rank + 1) % ranks;
    }
    MPI_Graph_create(MPI_COMM_WORLD, ranks, index, edges, 0, &topology);
}

/* neighbours BYTES, of each neighbour */
static void neighbours(const struct call *call)
{
    MPI_Neighbor_alltoall(outgoing, (int)value(call, 0), MPI_BYTE, incoming, (int)value(call, 0),
                          MPI_BYTE, topology);
}

/* ineighbours REQUEST BYTES */
static void ineighbours(const struct call *call)
{
    MPI_Ineighbor_allgather(outgoing, (int)value(call, 1), MPI_BYTE, incoming, (int)value(call, 1),
                            MPI_BYTE, topology, named_request(call));
}

/* between: an intercommunicator of the lower and the upper half of the ranks; merge: one
 * communicator of both */
static void create_between(const struct call *call)
{
    const int rank = (int)call->variables.rank, half = (int)call->variables.ranks / 2;
    MPI_Comm local;
    MPI_Comm_split(MPI_COMM_WORLD, rank >= half, rank, &local);
    MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, rank >= half ? 0 : half, 7, &between);
    MPI_Comm_free(&local);
}

static void merge(const struct call *call)
{
    MPI_Intercomm_merge(between, call->variables.rank >= call->variables.ranks / 2, &merged);
}

const struct operation operations_group[] = {
    {"line", 0, line},
    {"downwards", 0, downwards},
    {"ring", 0, ring},
    {"neighbours", 1, neighbours},
    {"ineighbours", 2, ineighbours},
    {"between", 0, create_between},
    {"merge", 0, merge},
    {0},
};
