/* descriptor_paths.c: what the kernel says that a descriptor is, and the number of its path. */
#define _GNU_SOURCE
#include <errno.h>
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

static const char *standard_name(int descriptor, const struct stat *status)
{
    const char *const *names = standard[descriptor];
    switch (status->st_mode & S_IFMT) {
    case S_IFIFO: return names[1];
    case S_IFSOCK: return names[2];
    case S_IFCHR: return names[3];
    default: return names[0];
    }
}

static bool is_file(const struct stat *status)
{
    return S_ISREG(status->st_mode) || S_ISBLK(status->st_mode) || S_ISCHR(status->st_mode) ||
           S_ISDIR(status->st_mode);
}

/* The first thread's alone: those of MPI libraries wake each other by pipes, and would get streams
 * for nothing else. Where it is another's, it may be the first's later on. */
static uint32_t pipe_found(int descriptor, const struct stat *status)
{
    return system_thread() == process.id
               ? path_number_of_pipe(descriptor, !status->st_nlink, DESCRIPTOR_IGNORED)
               : DESCRIPTOR_UNKNOWN;
}

/* The number of a file found open, or DESCRIPTOR_IGNORED; DESCRIPTOR_UNKNOWN where nothing is open,
 * or nothing that this thread asks for. */
static uint32_t classify(int descriptor)
{
    struct stat status;
    if (system_fstat(descriptor, &status))
        return DESCRIPTOR_UNKNOWN;
    if (descriptor <= 2)
        return path_number(NO_DIRECTORY, standard_name(descriptor, &status));
    if (S_ISFIFO(status.st_mode))
        return pipe_found(descriptor, &status);
    uint32_t file = is_file(&status) ? path_number_found(descriptor, !status.st_nlink) : 0;
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

static bool ask_for_pipe(int descriptor, struct stat *status)
{
    int saved = errno;
    bool is_pipe = !system_fstat(descriptor, status) && S_ISFIFO(status->st_mode);
    errno = saved;
    return is_pipe;
}

bool descriptor_is_pipe(int descriptor)
{
    struct stat status;
    return ask_for_pipe(descriptor, &status);
}

uint32_t descriptor_of_long_call(int descriptor, uint32_t file)
{
    struct stat status;
    bool known = file && descriptor > 2 && descriptor_entry(descriptor) == file;
    if (!known || !ask_for_pipe(descriptor, &status))
        return file;
    int saved = errno;
    file = path_number_of_pipe(descriptor, !status.st_nlink, file);
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
