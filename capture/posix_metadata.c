/* posix_metadata.c: calls about files by their paths, and about what a file is. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

#include "process.h"
#include "newer.h"
#include "wrap.h"

int __xstat(int, const char *, struct stat *);
int __xstat64(int, const char *, struct stat64 *);
int __lxstat(int, const char *, struct stat *);
int __lxstat64(int, const char *, struct stat64 *);
int __fxstat(int, int, struct stat *);
int __fxstat64(int, int, struct stat64 *);
int __fxstatat(int, int, const char *, struct stat *, int);
int __fxstatat64(int, int, const char *, struct stat64 *, int);

/* An empty path means the directory itself (AT_EMPTY_PATH). */
uint32_t wrap_path(int directory, const char *path, int error)
{
    int saved = errno;
    bool readable = path_is_readable(path, error);
    uint32_t file =
        directory >= 0 && (!path || (readable && !*path)) ? descriptor_file(directory) : 0;
    if (!file)
        file = readable ? path_number_named(directory, path)
                        : path_number_named(NO_DIRECTORY, "<no path>");
    errno = saved;
    return file;
}

uint32_t wrap_special(const char *name)
{
    return path_number_named(NO_DIRECTORY, name);
}

/* --- By path --- */

#define AT_PATH(name, op, parameters, arguments)                                                   \
    WRAP_PATH(int, name, parameters, arguments, AT_FDCWD, path, op)
#define AT_DIRECTORY(name, op, parameters, arguments)                                              \
    WRAP_PATH(int, name, parameters, arguments, directory, path, op)

AT_PATH(stat, FILE_STAT, (const char *restrict path, struct stat *restrict status), (path, status))
AT_PATH(stat64, FILE_STAT, (const char *restrict path, struct stat64 *restrict status),
        (path, status))
AT_PATH(lstat, FILE_STAT, (const char *restrict path, struct stat *restrict status), (path, status))
AT_PATH(lstat64, FILE_STAT, (const char *restrict path, struct stat64 *restrict status),
        (path, status))
AT_PATH(__xstat, FILE_STAT, (int version, const char *path, struct stat *status),
        (version, path, status))
AT_PATH(__xstat64, FILE_STAT, (int version, const char *path, struct stat64 *status),
        (version, path, status))
AT_PATH(__lxstat, FILE_STAT, (int version, const char *path, struct stat *status),
        (version, path, status))
AT_PATH(__lxstat64, FILE_STAT, (int version, const char *path, struct stat64 *status),
        (version, path, status))
AT_DIRECTORY(fstatat, FILE_STAT,
             (int directory, const char *restrict path, struct stat *restrict status, int flags),
             (directory, path, status, flags))
AT_DIRECTORY(fstatat64, FILE_STAT,
             (int directory, const char *restrict path, struct stat64 *restrict status, int flags),
             (directory, path, status, flags))
AT_DIRECTORY(__fxstatat, FILE_STAT,
             (int version, int directory, const char *path, struct stat *status, int flags),
             (version, directory, path, status, flags))
AT_DIRECTORY(__fxstatat64, FILE_STAT,
             (int version, int directory, const char *path, struct stat64 *status, int flags),
             (version, directory, path, status, flags))
AT_DIRECTORY(statx, FILE_STAT,
             (int directory, const char *restrict path, int flags, unsigned mask,
              struct statx *restrict status),
             (directory, path, flags, mask, status))
AT_PATH(statfs, FILE_STAT, (const char *path, struct statfs *status), (path, status))
AT_PATH(statfs64, FILE_STAT, (const char *path, struct statfs64 *status), (path, status))
AT_PATH(statvfs, FILE_STAT, (const char *restrict path, struct statvfs *restrict status),
        (path, status))
AT_PATH(statvfs64, FILE_STAT, (const char *restrict path, struct statvfs64 *restrict status),
        (path, status))
AT_PATH(access, FILE_STAT, (const char *path, int mode), (path, mode))
AT_DIRECTORY(faccessat, FILE_STAT, (int directory, const char *path, int mode, int flags),
             (directory, path, mode, flags))
