/* variants.h: what variants.c and variants_stdio.c share. */
#include <errno.h>

/* Reports what must be recorded of the call just made. */
void line(const char *function, const char *op, long bytes, long offset, int error,
          const char *path);

/* Ends the program where the call itself went wrong. */
void check(int good, const char *what);

/* Descriptors that are copied, and bytes that go from one to another. */
void variants_of_copies(void);

/* STDIO and asynchronous I/O. */
void variants_of_stdio(void);

/* Functions that walk through directories. */
void variants_of_walks(void);

/* Of the file `data`, which `fd` has open. */
void variants_of_attributes(int fd);

#define OK(expression) check((expression) >= 0, #expression)
#define FAILS(expression, number)                                                                  \
    do {                                                                                           \
        errno = 0;                                                                                 \
        int failed = (expression) == -1;                                                           \
        check(failed && errno == number, #expression);                                             \
    } while (0)
