/* Computes for SECONDS on one core that a child process spins on too, with a write every PAUSE ms,
 * and prints the core and how many nanoseconds the kernel says that it waited for it.
 */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static long long run_delay(void)
{
    long long running, delay = 0;
    FILE *file = fopen("/proc/self/schedstat", "r");
    if (!file || fscanf(file, "%lld %lld", &running, &delay) != 2)
        exit(77);
    fclose(file);
    return delay;
}

static void compute_until(double end)
{
    while (now() < end)
        ;
}

int main(int argc, char **argv)
{
    double end, seconds = argc > 1 ? atof(argv[1]) : 0.5;
    double pause = argc > 2 ? atof(argv[2]) / 1000 : 0.005;
    cpu_set_t allowed, own;
    int core = 0;
    sched_getaffinity(0, sizeof allowed, &allowed);
    while (!CPU_ISSET(core, &allowed))
        core++;
    CPU_ZERO(&own);
    CPU_SET(core, &own);
    sched_setaffinity(0, sizeof own, &own);
    pid_t child = fork();
    if (!child)
        compute_until(now() + 100);
    long long first = run_delay();
    for (end = now() + seconds; now() < end; write(1, "", 0))
        compute_until(now() + pause);
    printf("%d %lld\n", core, run_delay() - first);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return 0;
}
