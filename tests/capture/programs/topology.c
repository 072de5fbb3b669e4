/* Communicators with a topology, on 3 ranks: whom each receives from. */
#include <mpi.h>

int main(int count, char **arguments)
{
    const int torus[] = {3}, around[] = {1}, open[] = {0}, index[] = {1, 3, 4},
              edges[] = {1, 0, 2, 1};
    int rank, sent = 1, received[8] = {0};
    MPI_Comm of[5];
    MPI_Init(&count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Cart_create(MPI_COMM_WORLD, 1, torus, around, 0, &of[0]);
    MPI_Cart_create(MPI_COMM_WORLD, 1, torus, open, 0, &of[1]);
    MPI_Graph_create(MPI_COMM_WORLD, 3, index, edges, 0, &of[2]);
    /* everyone sends to rank 0 */
    const int everyone[] = {0, 1, 2}, none = 0, ones[] = {1, 1, 1};
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, rank ? 0 : 3, everyone, ones, 1, &none, ones,
                                   MPI_INFO_NULL, 0, &of[3]);
    MPI_Comm_dup(of[3], &of[4]);
    for (int i = 0; i < 5; i++) {
        MPI_Neighbor_allgather(&sent, 1, MPI_INT, received, 1, MPI_INT, of[i]);
        MPI_Comm_free(&of[i]);
    }
    MPI_Finalize();
    return 0;
}
