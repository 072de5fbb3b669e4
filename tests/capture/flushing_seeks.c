/* Writes a few bytes and reads them, with seeks in between that write and fill the buffer; prints
 * how long all of it took. */
#include <stdio.h>
#include <time.h>

enum { PIECES = 20000, BYTES = 16 };

int main(void)
{
    char piece[BYTES] = {0};
    FILE *file = tmpfile();
    if (!file)
        return 1;
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (long i = 0; i < PIECES; i++) {
        fseek(file, i * BYTES, SEEK_SET);
        fwrite(piece, 1, BYTES, file);
        fseek(file, i * BYTES, SEEK_SET);
        if (fread(piece, 1, BYTES, file) != BYTES)
            return 1;
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    double seconds = (double)(end.tv_sec - begin.tv_sec);
    printf("%.6f\n", seconds + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec));
    return 0;
}
