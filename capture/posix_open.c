/* posix_open.c: calls that open, close and copy descriptors. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "newer.h"
#include "process.h"
#include "wrap.h"

int __open_2(const char *, int);
int __open64_2(const char *, int);
int __openat_2(int, const char *, int);
int __openat64_2(int, const char *, int);

/* --- Opening --- */

static bool is_nameless(int flags)
{
    return (flags & O_TMPFILE) == O_TMPFILE;
}

/* The mode is an argument only with these flags; reading it otherwise would be reading garbage,
 * though harmless. */
static bool has_mode(int flags)
{
    return (flags & O_CREAT) || is_nameless(flags);
}

/* What a write to such a file waits for, and that no read of it is served from memory. */
static FEW_CALLS void note_flags(int flags, int directory, const char *path)
{
    if (flags & O_DIRECT)
        path_note_opened("direct", directory, path);
    if (flags & O_DSYNC)
        path_note_opened("synchronous", directory, path);
}

/* A file without a name (O_TMPFILE) is not the directory that it is opened in: the kernel knows it
 * by its number there. */
static inline uint32_t opened(int result, int directory, const char *path, int flags, int error)
{
    if (LIKELY(error || !is_nameless(flags)))
        return descriptor_opened(result, directory, path, error);
    descriptor_set(result, DESCRIPTOR_UNKNOWN);
    return descriptor_find(result);
}

static inline void end_open(struct stream *stream, struct call *call, int result, int directory,
                            const char *path, int flags)
{
    uint64_t end = clock_now();
    int error = result < 0 ? errno : 0;
    uint32_t file = opened(result, directory, path, flags, error);
    file = file_of_call(stream, call, end, result, file);
    unsigned creates = has_mode(flags) ? FILE_CREATES : 0;
    unsigned appends = flags & O_APPEND ? FILE_APPENDS : 0;
    end_file_call(stream, call, end, FILE_OPEN, creates | appends, file, 0, 0, error);
    if (UNLIKELY(flags & (O_DIRECT | O_DSYNC)) && !error)
        note_flags(flags, directory, path);
    if (error)
        errno = error;
}

/* Where a call is not recorded, the table must still forget what the number stood for. */
static EACH_CALL void end_any_open(struct stream *stream, struct call *call, int result,
                                   int directory, const char *path, int flags)
{
    if (stream)
        end_open(stream, call, result, directory, path, flags);
    else if (result >= 0)
        descriptor_set(result, DESCRIPTOR_UNKNOWN);
}

