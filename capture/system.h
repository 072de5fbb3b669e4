/* system.h: system calls of capture's own, made without libc.
 *
 * The core must not call open, write or mmap by name: those names are its own wrappers. Nor may it
 * touch errno, or need dlsym before it can work. Results are those of the kernel: negative errno on
 * failure.
 */
#ifndef TAILRACE_SYSTEM_H
#define TAILRACE_SYSTEM_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "valgrind.h"
#include "visibility.h"

/* Set for good where the program may have forbidden them: to try one could end it. */
extern TAILRACE_EXPORT_DATA int tailrace_calls_forbidden;

static inline long system_call(long number, long a, long b, long c, long d, long e, long f)
{
    if (__builtin_expect(tailrace_calls_forbidden, 0))
        return -EPERM;
#if defined(__x86_64__)
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory");
    return x0;
#else
#error                                                                                             \
    "capture knows the system calls of Linux on x86-64 and aarch64: add yours here and in clock.h"
#endif
}

static inline int system_openat(int directory, const char *path, int flags, int mode)
{
    return (int)system_call(SYS_openat, directory, (long)path, flags, mode, 0, 0);
}

static inline int system_open(const char *path, int flags, int mode)
{
    return system_openat(AT_FDCWD, path, flags, mode);
}

static inline void system_close(int descriptor)
{
    system_call(SYS_close, descriptor, 0, 0, 0, 0, 0);
}

static inline ssize_t system_read(int descriptor, void *buffer, size_t bytes)
{
    return system_call(SYS_read, descriptor, (long)buffer, (long)bytes, 0, 0, 0);
}

static inline ssize_t system_write(int descriptor, const void *buffer, size_t bytes)
{
    return system_call(SYS_write, descriptor, (long)buffer, (long)bytes, 0, 0, 0);
}

static inline ssize_t system_pwrite(int descriptor, const void *buffer, size_t bytes, off_t offset)
{
    return system_call(SYS_pwrite64, descriptor, (long)buffer, (long)bytes, offset, 0, 0);
}

static inline int system_fallocate(int descriptor, off_t offset, off_t bytes)
{
    return (int)system_call(SYS_fallocate, descriptor, 0, offset, bytes, 0, 0);
}

static inline int system_ftruncate(int descriptor, off_t bytes)
{
    return (int)system_call(SYS_ftruncate, descriptor, bytes, 0, 0, 0, 0);
}

static inline ssize_t system_readlink(const char *path, char *target, size_t bytes)
{
    return system_call(SYS_readlinkat, AT_FDCWD, (long)path, (long)target, (long)bytes, 0, 0);
}

/* NULL on failure. */
static inline void *system_map(size_t bytes, int flags, int descriptor, off_t offset)
{
    long address =
        system_call(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE, flags, descriptor, offset);
    return address < 0 && address > -4096 ? NULL : (void *)address;
}

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

static inline void *system_map_memory(size_t bytes)
{
    return system_map(bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static inline void system_unmap(void *address, size_t bytes)
{
    system_call(SYS_munmap, (long)address, (long)bytes, 0, 0, 0, 0);
}

static inline int system_advise(void *address, size_t bytes, int advice)
{
    return (int)system_call(SYS_madvise, (long)address, (long)bytes, advice, 0, 0, 0);
}

static inline int system_process(void)
{
    return (int)system_call(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

static __attribute__((noinline, unused)) bool system_can_copy(const void *address)
{
    char byte;
    struct iovec here = {&byte, 1}, there = {(void *)(uintptr_t)address, 1};
    return system_call(SYS_process_vm_readv, system_process(), (long)&here, 1, (long)&there, 1,
                       0) == 1;
}

/* Whether a byte can be read there: the kernel reads a set of signals, and then finds that it is to do
 * nothing with it. (mincore says only that something is mapped, be it out of reach.) Valgrind would
 * complain of that. */
static inline bool system_can_read(const void *address)
{
    enum { NO_CHANGE_OF_THE_MASK = -1, SET_BYTES = 8 };
    if (runs_under_valgrind())
        return system_can_copy(address);
    long set = (long)((uintptr_t)address & ~(uintptr_t)(SET_BYTES - 1));
    return system_call(SYS_rt_sigprocmask, NO_CHANGE_OF_THE_MASK, set, 0, SET_BYTES, 0, 0) ==
           -EINVAL;
}

static inline int system_thread(void)
{
    return (int)system_call(SYS_gettid, 0, 0, 0, 0, 0, 0);
}

/* The kernel's struct stat is libc's on the machines above. Follows links, as fstat. */
static inline int system_fstat(int descriptor, struct stat *status)
{
    return (int)system_call(SYS_fstat, descriptor, (long)status, 0, 0, 0, 0);
}

#endif
