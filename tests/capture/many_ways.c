/* many_ways.c: writes the same bytes in 2^DEPTH ways, which differ only in what called what, and
 * prints how many nanoseconds of processor time each write took. PAUSE: ms between them.
 *
 * usage: many_ways DEPTH ROUNDS [PAUSE]
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static char bytes[512];
static int file;
static volatile int returns;

/* A call from one place or from the other, by the lowest bit. */
__attribute__((noinline)) static void go(unsigned way, int depth)
{
    if (!depth) {
        if (pwrite(file, bytes, sizeof bytes, 0) != sizeof bytes)
            exit(1);
    } else if (way & 1) {
        go(way >> 1, depth - 1);
        returns++;
    } else {
        go(way >> 1, depth - 1);
        returns--;
    }
}

static double ran_ns(void)
{
    struct timespec ran;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ran);
    return (double)ran.tv_sec * 1e9 + (double)ran.tv_nsec;
}

int main(int count, char **words)
{
    if (count < 3)
        return 2;
    int depth = atoi(words[1]), rounds = atoi(words[2]), pause = count > 3 ? atoi(words[3]) : 0;
    file = open("written", O_CREAT | O_RDWR, 0600);
    double begin = ran_ns();
    for (int i = 0; i < rounds; i++)
        for (unsigned way = 0; way < 1u << depth; way++) {
            go(way, depth);
            if (pause)
                usleep((useconds_t)pause * 1000);
        }
    printf("%.1f\n", (ran_ns() - begin) / rounds / (1u << depth));
    return 0;
}
