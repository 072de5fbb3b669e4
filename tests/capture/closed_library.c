/* closed_library.c: with -shared a library that writes, and is closed right after that. Where its
 * code was, the program puts code of its own, which writes at once; where its first page was, another
 * page; and where its tables were nothing. */
#ifdef CLOSED
#include <unistd.h>
int closed_write(int file)
{
    return write(file, "ab", 2) == 2 ? 0 : 1;
}
#else
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096 };
typedef int call(int (*function)(void));

static int file;

static int write_three(void)
{
    return write(file, "abc", 3) == 3 ? 0 : 1;
}

static void *put(uintptr_t address)
{
    void *page = (void *)(address & ~(uintptr_t)(PAGE - 1));
    void *put = mmap(page, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    return put == page ? page : NULL;
}

int main(int count, char **words)
{
    /* push %rbp; mov %rsp,%rbp; call *%rdi; pop %rbp; ret */
    static const uint8_t code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
    file = open("closed.out", O_CREAT | O_WRONLY, 0600);
    void *library = count > 1 ? dlopen(words[1], RTLD_NOW) : NULL;
    int (*closed_write)(int) = library ? (int (*)(int))dlsym(library, "closed_write") : NULL;
    Dl_info of;
    if (!closed_write || !dladdr((void *)closed_write, &of) || closed_write(file) ||
        dlclose(library))
        return 1;
    void *first = put((uintptr_t)of.dli_fbase), *page = put((uintptr_t)closed_write);
    if (!first || !page)
        return 2;
    memcpy(page, code, sizeof code);
    int failed = 0;
    for (int i = 0; i < 3 && !failed; i++, usleep(2000))
        failed = ((call *)page)(write_three);
    return failed;
}
#endif
