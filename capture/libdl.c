/* libdl.c: finds dlsym and its like (libdl.h). */
#define _GNU_SOURCE
#include "libdl.h"

#include <stddef.h>

#pragma weak dlsym
#pragma weak dlvsym
#pragma weak dlopen
#pragma weak dlclose
#pragma weak dladdr
#pragma weak dladdr1

/* What glibc itself loads its parts with. The versions that need libdl.so.2 all have these. */
void *__libc_dlopen_mode(const char *path, int mode) __attribute__((weak));
void *__libc_dlsym(void *handle, const char *name) __attribute__((weak));
enum { AS_DLOPEN = 1u << 31 };

struct libdl libdl;

/* Here, or in a libdl.so.2 that the program brought with it. */
static void take_linked(void)
{
    libdl.symbol_of_version = dlvsym;
    libdl.open = dlopen;
    libdl.close = dlclose;
    libdl.address = dladdr;
    libdl.address_more = dladdr1;
    __atomic_store_n(&libdl.symbol, dlsym, __ATOMIC_RELEASE);
}

static void *loaded(const char *name)
{
    return __libc_dlopen_mode && __libc_dlsym
               ? __libc_dlopen_mode(name, (int)(RTLD_LAZY | (unsigned)AS_DLOPEN))
               : NULL;
}

static void take_loaded(void)
{
    void *library = loaded("libdl.so.2");
    if (!library)
        return;
    __typeof__(libdl.symbol) symbol = (__typeof__(symbol))__libc_dlsym(library, "dlsym");
    libdl.symbol_of_version = (__typeof__(libdl.symbol_of_version))__libc_dlsym(library, "dlvsym");
    libdl.open = (__typeof__(libdl.open))__libc_dlsym(library, "dlopen");
    libdl.close = (__typeof__(libdl.close))__libc_dlsym(library, "dlclose");
    libdl.address = (__typeof__(libdl.address))__libc_dlsym(library, "dladdr");
    libdl.address_more = (__typeof__(libdl.address_more))__libc_dlsym(library, "dladdr1");
    if (libdl.open && libdl.close && libdl.address && libdl.address_more)
        __atomic_store_n(&libdl.symbol, symbol, __ATOMIC_RELEASE);
}

bool libdl_find(void)
{
    if (__atomic_load_n(&libdl.symbol, __ATOMIC_ACQUIRE))
        return true;
    if (dlsym && dlopen && dlclose && dladdr)
        take_linked();
    else
        take_loaded();
    return libdl.symbol != NULL;
}

void *libdl_symbol_of_libc(const char *name)
{
    void *library = loaded("libc.so.6");
    return library ? __libc_dlsym(library, name) : NULL;
}
