/* Has data compressed by a function that is called compress2: zlib's, on the main thread or on
 * another, or where OWN is defined that of another library, which is here, too (LIBRARY), and takes
 * other arguments. Prints for how long it was in there, s: compressing main|thread. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CALLS = 5, BYTES = 4000000, ROOM = BYTES * 2 };

#if defined(LIBRARY)
double compress2(double first, double second);
double compress2(double first, double second)
{
    return first - second;
}
#else
#ifdef OWN
double compress2(double, double);

static void *compress(void *data)
{
    (void)data;
    if (compress2(3, 2) != 1)
        exit(1);
    return NULL;
}
#else
int compress2(unsigned char *, unsigned long *, const unsigned char *, unsigned long, int);

static void *compress(void *data)
{
    unsigned char *made = malloc(ROOM);
    for (int i = 0; i < CALLS; i++) {
        unsigned long bytes = ROOM;
        if (compress2(made, &bytes, data, BYTES, 6))
            exit(1);
    }
    free(made);
    return NULL;
}
#endif

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int count, char **words)
{
    unsigned char *data = malloc(BYTES);
    pthread_t thread;
    FILE *file = fopen("out", "w"); /* a call of the main thread's */
    if (count != 2 || !file)
        return 2;
    for (int i = 0; i < BYTES; i++)
        data[i] = (unsigned char)(rand() % 50);
    double begin = now();
    if (!strcmp(words[1], "main"))
        compress(data);
    else if (pthread_create(&thread, NULL, compress, data) || pthread_join(thread, NULL))
        return 1;
    printf("%.9f\n", now() - begin);
    return fclose(file);
}
#endif
