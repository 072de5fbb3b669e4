/* What the planted programs share: planted_*.c hold them, planted.c starts them. */

#ifndef PLANTED_H
#define PLANTED_H

#include <mpi.h>
#include <stddef.h>

enum { MB = 1 << 20 };

struct program {
    const char *name; /* null after the last */
    void (*run)(void);
};

extern const struct program PLANTED_BASIC[], PLANTED_COLLECTIVE[], PLANTED_NAMES[],
    PLANTED_REQUESTS[], PLANTED_ROLES[], PLANTED_WAITS[];

extern int rank, ranks;
extern char *data; /* 16 MB */

void fail(const char *what);
/* In the working directory; a number that is not negative becomes a suffix. */
int open_file(const char *name, int number, int flags);
void put(int file, size_t bytes);
void put_at(int file, size_t bytes, MPI_Offset offset);
void get_at(int file, size_t bytes, MPI_Offset offset);
void compute(double seconds);
/* Rank 0 makes a file of so many MB; the others wait. The file, opened for reading. */
int prepared(const char *name, int megabytes);

#endif