WRAP_PATH(ssize_t, readlink, (const char *restrict path, char *restrict target, size_t bytes),
          (path, target, bytes), AT_FDCWD, path, FILE_METADATA)
WRAP_PATH(ssize_t, readlinkat,
          (int directory, const char *restrict path, char *restrict target, size_t bytes),
          (directory, path, target, bytes), directory, path, FILE_METADATA)

AT_PATH(chmod, FILE_METADATA, (const char *path, mode_t mode), (path, mode))
AT_DIRECTORY(fchmodat, FILE_METADATA, (int directory, const char *path, mode_t mode, int flags),
             (directory, path, mode, flags))
AT_PATH(chown, FILE_METADATA, (const char *path, uid_t user, gid_t group), (path, user, group))
AT_PATH(lchown, FILE_METADATA, (const char *path, uid_t user, gid_t group), (path, user, group))
AT_DIRECTORY(fchownat, FILE_METADATA,
             (int directory, const char *path, uid_t user, gid_t group, int flags),
             (directory, path, user, group, flags))
AT_DIRECTORY(utimensat, FILE_METADATA,
             (int directory, const char *path, const struct timespec times[2], int flags),
             (directory, path, times, flags))
AT_PATH(utime, FILE_METADATA, (const char *path, const struct utimbuf *times), (path, times))
AT_PATH(utimes, FILE_METADATA, (const char *path, const struct timeval times[2]), (path, times))
AT_PATH(lutimes, FILE_METADATA, (const char *path, const struct timeval times[2]), (path, times))
AT_PATH(mknod, FILE_METADATA, (const char *path, mode_t mode, dev_t device), (path, mode, device))
AT_DIRECTORY(mknodat, FILE_METADATA, (int directory, const char *path, mode_t mode, dev_t device),
             (directory, path, mode, device))
AT_PATH(mkfifo, FILE_METADATA, (const char *path, mode_t mode), (path, mode))
AT_DIRECTORY(mkfifoat, FILE_METADATA, (int directory, const char *path, mode_t mode),
             (directory, path, mode))
AT_PATH(truncate, FILE_TRUNCATE, (const char *path, off_t bytes), (path, bytes))
AT_PATH(truncate64, FILE_TRUNCATE, (const char *path, off64_t bytes), (path, bytes))

AT_PATH(unlink, FILE_UNLINK, (const char *path), (path))
AT_DIRECTORY(unlinkat, FILE_UNLINK, (int directory, const char *path, int flags),
             (directory, path, flags))
AT_PATH(remove, FILE_UNLINK, (const char *path), (path))
AT_PATH(rmdir, FILE_UNLINK, (const char *path), (path))
AT_PATH(mkdir, FILE_MAKE_DIRECTORY, (const char *path, mode_t mode), (path, mode))
AT_DIRECTORY(mkdirat, FILE_MAKE_DIRECTORY, (int directory, const char *path, mode_t mode),
             (directory, path, mode))

/* The call is one on the old name, whose file is known; the new one stands before it. */
static uint32_t wrap_renamed(int directory, const char *path, int to_directory, const char *to,
                             int error)
{
    int saved = errno;
    uint32_t file = wrap_path(directory, path, error);
    if (!error)
        path_renamed(file, to_directory, to);
    errno = saved;
    return file;
}

#define WRAP_RENAME(name, parameters, arguments, directory, to_directory)                          \
    WRAP(int, name, parameters, arguments, 1, (void)0,                                             \
         wrap_renamed(directory, path, to_directory, to, ERROR_OF_RESULT), FILE_RENAME, 0, 0, 0,   \
         ERROR_OF_RESULT)

WRAP_RENAME(rename, (const char *path, const char *to), (path, to), AT_FDCWD, AT_FDCWD)
WRAP_RENAME(renameat, (int directory, const char *path, int to_directory, const char *to),
            (directory, path, to_directory, to), directory, to_directory)
