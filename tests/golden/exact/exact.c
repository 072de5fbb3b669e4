/* exact CASE: runs the program of a case file and leaves its own account in EXACT_RESULTS/rank.N.
 * Built with EXACT_SERIAL it is a program without MPI that knows only the operations of
 * operations_posix.c. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef EXACT_SERIAL
#include <mpi.h>
#endif

#include "exact.h"

char *outgoing, *incoming;

#ifdef EXACT_SERIAL
const struct operation operations_message[] = {{0}}, operations_collective[] = {{0}},
                       operations_shared[] = {{0}}, operations_group[] = {{0}},
                       operations_request[] = {{0}};

static void run(const struct program *program, struct variables *variables)
{
    *variables = (struct variables){.rank = 0, .ranks = 1};
    account.waited_ns = -waited_ns();
    account.begin_ns = now_ns();
    run_program(program, *variables);
    account.end_ns = now_ns();
    account.waited_ns += waited_ns();
}
#else
static void run(const struct program *program, struct variables *variables)
{
    int provided, rank, ranks;
    MPI_Init_thread(NULL, NULL, getenv("EXACT_THREADS") ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED,
                    &provided);
    account.waited_ns = -waited_ns();
    account.begin_ns = now_ns();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    *variables = (struct variables){.rank = rank, .ranks = ranks};
    MPI_Barrier(MPI_COMM_WORLD); /* the cases reckon from a common start */
    run_program(program, *variables);
    account.end_ns = now_ns();
    account.waited_ns += waited_ns();
    MPI_Finalize();
}
#endif

static void leave_account(const struct variables *variables)
{
    char path[4096];
    const char *directory = getenv("EXACT_RESULTS");
    if (!directory)
        return;
    snprintf(path, sizeof path, "%s/rank.%" PRId64, directory, variables->rank);
    FILE *file = fopen(path, "w");
    if (!file)
        fail(0, "cannot write", path);
    const int64_t numbers[] = {account.begin_ns, account.end_ns,  account.useful_ns,
                               account.file_ns,  account.late_ns, account.waited_ns};
    for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++)
        fprintf(file, "%" PRId64 "\n", numbers[n]);
    fclose(file);
}

int main(int arguments, char **argument)
{
    static struct program program;
    struct variables variables;
    if (arguments != 2)
        fail(0, "usage: exact", "CASE");
    read_program(argument[1], &program);
    outgoing = calloc(1, BUFFER_BYTES);
    incoming = calloc(1, BUFFER_BYTES);
    if (!outgoing || !incoming)
        fail(0, "no memory", "");
    run(&program, &variables);
    leave_account(&variables);
    return 0;
}
