/* preload.h: capture's own entry in LD_PRELOAD, which not every program that is started can load. The
 * loader complains about each such program, on its stderr. Private to the core.
 */
#ifndef TAILRACE_PRELOAD_H
#define TAILRACE_PRELOAD_H

#include <stdbool.h>

/* Finds out where the library lies, while the loader may still be asked: after a fork it may not. */
void preload_prepare(void);

/* Whether the library is to be read where it lies. It is not for another user, perhaps, and in a
 * container. Asked of the kernel, as what follows. */
bool preload_is_readable(void);

/* Whether the program there, or the interpreter of the script, is one of this kind of processor. So
 * is what cannot be looked at. */
bool preload_fits(const char *path);
bool preload_fits_file(int file);

/* The list without the library, in its place. */
void preload_remove(char *list);

/* Takes the library out of the process's own LD_PRELOAD, for what it starts. No system call. */
void preload_forget(void);

/* Whether the list names the library. */
bool preload_names_own(const char *list);

#endif
