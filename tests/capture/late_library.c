/* late_library.c: with -shared the library that the program opens after its first write and that
 * writes at once. */
#ifdef LATE
#include <unistd.h>
int late_write(int file)
{
    return write(file, "ab", 2) == 2 ? 0 : 1;
}
#else
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>
int main(int count, char **words)
{
    int file = open("late.out", O_CREAT | O_WRONLY, 0600);
    if (count < 2 || write(file, "a", 1) != 1)
        return 1;
    void *library = dlopen(words[1], RTLD_NOW);
    int (*late_write)(int) = library ? (int (*)(int))dlsym(library, "late_write") : NULL;
    int failed = !late_write;
    for (int i = 0; i < 3 && !failed; i++, usleep(2000))
        failed = late_write(file);
    return failed;
}
#endif
