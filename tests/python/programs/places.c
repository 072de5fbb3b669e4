/* Writes a history from a known place: main → step → write_history → synchronize. Ends by putting
 * the file "replacement", if there is one, in its own place. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define STAY __asm__ volatile("" ::: "memory")

static char buffer[1 << 20];

__attribute__((noinline)) static void synchronize(int file)
{
    fsync(file); // sync
    STAY;
}

__attribute__((noinline)) static void write_history(int file)
{
    for (int i = 0; i < 4; i++) {
        if (write(file, buffer, sizeof buffer) < 0) // write
            abort();
        synchronize(file);
    }
    STAY;
}

__attribute__((noinline)) static void step(int file)
{
    write_history(file);
    STAY;
}

int main(void)
{
    int file = open("history.dat", O_CREAT | O_WRONLY, 0600);
    for (int i = 0; i < 8; i++)
        step(file);
    rename("replacement", "model");
    return close(file);
}
