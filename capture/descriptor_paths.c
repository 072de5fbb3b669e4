/* descriptor_paths.c: what the kernel says that a descriptor is, and the number of its path. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>

#include "descriptors.h"
#include "process.h"
#include "system.h"

/* By descriptor: on a file, and otherwise by what is there, which no file system makes faster. */
static const char *const standard[][4] = {
    {"<stdin>", "<stdin: pipe>", "<stdin: socket>", "<stdin: device>"},
    {"<stdout>", "<stdout: pipe>", "<stdout: socket>", "<stdout: device>"},
    {"<stderr>", "<stderr: pipe>", "<stderr: socket>", "<stderr: device>"},
};

/* What is open there. */
struct kind {
    mode_t mode;
    bool is_deleted;
};

/* Without asking a server: of a file with unwritten data that would wait until all is written. */
static bool ask_client(int descriptor, struct kind *kind)
{
#if defined(SYS_statx) && defined(STATX_TYPE)
    struct statx status;
    int flags = AT_EMPTY_PATH | AT_STATX_DONT_SYNC;
    if (system_call(SYS_statx, descriptor, (long)"", flags, STATX_TYPE | STATX_NLINK, (long)&status,
                    0))
        return false;
    *kind = (struct kind){status.stx_mode, !status.stx_nlink};
    return true;
#else
    (void)descriptor, (void)kind;
    return false;
#endif
}

static bool ask(int descriptor, struct kind *kind)
{
    struct stat status;
    if (ask_client(descriptor, kind))
        return true;
    if (system_fstat(descriptor, &status))
        return false;
    *kind = (struct kind){status.st_mode, !status.st_nlink};
    return true;
}

static const char *standard_name(int descriptor, mode_t mode)
{
    const char *const *names = standard[descriptor];
    switch (mode & S_IFMT) {
    case S_IFIFO: return names[1];
    case S_IFSOCK: return names[2];
    case S_IFCHR: return names[3];
    default: return names[0];
    }
}

static bool is_file(mode_t mode)
{
    return S_ISREG(mode) || S_ISBLK(mode) || S_ISCHR(mode) || S_ISDIR(mode);
}

/* The first thread's alone: those of MPI libraries wake each other by pipes, and would get streams
 * for nothing else. Where it is another's, it may be the first's later on. */
static uint32_t pipe_found(int descriptor, bool is_deleted)
{
    return system_thread() == process.id
               ? path_number_of_pipe(descriptor, is_deleted, DESCRIPTOR_IGNORED)
               : DESCRIPTOR_UNKNOWN;
}

/* The number of a file found open, or DESCRIPTOR_IGNORED; DESCRIPTOR_UNKNOWN where nothing is open,
 * or nothing that this thread asks for. */
static uint32_t classify(int descriptor)
{
    struct kind kind;
    if (!ask(descriptor, &kind))
        return DESCRIPTOR_UNKNOWN;
    if (descriptor <= 2)
        return path_number(NO_DIRECTORY, standard_name(descriptor, kind.mode));
    if (S_ISFIFO(kind.mode))
        return pipe_found(descriptor, kind.is_deleted);
    uint32_t file = is_file(kind.mode) ? path_number_found(descriptor, kind.is_deleted) : 0;
    return file ? file : DESCRIPTOR_IGNORED;
}

uint32_t descriptor_find(int descriptor)
{
    if (descriptor < 0)
        return 0;
    uint32_t file = descriptor_entry(descriptor);
    if (file == DESCRIPTOR_UNKNOWN)
        file = descriptor_remember(descriptor, classify(descriptor));
    return file == DESCRIPTOR_IGNORED ? 0 : file;
}

/* By what no file system is asked for: it is asked after every long call. */
long descriptor_pipe_size(int descriptor)
{
    return system_call(SYS_fcntl, descriptor, F_GETPIPE_SZ, 0, 0, 0, 0);
}

bool descriptor_is_pipe(int descriptor)
{
    return descriptor_pipe_size(descriptor) >= 0;
}

uint32_t descriptor_of_long_call(int descriptor, uint32_t file)
{
    bool known = file && descriptor > 2 && descriptor_entry(descriptor) == file;
    if (!known || !descriptor_is_pipe(descriptor))
        return file;
    int saved = errno;
    struct kind kind;
    bool is_deleted = ask(descriptor, &kind) && kind.is_deleted;
    file = path_number_of_pipe(descriptor, is_deleted, file);
    descriptor_set(descriptor, file);
    errno = saved;
    return file;
}

uint32_t descriptor_opened(int descriptor, int directory, const char *path, int error)
{
    if (!path_is_readable(path, error)) {
        directory = NO_DIRECTORY;
        path = "<no path>";
    }
    if (descriptor < 0)
        return path_number_named(directory, path);
    uint32_t file = path_number(directory, path);
    descriptor_set(descriptor, file);
    return file;
}
