/* Collectives, communicators, windows and files with sizes that a test can state. */
#include <mpi.h>
#include <stdio.h>

static int rank, ranks, in[64], out[64];

static void collectives(void)
{
    int counts[8], displacements[8];
    MPI_Request request;
    for (int i = 0; i < ranks; i++) {
        counts[i] = i + 1;
        displacements[i] = 8 * i;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Bcast(in, 10, MPI_INT, 1, MPI_COMM_WORLD);
    MPI_Gather(out, 2, MPI_INT, in, rank == 0 ? 2 : -7, rank == 0 ? MPI_INT : MPI_DATATYPE_NULL, 0,
               MPI_COMM_WORLD);
    MPI_Gatherv(out, rank + 1, MPI_INT, in, counts, displacements, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, in, 3, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 1, MPI_INT, MPI_COMM_WORLD);
    MPI_Exscan(out, in, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Iallreduce(out, in, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void communicators(void)
{
    MPI_Comm half, copy, nothing;
    MPI_Request request;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    MPI_Barrier(half);
    MPI_Comm_idup(half, &copy, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(copy);
    MPI_Comm_split(MPI_COMM_WORLD, rank ? MPI_UNDEFINED : 1, 0, &nothing);
    if (nothing != MPI_COMM_NULL)
        MPI_Comm_free(&nothing);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&half);
}

static void windows(void)
{
    MPI_Win window;
    MPI_Win_create(in, sizeof in, sizeof *in, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_fence(0, window);
    MPI_Put(out, 4, MPI_INT, (rank + 1) % ranks, 0, 4, MPI_INT, window);
    MPI_Win_fence(0, window);
    MPI_Win_free(&window);
}

static void files(const char *path)
{
    MPI_File file;
    MPI_Status status;
    MPI_Request request;
    MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_write_at_all(file, 64 * rank, out, 16, MPI_INT, &status);
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD); /* all have written */
    MPI_File_read_at(file, 64 * ranks - 4, in, 16, MPI_INT,
                     MPI_STATUS_IGNORE); /* 4 bytes are left there */
    MPI_File_iwrite_at(file, 64 * rank, out, 2, MPI_INT, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    collectives();
    communicators();
    windows();
    files(argv[1]);
    MPI_Finalize();
    return 0;
}
