/* Every kind of point-to-point communication and completion, once, with known partners, tags and
 * sizes. */
#include <mpi.h>
#include <stdio.h>

static int rank, ranks, left, right, in[8], out[8];

static void blocking(void)
{
    MPI_Status status;
    int flag = 0;
    MPI_Message message;
    MPI_Sendrecv(out, 3, MPI_INT, right, 1, in, 3, MPI_INT, left, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    if (rank % 2 == 0)
        MPI_Ssend(out, 5, MPI_INT, right, 2, MPI_COMM_WORLD);
    MPI_Recv(in, 8, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank % 2)
        MPI_Ssend(out, 5, MPI_INT, right, 2, MPI_COMM_WORLD);
    MPI_Send(out, 2, MPI_INT, right, 3, MPI_COMM_WORLD);
    MPI_Mprobe(MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(in, 8, MPI_INT, &message, &status);
    MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    MPI_Send(out, 1, MPI_INT, MPI_PROC_NULL, 9, MPI_COMM_WORLD);
}

static void completed_by_all_kinds(void)
{
    MPI_Request requests[4];
    int index, done, flag = 0, indices[4];
    MPI_Irecv(&in[0], 1, MPI_INT, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(&out[0], 1, MPI_INT, right, 4, MPI_COMM_WORLD, &requests[1]);
    requests[2] = requests[3] = MPI_REQUEST_NULL;
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    MPI_Irecv(&in[1], 1, MPI_INT, left, 5, MPI_COMM_WORLD, &requests[0]);
    MPI_Send(&out[1], 1, MPI_INT, right, 5, MPI_COMM_WORLD);
    MPI_Waitany(4, requests, &index, MPI_STATUS_IGNORE);
    MPI_Irecv(&in[2], 1, MPI_INT, MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, &requests[3]);
    MPI_Send(&out[2], 1, MPI_INT, right, 6, MPI_COMM_WORLD);
    MPI_Waitsome(4, requests, &done, indices, MPI_STATUSES_IGNORE);
    MPI_Irecv(&in[3], 1, MPI_INT, left, 7, MPI_COMM_WORLD, &requests[0]);
    MPI_Send(&out[3], 1, MPI_INT, right, 7, MPI_COMM_WORLD);
    while (!flag)
        MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
}

static void persistent(void)
{
    MPI_Request requests[2];
    MPI_Recv_init(in, 4, MPI_INT, left, 8, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init(out, 4, MPI_INT, right, 8, MPI_COMM_WORLD, &requests[1]);
    for (int i = 0; i < 2; i++) {
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE); /* inactive: completes nothing */
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    MPI_Irecv(in, 1, MPI_INT, left, 100, MPI_COMM_WORLD, &requests[0]);
    MPI_Cancel(&requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    right = (rank + 1) % ranks;
    left = (rank + ranks - 1) % ranks;
    blocking();
    completed_by_all_kinds();
    persistent();
    MPI_Finalize();
    printf("done\n");
    return 0;
}
