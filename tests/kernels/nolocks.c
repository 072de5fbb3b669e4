/* A preload: a file system without locks, as Lustre is when it is mounted without the option flock.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>

static int is_lock(int command)
{
    return command == F_SETLK || command == F_SETLKW || command == F_GETLK ||
           command == F_OFD_SETLK || command == F_OFD_SETLKW || command == F_OFD_GETLK;
}

static int control(const char *name, int descriptor, int command, void *argument)
{
    int (*real)(int, int, ...) = (int (*)(int, int, ...))dlsym(RTLD_NEXT, name);
    if (!is_lock(command))
        return real(descriptor, command, argument);
    errno = ENOSYS;
    return -1;
}

int fcntl(int descriptor, int command, ...)
{
    va_list rest;
    va_start(rest, command);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    return control("fcntl", descriptor, command, argument);
}

int fcntl64(int descriptor, int command, ...)
{
    va_list rest;
    va_start(rest, command);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    return control("fcntl64", descriptor, command, argument);
}

int flock(int descriptor, int operation)
{
    (void)descriptor, (void)operation;
    errno = ENOSYS;
    return -1;
}
