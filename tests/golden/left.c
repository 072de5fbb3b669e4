/* Rank 0 leaves two calls by longjmp and computes for 100 ms before, between and behind them:
 * MPI_Send to a rank that is none, from a handler of MPI's errors, and after 150 ms fcntl, which
 * waits for a lock that rank 1 holds, from a handler of SIGALRM. Rank 1 computes as long as all of
 * that takes. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

enum { PART = 100000, WAITED = 150000, ALL = 3 * PART + WAITED };

static sigjmp_buf before;
static struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

static void refused(MPI_Comm *communicator, int *error, ...)
{
    (void)communicator;
    (void)error;
    siglongjmp(before, 1);
}

static void alarmed(int signal)
{
    (void)signal;
    siglongjmp(before, 1);
}

static void leave_both(int file)
{
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(refused, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    usleep(PART);
    if (!sigsetjmp(before, 1))
        MPI_Send(&(int){0}, 1, MPI_INT, 77, 0, MPI_COMM_WORLD);
    usleep(PART);
    signal(SIGALRM, alarmed);
    if (!sigsetjmp(before, 1)) {
        setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, WAITED}}, NULL);
        fcntl(file, F_SETLKW, &whole);
    }
    usleep(PART);
}

int main(int count, char **arguments)
{
    int rank;
    MPI_Init(&count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int file = open("lock", O_RDWR | O_CREAT, 0600);
    if (rank)
        fcntl(file, F_SETLKW, &whole);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank)
        usleep(ALL);
    else
        leave_both(file);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
