/* Every rank computes equally long between barriers, or between many small reductions, so that
 * nothing but too few cores can hold it back: shared_cores (barriers|reductions).
 *
 * A rank prints how long the kernel says that it waited for a core between MPI_Init and
 * MPI_Finalize, in nanoseconds.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static double processor_time(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static long long run_delay(void)
{
    long long running, delay = -1;
    FILE *file = fopen("/proc/self/schedstat", "r");
    if (!file)
        return -1;
    if (fscanf(file, "%lld %lld", &running, &delay) != 2)
        delay = -1;
    fclose(file);
    return delay;
}

static void compute(double seconds)
{
    double end = processor_time() + seconds;
    while (processor_time() < end)
        ;
}

static void step(int reductions)
{
    if (!reductions) {
        compute(0.2);
        MPI_Barrier(MPI_COMM_WORLD);
        return;
    }
    for (int i = 0; i < 100; i++) {
        double sum, own = i;
        compute(0.0005);
        MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    int reductions = argc > 1 && !strcmp(argv[1], "reductions");
    MPI_Init(&argc, &argv);
    long long before = run_delay();
    for (int i = 0; i < 4; i++)
        step(reductions);
    printf("%lld\n", run_delay() - before);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
