/* Programs whose output is written by a routine of its own, or is not: routines NAME DIRECTORY.
 *
 * What each routine takes, all ranks together, they measure themselves: rank 0 prints a line
 * `ROUTINE SECONDS` for each of `truth`, and `run SECONDS` for the time loop times the ranks.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROUTINE static __attribute__((noinline)) void

enum { STEPS = 8, LINES = 6000, WIDTH = 40, ROUTINES = 3 };

static int rank, ranks;
static char text[LINES * WIDTH + 1];
static FILE *output, *history;
static struct {
    const char *name;
    double seconds;
} truth[ROUTINES];

static void spent(const char *name, double since)
{
    int i = 0;
    while (truth[i].name && strcmp(truth[i].name, name))
        i++;
    truth[i].name = name;
    truth[i].seconds += MPI_Wtime() - since;
}

static void compute(double seconds)
{
    for (double until = MPI_Wtime() + seconds; MPI_Wtime() < until;)
        continue;
}

static void halo(void)
{
    char edge[1024] = "";
    for (int i = 0; i < 4; i++)
        MPI_Sendrecv_replace(edge, sizeof edge, MPI_BYTE, rank ^ 1, 0, rank ^ 1, 0, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE);
}

static size_t format(int step)
{
    char *at = text;
    for (int i = 0; i < LINES; i++)
        at += snprintf(at, WIDTH, "%d %d %.6g %.6g\n", step, i, step / (i + 1.0), i / (step + 7.0));
    return (size_t)(at - text);
}

/* Rank 0 writes what all have formatted. */
static void gather(FILE *file, size_t bytes)
{
    if (rank != 0) {
        MPI_Send(text, (int)bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
        return;
    }
    fwrite(text, 1, bytes, file);
    for (int other = 1; other < ranks; other++) {
        MPI_Status status;
        int count;
        MPI_Recv(text, sizeof text, MPI_BYTE, other, 1, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_BYTE, &count);
        fwrite(text, 1, (size_t)count, file);
    }
    fflush(file);
}

static FILE *opened(const char *name)
{
    FILE *file = rank == 0 ? fopen(name, "w") : NULL;
    if (rank == 0 && !file)
        MPI_Abort(MPI_COMM_WORLD, 1);
    return file;
}

static void closed(FILE *file)
{
    if (file)
        fclose(file);
}

/* --- Each formats, rank 0 gathers and writes --- */

ROUTINE dump(int step)
{
    double begin = MPI_Wtime();
    long long local = LINES, all;
    MPI_Allreduce(&local, &all, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    size_t bytes = format(step);
    MPI_Allreduce(MPI_IN_PLACE, &local, 1, MPI_LONG_LONG, MPI_MAX, MPI_COMM_WORLD);
    gather(output, bytes);
    spent("dump", begin);
}

ROUTINE run_dump(void)
{
    for (int step = 0; step < STEPS; step++) {
        compute(0.005);
        halo();
        dump(step);
    }
}

/* --- The time loop opens and writes itself --- */

ROUTINE run_direct(void)
{
    double begin = MPI_Wtime();
    output = opened("run.txt");
    for (int step = 0; step < STEPS; step++) {
        halo();
        compute(0.02);
        size_t bytes = format(step);
        int most = (int)bytes;
        MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        if (rank == 0) {
            fwrite(text, 1, bytes, output);
            fflush(output);
        }
        for (int i = 0; i < 4; i++)
            MPI_Barrier(MPI_COMM_WORLD);
    }
    closed(output);
    spent("run_direct", begin);
}

/* --- Each step computes and writes --- */

ROUTINE step_direct(int step)
{
    double begin = MPI_Wtime();
    halo();
    compute(0.02);
    if (rank == 0) {
        fprintf(output, "step %d\n", step);
        fflush(output);
    }
    spent("step_direct", begin);
}

ROUTINE run_step_direct(void)
{
    for (int step = 0; step < STEPS; step++) {
        step_direct(step);
        compute(0.015);
        double residual = step;
        MPI_Allreduce(MPI_IN_PLACE, &residual, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
}

/* --- Once, at the end --- */

ROUTINE run_once(void)
{
    for (int step = 0; step < STEPS; step++) {
        compute(0.005);
        halo();
    }
    for (int part = 0; part < 1; part++)
        dump(part);
}

/* --- One routine inside another --- */

ROUTINE write_field(int field)
{
    double begin = MPI_Wtime();
    long long local = field;
    MPI_Bcast(&local, 1, MPI_LONG_LONG, 0, MPI_COMM_WORLD);
    size_t bytes = format(field);
    gather(output, bytes);
    spent("write_field", begin);
}

ROUTINE write_history(int step)
{
    double begin = MPI_Wtime();
    MPI_Barrier(MPI_COMM_WORLD);
    for (int field = 0; field < 3; field++)
        write_field(step + field);
    MPI_Barrier(MPI_COMM_WORLD);
    spent("write_history", begin);
}

ROUTINE run_nested(void)
{
    for (int step = 0; step < STEPS; step++) {
        compute(0.005);
        halo();
        write_history(step);
    }
}

/* --- A routine that calls itself --- */

ROUTINE write_tree(int level)
{
    MPI_Barrier(MPI_COMM_WORLD);
    size_t bytes = format(level);
    gather(output, bytes);
    if (level > 0) {
        write_tree(level - 1);
        write_tree(level - 1);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

ROUTINE run_recursive(void)
{
    for (int step = 0; step < STEPS; step++) {
        compute(0.005);
        halo();
        double begin = MPI_Wtime();
        write_tree(1);
        spent("write_tree", begin);
    }
}

/* --- A routine whose last call is a jump --- */

ROUTINE write_all(size_t bytes)
{
    gather(output, bytes);
    MPI_Barrier(MPI_COMM_WORLD);
}

static __attribute__((noinline, optimize("O2"))) void tail_dump(int step)
{
    MPI_Barrier(MPI_COMM_WORLD);
    size_t bytes = format(step);
    MPI_Barrier(MPI_COMM_WORLD);
    write_all(bytes);
}

ROUTINE run_tail(void)
{
    for (int step = 0; step < STEPS; step++) {
        compute(0.005);
        halo();
        double begin = MPI_Wtime();
        tail_dump(step);
        spent("tail_dump", begin);
    }
}

/* --- Two routines, two files --- */

ROUTINE restart(int step)
{
    double begin = MPI_Wtime();
    MPI_Barrier(MPI_COMM_WORLD);
    size_t bytes = format(step);
    bytes = format(step);
    MPI_Barrier(MPI_COMM_WORLD);
    gather(history, bytes);
    spent("restart", begin);
}

ROUTINE run_two(void)
{
    history = opened("restart.txt");
    for (int step = 0; step < STEPS; step++) {
        compute(0.005);
        halo();
        dump(step);
        halo();
        restart(step);
    }
    closed(history);
}

/* --- A computation that logs a line --- */

ROUTINE solve(int step)
{
    double begin = MPI_Wtime();
    halo();
    compute(0.02);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        fprintf(output, "step %d\n", step);
        fflush(output);
    }
    spent("solve", begin);
}

ROUTINE run_log(void)
{
    for (int step = 0; step < STEPS; step++) {
        solve(step);
        for (int i = 0; i < 4; i++)
            halo();
        compute(0.01);
    }
}

/* --- Each step exchanges, computes and writes much --- */

ROUTINE step_bulk(int step)
{
    double begin = MPI_Wtime();
    halo();
    size_t bytes = format(step);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        fwrite(text, 1, bytes, output);
        fflush(output);
    }
    spent("step_bulk", begin);
}

ROUTINE run_bulk(void)
{
    for (int step = 0; step < STEPS; step++) {
        step_bulk(step);
        for (int i = 0; i < 4; i++)
            MPI_Barrier(MPI_COMM_WORLD);
        compute(0.01);
    }
}

/* --- A routine that is entered again with nothing in between but computation --- */

ROUTINE put_field(int field, int fields)
{
    double begin = MPI_Wtime();
    if (field == 0 && rank == 0)
        output = freopen("fields.txt", "w", output);
    if (rank == 0) {
        fwrite(text, 1, LINES * WIDTH / 2, output);
        fflush(output);
    }
    if (field == fields - 1)
        MPI_Barrier(MPI_COMM_WORLD);
    spent("put_field", begin);
}

ROUTINE run_between(void)
{
    format(0);
    for (int step = 0; step < STEPS; step++) {
        for (int field = 0; field < 4; field++) {
            compute(0.01);
            put_field(field, 4);
        }
        halo();
    }
}

/* --- The same, with another line that writes each second time --- */

ROUTINE put_part(int part)
{
    double begin = MPI_Wtime();
    if (rank == 0 && part % 2 == 0) {
        fwrite(text, 1, LINES * WIDTH / 2, output);
        fflush(output);
    } else if (rank == 0) {
        rewind(output);
        fwrite(text, 1, LINES * WIDTH / 2, output);
        fflush(output);
    }
    spent("put_part", begin);
}

ROUTINE run_alternate(void)
{
    format(0);
    for (int step = 0; step < STEPS; step++) {
        for (int part = 0; part < 4; part++) {
            compute(0.01);
            put_part(part);
        }
        halo();
    }
}

static const struct program {
    const char *name;
    void (*run)(void);
} programs[] = {
    {"dump", run_dump},       {"direct", run_direct}, {"step", run_step_direct},
    {"once", run_once},       {"nested", run_nested}, {"recursive", run_recursive},
    {"tail", run_tail},       {"two", run_two},       {"log", run_log},
    {"between", run_between}, {"bulk", run_bulk},     {"alternate", run_alternate},
};

static void told(const char *name, double seconds)
{
    double sum = 0;
    MPI_Reduce(&seconds, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%s %.6f\n", name, sum);
}

int main(int arguments, char **words)
{
    if (arguments != 3 || chdir(words[2]))
        return 2;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    output = opened("output.txt");
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        if (!strcmp(words[1], programs[i].name))
            programs[i].run();
    double seconds = MPI_Wtime() - begin;
    if (strcmp(words[1], "direct"))
        closed(output);
    for (int i = 0; i < ROUTINES; i++)
        if (truth[i].name)
            told(truth[i].name, truth[i].seconds);
    told("run", seconds);
    MPI_Finalize();
    return 0;
}