#define OPEN(name, parameters, arguments, directory, path, flags, before)                          \
    TAILRACE_EXPORT int name parameters                                                            \
    {                                                                                              \
        before;                                                                                    \
        if (!tailrace_recording)                                                                   \
            return REAL(name) arguments;                                                           \
        struct call call;                                                                          \
        struct stream *stream = call_begin(&call, FUNCTION_##name);                                \
        int result = REAL(name) arguments;                                                         \
        end_any_open(stream, &call, result, directory, path, flags);                               \
        return result;                                                                             \
    }

#define TAKE_MODE                                                                                  \
    mode_t mode = 0;                                                                               \
    if (has_mode(flags)) {                                                                         \
        va_list arguments;                                                                         \
        va_start(arguments, flags);                                                                \
        mode = va_arg(arguments, mode_t);                                                          \
        va_end(arguments);                                                                         \
    }

OPEN(open, (const char *path, int flags, ...), (path, flags, mode), AT_FDCWD, path, flags,
     TAKE_MODE)
OPEN(open64, (const char *path, int flags, ...), (path, flags, mode), AT_FDCWD, path, flags,
     TAKE_MODE)
OPEN(openat, (int directory, const char *path, int flags, ...), (directory, path, flags, mode),
     directory, path, flags, TAKE_MODE)
OPEN(openat64, (int directory, const char *path, int flags, ...), (directory, path, flags, mode),
     directory, path, flags, TAKE_MODE)
OPEN(__open_2, (const char *path, int flags), (path, flags), AT_FDCWD, path, flags, (void)0)
OPEN(__open64_2, (const char *path, int flags), (path, flags), AT_FDCWD, path, flags, (void)0)
OPEN(__openat_2, (int directory, const char *path, int flags), (directory, path, flags), directory,
     path, flags, (void)0)
OPEN(__openat64_2, (int directory, const char *path, int flags), (directory, path, flags),
     directory, path, flags, (void)0)
OPEN(creat, (const char *path, mode_t mode), (path, mode), AT_FDCWD, path, O_CREAT, (void)0)
OPEN(creat64, (const char *path, mode_t mode), (path, mode), AT_FDCWD, path, O_CREAT, (void)0)
OPEN(mkstemp, (char *path), (path), AT_FDCWD, path, O_CREAT, (void)0)
OPEN(mkstemp64, (char *path), (path), AT_FDCWD, path, O_CREAT, (void)0)
OPEN(mkostemp, (char *path, int flags), (path, flags), AT_FDCWD, path, O_CREAT, (void)0)
OPEN(mkostemp64, (char *path, int flags), (path, flags), AT_FDCWD, path, O_CREAT, (void)0)
OPEN(mkstemps, (char *path, int suffix), (path, suffix), AT_FDCWD, path, O_CREAT, (void)0)
OPEN(mkstemps64, (char *path, int suffix), (path, suffix), AT_FDCWD, path, O_CREAT, (void)0)
OPEN(mkostemps, (char *path, int suffix, int flags), (path, suffix, flags), AT_FDCWD, path, O_CREAT,
     (void)0)
OPEN(mkostemps64, (char *path, int suffix, int flags), (path, suffix, flags), AT_FDCWD, path,
     O_CREAT, (void)0)

/* --- Closing --- */

/* The number is forgotten before the call: from its return on another thread may be given it for
 * another file. */
TAILRACE_EXPORT int close(int fd)
{
    uint32_t file = tailrace_recording ? descriptor_entry(fd) : DESCRIPTOR_UNKNOWN;
    if (file != DESCRIPTOR_UNKNOWN)
        descriptor_set(fd, DESCRIPTOR_UNKNOWN);
    if (file <= DESCRIPTOR_IGNORED)
        return REAL(close)(fd);
    struct call call;
    struct stream *stream = call_begin(&call, FUNCTION_close);
    int result = REAL(close)(fd);
    if (stream)
        end_file_call(stream, &call, clock_now(), FILE_CLOSE, 0, file, 0, 0, ERROR_OF_RESULT);
    return result;
}

TAILRACE_EXPORT int close_range(unsigned first, unsigned last, int flags)
{
    if (tailrace_recording && !(flags & CLOSE_RANGE_CLOEXEC))
        descriptors_reset(first, last);
    return REAL(close_range)(first, last, flags);
}

TAILRACE_EXPORT void closefrom(int first)
{
    if (tailrace_recording)
        descriptors_reset(first < 0 ? 0 : (unsigned)first, UINT32_MAX);
    REAL(closefrom)(first);
}

/* --- Copying --- */

#define COPY(name, parameters, arguments)                                                          \
    TAILRACE_EXPORT int name parameters                                                            \
    {                                                                                              \
        int result = REAL(name) arguments;                                                         \
        if (tailrace_recording)                                                                    \
            descriptor_copy(fd, result);                                                           \
        return result;                                                                             \
    }

COPY(dup, (int fd), (fd))
COPY(dup2, (int fd, int to), (fd, to))
COPY(dup3, (int fd, int to, int flags), (fd, to, flags))

static bool locks(int command)
{
    switch (command) {
    case F_SETLK:
    case F_SETLKW:
    case F_GETLK:
    case F_OFD_SETLK:
    case F_OFD_SETLKW:
    case F_OFD_GETLK: return true;
    default: return false;
    }
}

/* As if it had been opened so. O_DSYNC cannot be set later. */
static __attribute__((noinline)) void note_direct(int descriptor)
{
    int saved = errno;
    bool opened = descriptor > STDERR_FILENO && descriptor_file(descriptor);
    if (opened && !descriptor_is_pipe(descriptor))
        path_note("direct", descriptor);
    errno = saved;
}

/* Locks are calls on the file; F_DUPFD copies; the other commands only touch the descriptor. */
#define CONTROL(name)                                                                              \
    TAILRACE_EXPORT int name(int fd, int command, ...)                                             \
    {                                                                                              \
        va_list arguments;                                                                         \
        va_start(arguments, command);                                                              \
        void *argument = va_arg(arguments, void *);                                                \
        va_end(arguments);                                                                         \
        struct call call;                                                                          \
        uint32_t file = tailrace_recording && locks(command) ? descriptor_file(fd) : 0;            \
        struct stream *stream = file ? call_begin(&call, FUNCTION_##name) : NULL;                  \
        int result = REAL(name)(fd, command, argument);                                            \
        if (stream)                                                                                \
            end_file_call(stream, &call, clock_now(), FILE_LOCK, 0, file, 0, 0, ERROR_OF_RESULT);  \
        else if (tailrace_recording && (command == F_DUPFD || command == F_DUPFD_CLOEXEC))         \
            descriptor_copy(fd, result);                                                           \
        else if (tailrace_recording && command == F_SETFL && !result &&                            \
                 UNLIKELY((intptr_t)argument & O_DIRECT))                                          \
            note_direct(fd);                                                                       \
        return result;                                                                             \
    }
CONTROL(fcntl)
CONTROL(fcntl64)

/* --- Descriptors that are no files: not recorded, but a file's number may be used again for them
 * --- */

static inline int forget_number(int descriptor)
{
    if (tailrace_recording && descriptor_entry(descriptor) != DESCRIPTOR_UNKNOWN)
        descriptor_set(descriptor, DESCRIPTOR_UNKNOWN);
    return descriptor;
}

static inline int forget_pair(int result, const int descriptors[2])
{
    if (!result) {
        forget_number(descriptors[0]);
        forget_number(descriptors[1]);
    }
    return result;
}

#define CREATE(name, parameters, arguments)                                                        \
    TAILRACE_EXPORT int name parameters                                                            \
    {                                                                                              \
        return forget_number(REAL(name) arguments);                                                \
    }
#define CREATE_PAIR(name, parameters, arguments)                                                   \
    TAILRACE_EXPORT int name parameters                                                            \
    {                                                                                              \
        return forget_pair(REAL(name) arguments, pair);                                            \
    }

CREATE(socket, (int domain, int type, int protocol), (domain, type, protocol))
CREATE(accept, (int fd, __SOCKADDR_ARG address, socklen_t *restrict bytes), (fd, address, bytes))
CREATE(accept4, (int fd, __SOCKADDR_ARG address, socklen_t *restrict bytes, int flags),
       (fd, address, bytes, flags))
CREATE(epoll_create, (int size), (size))
CREATE(epoll_create1, (int flags), (flags))
CREATE(eventfd, (unsigned count, int flags), (count, flags))
CREATE(memfd_create, (const char *name, unsigned flags), (name, flags))
CREATE(timerfd_create, (clockid_t clock, int flags), (clock, flags))
CREATE(signalfd, (int fd, const sigset_t *mask, int flags), (fd, mask, flags))
CREATE(inotify_init, (void), ())
CREATE(inotify_init1, (int flags), (flags))
CREATE(shm_open, (const char *name, int flags, mode_t mode), (name, flags, mode))
CREATE_PAIR(pipe, (int pair[2]), (pair))
CREATE_PAIR(pipe2, (int pair[2], int flags), (pair, flags))
CREATE_PAIR(socketpair, (int domain, int type, int protocol, int pair[2]),
            (domain, type, protocol, pair))
