/* topology.c: whom a rank's neighbourhood collectives receive from. */
#include <stdlib.h>

#include "flavour.h"

static int *cartesian(MPI_Comm comm, struct communicator *communicator)
{
    int dimensions = 0, found = 0;
    if (mpi.Cartdim_get(comm, &dimensions) != MPI_SUCCESS || dimensions < 0)
        return NULL;
    communicator->sources = communicator->destinations = 2 * dimensions;
    int *sources = malloc((2 * (size_t)dimensions + 1) * sizeof *sources);
    for (int i = 0; sources && i < dimensions; i++, found += 2)
        mpi.Cart_shift(comm, i, 1, &sources[found], &sources[found + 1]);
    return sources;
}

static int *undirected(MPI_Comm comm, struct communicator *communicator)
{
    int degree = 0;
    if (mpi.Graph_neighbors_count(comm, communicator->rank, &degree) != MPI_SUCCESS || degree < 0)
        return NULL;
    communicator->sources = communicator->destinations = degree;
    int *sources = malloc(((size_t)degree + 1) * sizeof *sources);
    if (sources)
        mpi.Graph_neighbors(comm, communicator->rank, degree, sources);
    return sources;
}

static int *directed(MPI_Comm comm, struct communicator *communicator)
{
    int weighted, *in = &communicator->sources, *out = &communicator->destinations;
    if (mpi.Dist_graph_neighbors_count(comm, in, out, &weighted) != MPI_SUCCESS || *in < 0 ||
        *out < 0)
        return NULL;
    size_t sources = (size_t)*in, all = sources + (size_t)*out;
    int *ranks = malloc((2 * all + 1) * sizeof *ranks), *weights = ranks + all;
    if (ranks)
        mpi.Dist_graph_neighbors(comm, *in, ranks, weights, *out, ranks + sources,
                                 weights + sources);
    return ranks;
}

int *topology_sources(MPI_Comm comm, struct communicator *communicator)
{
    int kind = MPI_UNDEFINED;
    if (communicator->inter || mpi.Topo_test(comm, &kind) != MPI_SUCCESS)
        return NULL;
    switch (kind) {
    case MPI_CART: return cartesian(comm, communicator);
    case MPI_GRAPH: return undirected(comm, communicator);
    case MPI_DIST_GRAPH: return directed(comm, communicator);
    default: return NULL;
    }
}
