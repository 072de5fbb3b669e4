/* ranks DIRECTORY ENDING CALLS: every rank writes CALLS times to its own file, then the last rank
 * ends as told. Endings: finalize; forever (no rank stops writing: the test kills); abort;
 * mpi_abort; _exit; exec. */
#define _GNU_SOURCE
#include <mpi.h>
#include <string.h>

#include "counters.h"

static void write_all(int descriptor, int rank, uint64_t calls)
{
    for (uint64_t turn = 0; turn < calls; turn++)
        write_counted(descriptor, rank, turn);
}

/* MPICH's launcher loses what ranks have printed and it has not yet passed on when one aborts. */
static void end(const char *ending)
{
    usleep(300000);
    if (!strcmp(ending, "abort"))
        abort();
    if (!strcmp(ending, "mpi_abort"))
        MPI_Abort(MPI_COMM_WORLD, 5);
    if (!strcmp(ending, "_exit"))
        _exit(7);
    if (!strcmp(ending, "exec"))
        execl("/bin/echo", "echo", "replaced", "by", "echo", (char *)NULL);
}

int main(int arguments, char **argument)
{
    int rank, ranks;
    if (arguments != 4)
        fail("usage: ranks DIRECTORY ENDING CALLS");
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    open_counters(argument[1]);
    introduce(rank);
    int descriptor = open_data(argument[1], rank), forever = !strcmp(argument[2], "forever");
    MPI_Barrier(MPI_COMM_WORLD);
    write_all(descriptor, rank, forever ? UINT64_MAX : strtoull(argument[3], NULL, 10));
    printf("rank %d of %d has written\n", rank, ranks);
    fflush(stdout);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == ranks - 1)
        end(argument[2]);
    MPI_Finalize();
    return 0;
}
