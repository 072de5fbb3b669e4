/* A library that calls MPI before main, and before capture's own constructor: as libmpi_cxx does,
 * which Open MPI 4 gives to every program that a C++ library of its distribution is linked into. */
#include <mpi.h>

int early_answer = -1;

__attribute__((constructor)) static void ask(void)
{
    MPI_Initialized(&early_answer);
}
