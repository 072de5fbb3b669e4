/* glibc.h: what not every C library has of the functions that capture calls.
 *
 * The library is preloaded into whatever the command starts, programs of another C library (musl)
 * and of an older glibc (in a container) too, and a loader ends a program that lacks a symbol. So
 * these are weak. Where the first three are absent nothing is recorded, and none of them is called;
 * those of threads are absent where an older glibc has none yet. */
#ifndef TAILRACE_GLIBC_H
#define TAILRACE_GLIBC_H

#include <gnu/libc-version.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/auxv.h>

#include "clock.h"

#pragma weak gnu_get_libc_version
#pragma weak getauxval
#pragma weak pthread_key_create
#pragma weak pthread_setspecific
#pragma weak __pthread_register_cancel
#pragma weak __pthread_unregister_cancel
#pragma weak __register_atfork

int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void),
                      void *object);
extern void *__dso_handle __attribute__((visibility("hidden")));

static inline bool glibc_is_there(void)
{
    return gnu_get_libc_version && getauxval && clock_gettime;
}

/* In which the kernel's files count time. */
static inline unsigned long kernel_ticks_per_s(void)
{
    unsigned long ticks = getauxval(AT_CLKTCK);
    return ticks ? ticks : 100;
}

/* pthread_atfork, of which glibc links a copy into each library that asks for the symbol above. */
static inline void glibc_at_fork(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
    __register_atfork(prepare, parent, child, __dso_handle);
}

#endif
