/* Waits, and meanwhile the host takes 3 s of the first processor that this one may use, by what
 * "stat" says, which is mounted at /proc/stat. */
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

int main(void)
{
    cpu_set_t set;
    int core = 0;
    if (sched_getaffinity(0, sizeof set, &set))
        return 1;
    while (!CPU_ISSET(core, &set))
        core++;
    usleep(50000);
    FILE *file = fopen("stat", "r+");
    if (!file)
        return 2;
    fprintf(file, "cpu%d 0 0 0 0 0 0 0 %ld 0 0\n", core, 3 * sysconf(_SC_CLK_TCK));
    return fclose(file) != 0;
}
