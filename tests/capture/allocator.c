/* allocator.c: a malloc that opens, reads and maps files, as tuned allocators do when they start;
 * preloaded beside capture. */
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char *at, *end;

static void *take(size_t bytes)
{
    bytes = (bytes + 31) & ~(size_t)15;
    if ((size_t)(end - at) < bytes) {
        char text[16];
        int file = open("/proc/sys/vm/overcommit_memory", O_RDONLY);
        if (file >= 0 && read(file, text, sizeof text) > 0)
            close(file);
        size_t more = bytes > 1 << 20 ? bytes : 1 << 20;
        at = mmap(NULL, more, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (at == MAP_FAILED)
            return NULL;
        end = at + more;
    }
    char *taken = at + 16;
    at += bytes;
    ((size_t *)taken)[-1] = bytes - 16;
    return taken;
}

void *malloc(size_t bytes)
{
    return take(bytes);
}
void *calloc(size_t count, size_t bytes)
{
    return take(count * bytes);
}
void free(void *taken)
{
    (void)taken;
}

void *realloc(void *old, size_t bytes)
{
    void *taken = take(bytes);
    if (old && taken) {
        size_t known = ((size_t *)old)[-1];
        memcpy(taken, old, known < bytes ? known : bytes);
    }
    return taken;
}
