/* ended.c: ranks write 100 bytes after half a second of computing, and meet. Rank 1 then computes
 * for 1.5 s, without a call, and ends as the only argument says: killed, abort (MPI_Abort), exit
 * (_exit after MPI_Finalize), left (status 2 without it) or not early. Rank 0 computes for 0.2 s, so
 * that even on a busy machine it is in a barrier by then, in which a launcher may kill it. together:
 * both end by a system call of their own after 0.5 s, with status 3. hang: each waits for a message that
 * the other never sends, until another process has computed for half a second and kills both. */
#define _GNU_SOURCE
#include <assert.h>
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void compute(double seconds)
{
    double processor = (double)clock() / CLOCKS_PER_SEC + seconds;
    while ((double)clock() / CLOCKS_PER_SEC < processor)
        ;
}

int main(int argc, char **argv)
{
    char bytes[100] = "";
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const char *how = rank == 1 ? argv[1] : "";
    compute(0.5);
    int file = open(rank ? "ended.1" : "ended.0", O_CREAT | O_WRONLY, 0644);
    if (write(file, bytes, sizeof bytes) != sizeof bytes || close(file))
        return 1;
    MPI_Barrier(MPI_COMM_WORLD);
    if (!strcmp(argv[1], "hang")) {
        MPI_Request sent;
        MPI_Isend(bytes, 1, MPI_CHAR, rank, 0, MPI_COMM_WORLD, &sent);
        MPI_Recv(bytes + 1, 1, MPI_CHAR, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&sent, MPI_STATUS_IGNORE);
        if (!fork()) {
            compute(0.5);
            kill(getppid(), SIGKILL);
            _exit(0);
        }
        MPI_Recv(bytes, 1, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (!strcmp(argv[1], "together")) {
        compute(0.5);
        syscall(SYS_exit_group, 3);
    }
    compute(rank ? 1.5 : 0.2);
    if (!strcmp(how, "killed"))
        raise(SIGKILL);
    if (!strcmp(how, "abort"))
        MPI_Abort(MPI_COMM_WORLD, 9);
    if (!strcmp(how, "own_abort"))
        abort();
    assert(strcmp(how, "assertion"));
    if (!strcmp(how, "left"))
        return 2;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    if (!strcmp(how, "exit"))
        _exit(0);
    return 0;
}
