/* libdl.c: finds dlsym and its like (libdl.h). */
#define _GNU_SOURCE
#include "libdl.h"

#include <stddef.h>
#include <stdint.h>

#pragma weak dlsym
#pragma weak dlvsym
#pragma weak dlopen
#pragma weak dlclose
#pragma weak dladdr
#pragma weak dladdr1
#pragma weak dlerror

/* What glibc itself loads its parts with. The versions that need libdl.so.2 all have these. */
void *__libc_dlopen_mode(const char *path, int mode) __attribute__((weak));
void *__libc_dlsym(void *handle, const char *name) __attribute__((weak));
enum { AS_DLOPEN = 1u << 31 };

struct libdl libdl, libdl_of_program;
static char *(*error_of_program)(void);

/* --- The program's error --- */

/* Since 2.34 glibc has a pointer of each thread to what dlerror() will tell, or has told: NULL where
 * there is nothing. It is as far from a variable of ours in all threads. */
static __thread char here __attribute__((tls_model("initial-exec")));
static uintptr_t errors_distance; /* 0: not known */

static void find_errors(void)
{
    __typeof__(libdl.symbol_of_version) symbol = libdl_of_program.symbol_of_version;
    void *error = symbol ? symbol(RTLD_DEFAULT, "__libc_dlerror_result", "GLIBC_PRIVATE") : NULL;
    if (error)
        errors_distance = (uintptr_t)error - (uintptr_t)&here;
}

bool libdl_keeps_errors(void)
{
    return errors_distance;
}

static void **current_error(void)
{
    return (void **)((uintptr_t)&here + errors_distance);
}

static void *put_aside(void)
{
    if (!errors_distance)
        return NULL;
    void *error = *current_error();
    *current_error() = NULL;
    return error;
}

/* That a question of ours had no answer is nothing to the program: told twice, it is forgotten. */
static void put_back(void *error, bool failed)
{
    if (failed && error_of_program) {
        error_of_program();
        error_of_program();
    }
    if (errors_distance)
        *current_error() = error;
}

static void *keeping_symbol(void *handle, const char *name)
{
    void *error = put_aside();
    void *address = libdl_of_program.symbol(handle, name);
    put_back(error, !address);
    return address;
}

static void *keeping_symbol_of_version(void *handle, const char *name, const char *version)
{
    void *error = put_aside();
    void *address = libdl_of_program.symbol_of_version(handle, name, version);
    put_back(error, !address);
    return address;
}

static void *keeping_open(const char *path, int mode)
{
    void *error = put_aside();
    void *handle = libdl_of_program.open(path, mode);
    put_back(error, !handle);
    return handle;
}

static int keeping_close(void *handle)
{
    void *error = put_aside();
    int result = libdl_of_program.close(handle);
    put_back(error, result);
    return result;
}

/* The last of them says that all are there. */
static void take_keeping(void)
{
    const struct libdl *its = &libdl_of_program;
    find_errors();
    libdl.symbol_of_version = its->symbol_of_version ? keeping_symbol_of_version : NULL;
    libdl.open = keeping_open;
    libdl.close = keeping_close;
    libdl.address = its->address;
    libdl.address_more = its->address_more;
    __atomic_store_n(&libdl.symbol, keeping_symbol, __ATOMIC_RELEASE);
}

/* --- Where they are --- */

/* Here, or in a libdl.so.2 that the program brought with it. */
static void take_linked(void)
{
    libdl_of_program = (struct libdl){dlsym, dlvsym, dlopen, dlclose, dladdr, dladdr1};
    error_of_program = dlerror;
    take_keeping();
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
    struct libdl *found = &libdl_of_program;
    found->symbol = (__typeof__(found->symbol))__libc_dlsym(library, "dlsym");
    found->symbol_of_version =
        (__typeof__(found->symbol_of_version))__libc_dlsym(library, "dlvsym");
    found->open = (__typeof__(found->open))__libc_dlsym(library, "dlopen");
    found->close = (__typeof__(found->close))__libc_dlsym(library, "dlclose");
    found->address = (__typeof__(found->address))__libc_dlsym(library, "dladdr");
    found->address_more = (__typeof__(found->address_more))__libc_dlsym(library, "dladdr1");
    error_of_program = (__typeof__(error_of_program))__libc_dlsym(library, "dlerror");
    if (found->symbol && found->open && found->close && found->address && found->address_more)
        take_keeping();
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
