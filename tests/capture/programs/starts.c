/* starts.c: without a launcher; between MPI_Init and MPI_Finalize it starts so many processes. */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    for (int left = atoi(argv[1]); left; left--)
        if (system("true"))
            return 1;
    MPI_Finalize();
    return 0;
}
