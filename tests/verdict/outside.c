/* Writes 32 MB before MPI_Init and after MPI_Finalize, and says how long that took; with an
 * argument in between, but outside of what MPI_Pcontrol chooses. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { PIECES = 8, PIECE_BYTES = 4 << 20 };

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static double write_pieces(void)
{
    char name[64], *piece = calloc(1, PIECE_BYTES);
    snprintf(name, sizeof name, "outside.%d", (int)getpid());
    int file = open(name, O_CREAT | O_WRONLY, 0644);
    double begin = now();
    for (int i = 0; i < PIECES; i++)
        if (write(file, piece, PIECE_BYTES) != PIECE_BYTES)
            abort();
    fsync(file);
    double taken = now() - begin;
    close(file);
    free(piece);
    return taken;
}

static void compute(double seconds)
{
    for (double end = now() + seconds; now() < end;)
        ;
}

int main(int arguments, char **words)
{
    int chosen = arguments > 1;
    double outside = chosen ? 0 : write_pieces();
    MPI_Init(&arguments, &words);
    if (chosen) {
        outside += write_pieces();
        MPI_Pcontrol(1);
    }
    compute(0.1);
    MPI_Barrier(MPI_COMM_WORLD);
    if (chosen) {
        MPI_Pcontrol(0);
        outside += write_pieces();
    }
    MPI_Finalize();
    outside += chosen ? 0 : write_pieces();
    char text[64];
    int length = snprintf(text, sizeof text, "%.6f\n", outside);
    int file = open("outside.txt", O_CREAT | O_WRONLY | O_APPEND, 0644);
    return write(file, text, (size_t)length) != length;
}