/* Two files that exchange their names (RENAME_EXCHANGE) are both there before and after. */
WRAP(int, renameat2,
     (int directory, const char *path, int to_directory, const char *to, unsigned flags),
     (directory, path, to_directory, to, flags), 1, (void)0,
     (flags & RENAME_EXCHANGE) ? wrap_path(directory, path, ERROR_OF_RESULT)
                               : wrap_renamed(directory, path, to_directory, to, ERROR_OF_RESULT),
     FILE_RENAME, 0, 0, 0, ERROR_OF_RESULT)
AT_PATH(link, FILE_METADATA, (const char *path, const char *to), (path, to))
AT_DIRECTORY(linkat, FILE_METADATA,
             (int directory, const char *path, int to_directory, const char *to, int flags),
             (directory, path, to_directory, to, flags))
WRAP_PATH(int, symlink, (const char *target, const char *path), (target, path), AT_FDCWD, path,
          FILE_METADATA)
WRAP_PATH(int, symlinkat, (const char *target, int directory, const char *path),
          (target, directory, path), directory, path, FILE_METADATA)

/* --- By descriptor --- */

#define ON_FILE(name, op, parameters, arguments)                                                   \
    WRAP_FILE(int, name, parameters, arguments, descriptor_file(fd), op, 0, 0, 0)
ON_FILE(fstat, FILE_STAT, (int fd, struct stat *status), (fd, status))
ON_FILE(fstat64, FILE_STAT, (int fd, struct stat64 *status), (fd, status))
ON_FILE(__fxstat, FILE_STAT, (int version, int fd, struct stat *status), (version, fd, status))
ON_FILE(__fxstat64, FILE_STAT, (int version, int fd, struct stat64 *status), (version, fd, status))
ON_FILE(fstatfs, FILE_STAT, (int fd, struct statfs *status), (fd, status))
ON_FILE(fstatfs64, FILE_STAT, (int fd, struct statfs64 *status), (fd, status))
ON_FILE(fstatvfs, FILE_STAT, (int fd, struct statvfs *status), (fd, status))
ON_FILE(fstatvfs64, FILE_STAT, (int fd, struct statvfs64 *status), (fd, status))
ON_FILE(fchmod, FILE_METADATA, (int fd, mode_t mode), (fd, mode))
ON_FILE(fchown, FILE_METADATA, (int fd, uid_t user, gid_t group), (fd, user, group))
ON_FILE(futimens, FILE_METADATA, (int fd, const struct timespec times[2]), (fd, times))
ON_FILE(futimes, FILE_METADATA, (int fd, const struct timeval times[2]), (fd, times))

/* --- Extended attributes --- */

#define SIZED(name, parameters, arguments)                                                         \
    WRAP_PATH(ssize_t, name, parameters, arguments, AT_FDCWD, path, FILE_STAT)
#define SIZED_OF_FILE(name, parameters, arguments)                                                 \
    WRAP_FILE(ssize_t, name, parameters, arguments, descriptor_file(fd), FILE_STAT, 0, 0, 0)
#define BY_PATH(prefix)                                                                            \
    AT_PATH(prefix##setxattr, FILE_METADATA,                                                       \
            (const char *path, const char *name, const void *value, size_t bytes, int flags),      \
            (path, name, value, bytes, flags))                                                     \
    AT_PATH(prefix##removexattr, FILE_METADATA, (const char *path, const char *name),              \
            (path, name))                                                                          \
    SIZED(prefix##getxattr, (const char *path, const char *name, void *value, size_t bytes),       \
          (path, name, value, bytes))                                                              \
    SIZED(prefix##listxattr, (const char *path, char *list, size_t bytes), (path, list, bytes))
BY_PATH()
BY_PATH(l)
ON_FILE(fsetxattr, FILE_METADATA,
        (int fd, const char *name, const void *value, size_t bytes, int flags),
        (fd, name, value, bytes, flags))
ON_FILE(fremovexattr, FILE_METADATA, (int fd, const char *name), (fd, name))
SIZED_OF_FILE(fgetxattr, (int fd, const char *name, void *value, size_t bytes),
              (fd, name, value, bytes))
SIZED_OF_FILE(flistxattr, (int fd, char *list, size_t bytes), (fd, list, bytes))
