/* What glibc before 2.34 loads its own parts with, for programs of a newer one; preloaded together
 * with a capture whose dlsym and the like are called otherwise. WITHOUT_LIBDL: there is no
 * libdl.so.2 to be loaded. */
#include <dlfcn.h>
#include <string.h>

void *__libc_dlopen_mode(const char *path, int mode)
{
#ifdef WITHOUT_LIBDL
    if (strstr(path, "libdl"))
        return NULL;
#endif
    return dlopen(path, mode & (RTLD_LAZY | RTLD_NOW));
}

void *__libc_dlsym(void *handle, const char *name)
{
    return dlsym(handle, name);
}
