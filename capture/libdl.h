/* libdl.h: dlsym and its like, wherever the C library of the program keeps them. Private to the core.
 *
 * Since version 2.34 glibc has them itself, before in a library of their own, libdl.so.2. Capture
 * does not name that among what it needs: where it lacks, the program would not start, and where
 * glibc has them, each process would open it in vain. */
#ifndef TAILRACE_LIBDL_H
#define TAILRACE_LIBDL_H

#include <dlfcn.h>
#include <stdbool.h>

struct libdl {
    void *(*symbol)(void *handle, const char *name);
    void *(*symbol_of_version)(void *handle, const char *name, const char *version); /* glibc's */
    void *(*open)(const char *path, int mode);
    int (*close)(void *handle);
    int (*address)(const void *address, Dl_info *info);
    int (*address_more)(const void *address, Dl_info *info, void **more, int kind); /* glibc's */
};

/* For capture's own questions: what dlerror() will tell the program, and the text that it last told,
 * stay. */
extern struct libdl libdl;

/* As the program calls them. */
extern struct libdl libdl_of_program;

/* Fills them in; false where there are none. Asked again it says the same at once. */
bool libdl_find(void);

/* Whether that holds: of glibc before 2.34 nobody knows where it keeps the error, so that each
 * question loses it. */
bool libdl_keeps_errors(void);

/* A function of the C library itself where there are none: what stands before it is passed over. */
void *libdl_symbol_of_libc(const char *name);

#endif
