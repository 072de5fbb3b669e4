/* quiet.h: writes of capture's own of which the program notices nothing, whatever becomes of them. */
#ifndef TAILRACE_QUIET_H
#define TAILRACE_QUIET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* As system_write, but no signal says that nobody reads the pipe (SIGPIPE), that the file is larger
 * than the limit allows (SIGXFSZ) or that the terminal is another's (SIGTTOU). */
ssize_t quiet_write(int descriptor, const void *bytes, size_t count);

/* Whether a read (POLLIN) or a write (POLLOUT) would find something, or room, without waiting for
 * whoever is at the other end. */
bool quiet_is_ready(int descriptor, short event);

#endif
