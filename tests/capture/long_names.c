/* long_names.c: looks for COUNT files with names of nearly 4,096 bytes, none of which is there, and
 * prints for how long it ran, s.
 *
 * usage: long_names COUNT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int main(int count, char **arguments)
{
    char name[4000];
    struct timespec ran;
    if (count != 2)
        return 2;
    memset(name, '/', sizeof name);
    int names = atoi(arguments[1]);
    for (int i = 0; i < names; i++) {
        snprintf(name + sizeof name - 20, 20, "absent%d", i);
        if (!access(name, F_OK))
            return 1;
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ran);
    printf("%.9f\n", (double)ran.tv_sec + (double)ran.tv_nsec / 1e9);
    return 0;
}
