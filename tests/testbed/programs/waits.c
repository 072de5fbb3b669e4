/* Says that it has begun, by a file of that name, and goes on for `argv[2]` tenths of a second. */
#include <fcntl.h>
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

int main(int count, char **arguments)
{
    int rank;
    MPI_Init(&count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int file = open("/dev/null", O_WRONLY);
    for (int i = 0; i < atoi(arguments[2]); i++) {
        if (write(file, "x", 1) != 1)
            return 1;
        MPI_Barrier(MPI_COMM_WORLD);
        if (i == 2 && rank == 0)
            close(open(arguments[1], O_WRONLY | O_CREAT, 0600));
        usleep(100000);
    }
    MPI_Finalize();
}
