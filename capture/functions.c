/* functions.c: finds the functions that ours stand in front of. */
#define _GNU_SOURCE
#include "functions.h"

#include <errno.h>
#include <stdarg.h>

#include "libdl.h"
#include "process.h"
#include "system.h"

any_function functions_real[FUNCTION_COUNT];

static const char *const names[FUNCTION_COUNT] = {
    "none",
#define FUNCTION(name, layer) #name,
#include "functions.def"
#undef FUNCTION
};

static const uint8_t layers[FUNCTION_COUNT] = {
    LAYER_POSIX,
#define FUNCTION(name, layer) layer,
#include "functions.def"
#undef FUNCTION
};

void functions_find_all(void)
{
    for (enum function function = FUNCTION_none + 1; function < FUNCTION_COUNT; function++)
        real_function(function);
}

/* All are looked for now: later it may be on the small stack of a signal handler. */
void functions_register(void)
{
    functions_find_all();
    tailrace_register_functions(0, FUNCTION_COUNT, names, layers);
}

/* --- Before dlsym can be asked --- */

/* An allocator may open or map something while dlsym, which may allocate, looks for open. These do
 * without. */

static long kernel_result(long result)
{
    if (result >= 0 || result < -4095)
        return result;
    errno = (int)-result;
    return -1;
}

static int plain_open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    int mode = va_arg(arguments, int);
    va_end(arguments);
    return (int)kernel_result(system_open(path, flags, mode));
}

static int plain_openat(int directory, const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    int mode = va_arg(arguments, int);
    va_end(arguments);
    return (int)kernel_result(system_openat(directory, path, flags, mode));
}

static ssize_t plain_read(int descriptor, void *buffer, size_t bytes)
{
    return kernel_result(system_read(descriptor, buffer, bytes));
}

static ssize_t plain_write(int descriptor, const void *buffer, size_t bytes)
{
    return kernel_result(system_write(descriptor, buffer, bytes));
}

static int plain_close(int descriptor)
{
    return (int)kernel_result(system_call(SYS_close, descriptor, 0, 0, 0, 0, 0));
}

static off_t plain_lseek(int descriptor, off_t offset, int whence)
{
    return kernel_result(system_call(SYS_lseek, descriptor, offset, whence, 0, 0, 0));
}

static void *plain_mmap(void *address, size_t bytes, int protection, int flags, int descriptor,
                        off_t offset)
{
    return (void *)kernel_result(
        system_call(SYS_mmap, (long)address, (long)bytes, protection, flags, descriptor, offset));
}

static long plain_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    return kernel_result(system_call(number, a, b, c, d, e, f));
}

static any_function without_dlsym(enum function function)
{
    switch (function) {
    case FUNCTION_open:
    case FUNCTION_open64: return (any_function)plain_open;
    case FUNCTION_openat:
    case FUNCTION_openat64: return (any_function)plain_openat;
    case FUNCTION_read: return (any_function)plain_read;
    case FUNCTION_write: return (any_function)plain_write;
    case FUNCTION_close: return (any_function)plain_close;
    case FUNCTION_lseek:
    case FUNCTION_lseek64: return (any_function)plain_lseek;
    case FUNCTION_mmap:
    case FUNCTION_mmap64: return (any_function)plain_mmap;
    case FUNCTION_syscall: return (any_function)plain_syscall;
    default: return 0;
    }
}

/* A function that this libc does not have: whoever calls it found only ours. */
static long missing(void)
{
    errno = ENOSYS;
    return -1;
}

any_function functions_find(enum function function)
{
    static __thread int searching __attribute__((tls_model("initial-exec")));
    if (searching && without_dlsym(function))
        return without_dlsym(function);
    int saved = errno;
    searching++;
    any_function found = (any_function)(libdl_find() ? libdl.symbol(RTLD_NEXT, names[function])
                                                     : libdl_symbol_of_libc(names[function]));
    searching--;
    errno = saved;
    if (!found)
        found = (any_function)missing;
    __atomic_store_n(&functions_real[function], found, __ATOMIC_RELAXED);
    return found;
}
