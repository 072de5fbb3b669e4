/* python.h: which line of a Python program a call comes from. Private to the core.
 *
 * Python lets go of its lock around system calls, so that none of its functions may be asked. Read
 * are the frames of the calling thread alone, which stand still while it is in a call, by the
 * layout that CPython 3.11 to 3.13 have.
 */
#ifndef TAILRACE_PYTHON_H
#define TAILRACE_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PYTHON_FRAMES = 12, /* of a path, from the innermost */
    PYTHON_TEXT = 1024, /* a file's name and a function's, with a zero byte between */
};

struct python_line {
    char text[PYTHON_TEXT];
    size_t bytes;
    uint32_t line;
};

/* Python is there and its layout known. */
extern int python_known;

/* Once a frame of Python's interpreter was seen: finds it. */
void python_look(void);

/* Differs where the calling thread's Python frames do; 0 where it has none. */
uint64_t python_hash(void);

/* The frames of the calling thread, from the innermost; how many there are. */
unsigned python_frames(const void *frames[PYTHON_FRAMES]);

/* Where in the program a frame is; false where that cannot be told. */
bool python_line(const void *frame, struct python_line *line);

#endif
