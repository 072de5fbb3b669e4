/* Prints what the host has stolen of processors 0 and 2, by a file in the form of /proc/stat. */
#include <stdio.h>

#include "../../capture/stolen.c"

int tailrace_calls_forbidden;

int main(int count, char **words)
{
    uint8_t set[CORES / 8] = {5};
    int file = system_open(words[count - 1], O_RDONLY, 0);
    printf("%llu\n", (unsigned long long)read_ticks(file, set));
    return 0;
}
