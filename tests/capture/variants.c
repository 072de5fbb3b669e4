/* variants.c: calls every wrapped function and prints, a line each, what must be recorded of it:
 * function, op, bytes, offset ("-" where it has none), error, path. The lines go to descriptor 9, a
 * pipe, so that they are no part of it. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>
#include <utime.h>

#include "variants.h"

static char here[4096];
static int report = 9;

/* The lines are written by the bare system call: write would be recorded. */
void line(const char *function, const char *op, long bytes, long offset, int error,
          const char *path)
{
    char text[9000];
    int length = snprintf(text, sizeof text, "%s\t%s\t%ld\t", function, op, bytes);
    length += offset == -1 ? snprintf(text + length, sizeof text - length, "-")
                           : snprintf(text + length, sizeof text - length, "%ld", offset);
    length += snprintf(text + length, sizeof text - length, "\t%d\t%s%s%s\n", error,
                       *path == '/' || *path == '<' ? "" : here,
                       *path == '/' || *path == '<' ? "" : "/", path);
    int saved = errno;
    syscall(1 /* SYS_write on x86-64; the test is skipped elsewhere */, report, text, length);
    errno = saved;
}

void check(int good, const char *what)
{
    if (!good) {
        fprintf(stderr, "variants: %s: %s\n", what, strerror(errno));
        exit(3);
    }
}

typedef int (*open_2)(const char *, int);
typedef int (*openat_2)(int, const char *, int);

static void opens(void)
{
    int directory = open(here, O_RDONLY | O_DIRECTORY);
    line("open", "open", 0, -1, 0, here);
    int fds[12], n = 0;
    OK(fds[n++] = open("a", O_RDWR | O_CREAT, 0640));
    line("open", "open", 0, -1, 0, "a");
    OK(fds[n++] = open64("b", O_RDWR | O_CREAT, 0600));
    line("open64", "open", 0, -1, 0, "b");
    OK(fds[n++] = openat(directory, "c", O_RDWR | O_CREAT, 0600));
    line("openat", "open", 0, -1, 0, "c");
    OK(fds[n++] = openat64(AT_FDCWD, "d", O_RDWR | O_CREAT, 0600));
    line("openat64", "open", 0, -1, 0, "d");
    OK(fds[n++] = creat("e", 0600));
    line("creat", "open", 0, -1, 0, "e");
    OK(fds[n++] = creat64("f", 0600));
    line("creat64", "open", 0, -1, 0, "f");
    OK(fds[n++] = ((open_2)dlsym(RTLD_DEFAULT, "__open_2"))("a", O_RDWR));
    line("__open_2", "open", 0, -1, 0, "a");
    OK(fds[n++] = ((open_2)dlsym(RTLD_DEFAULT, "__open64_2"))("b", O_RDWR));
    line("__open64_2", "open", 0, -1, 0, "b");
    OK(fds[n++] = ((openat_2)dlsym(RTLD_DEFAULT, "__openat_2"))(directory, "c", O_RDWR));
    line("__openat_2", "open", 0, -1, 0, "c");
    OK(fds[n++] = ((openat_2)dlsym(RTLD_DEFAULT, "__openat64_2"))(directory, "d", O_RDWR));
    line("__openat64_2", "open", 0, -1, 0, "d");
    struct stat status;
    OK(fstat(fds[0], &status));
    line("fstat", "stat", 0, -1, 0, "a");
    check((status.st_mode & 0777) == 0640, "the mode of open reached the kernel");
    FAILS(open("missing/file", O_RDONLY), ENOENT);
    line("open", "open", 0, -1, ENOENT, "missing/file");
    FAILS(open("a", O_RDWR | O_CREAT | O_EXCL, 0600), EEXIST);
    line("open", "open", 0, -1, EEXIST, "a");
    const char *names[] = {"a", "b", "c", "d", "e", "f", "a", "b", "c", "d"};
    for (int i = 0; i < n; i++) {
        OK(close(fds[i]));
        line("close", "close", 0, -1, 0, names[i]);
    }
    OK(close(directory));
    line("close", "close", 0, -1, 0, here);
    FAILS(close(4000), EBADF); /* not a file: not recorded */
}

static void temporary(void)
{
    char path[8][32] = {"t1XXXXXX",   "t2XXXXXX",   "t3XXXXXX",   "t4XXXXXX",
                        "t5XXXXXX.c", "t6XXXXXX.c", "t7XXXXXX.c", "t8XXXXXX.c"};
    const char *names[] = {"mkstemp",  "mkstemp64",  "mkostemp",  "mkostemp64",
                           "mkstemps", "mkstemps64", "mkostemps", "mkostemps64"};
    for (int i = 0; i < 8; i++) {
        int fd = i == 0   ? mkstemp(path[i])
                 : i == 1 ? mkstemp64(path[i])
                 : i == 2 ? mkostemp(path[i], 0)
                 : i == 3 ? mkostemp64(path[i], 0)
                 : i == 4 ? mkstemps(path[i], 2)
                 : i == 5 ? mkstemps64(path[i], 2)
                 : i == 6 ? mkostemps(path[i], 2, 0)
                          : mkostemps64(path[i], 2, 0);
        check(fd >= 0, names[i]);
        line(names[i], "open", 0, -1, 0, path[i]);
        OK(close(fd));
        line("close", "close", 0, -1, 0, path[i]);
    }
}

typedef ssize_t (*read_chk)(int, void *, size_t, size_t);
typedef ssize_t (*pread_chk)(int, void *, size_t, off_t, size_t);

static void data(void)
{
    char buffer[100] = "";
    void *volatile nowhere = (void *)1;
    struct iovec pieces[2] = {{buffer, 10}, {buffer + 10, 20}};
    int fd;
    OK(fd = open("data", O_RDWR | O_CREAT | O_TRUNC, 0600));
    line("open", "open", 0, -1, 0, "data");
    OK(write(fd, buffer, 100));
    line("write", "write", 100, -1, 0, "data");
    OK(pwrite(fd, buffer, 7, 5));
    line("pwrite", "write", 7, 5, 0, "data");
    OK(pwrite64(fd, buffer, 8, 1L << 40));
    line("pwrite64", "write", 8, 1L << 40, 0, "data");
    OK(writev(fd, pieces, 2));
    line("writev", "write", 30, -1, 0, "data");
    OK(pwritev(fd, pieces, 2, 3));
    line("pwritev", "write", 30, 3, 0, "data");
    OK(pwritev64(fd, pieces, 1, 33));
    line("pwritev64", "write", 10, 33, 0, "data");
    OK(pwritev2(fd, pieces, 1, 43, 0));
    line("pwritev2", "write", 10, 43, 0, "data");
    OK(pwritev2(fd, pieces, 1, -1, RWF_DSYNC));
    line("pwritev2", "write", 10, -1, 0, "data");
    OK(pwritev64v2(fd, pieces, 1, 53, 0));
    line("pwritev64v2", "write", 10, 53, 0, "data");
    OK(lseek(fd, 0, SEEK_SET));
    line("lseek", "seek", 0, 0, 0, "data");
    OK(lseek64(fd, 4, SEEK_CUR));
    line("lseek64", "seek", 0, 4, 0, "data");
    OK(read(fd, buffer, 50));
    line("read", "read", 50, -1, 0, "data");
    OK(((read_chk)dlsym(RTLD_DEFAULT, "__read_chk"))(fd, buffer, 20, 100));
    line("__read_chk", "read", 20, -1, 0, "data");
    OK(readv(fd, pieces, 2));
    line("readv", "read", 30, -1, 0, "data");
    OK(pread(fd, buffer, 7, 5));
    line("pread", "read", 7, 5, 0, "data");
    OK(pread64(fd, buffer, 80, 1L << 40));
    line("pread64", "read", 8, 1L << 40, 0, "data");
    OK(((pread_chk)dlsym(RTLD_DEFAULT, "__pread_chk"))(fd, buffer, 20, 1, 100));
    line("__pread_chk", "read", 20, 1, 0, "data");
    OK(((pread_chk)dlsym(RTLD_DEFAULT, "__pread64_chk"))(fd, buffer, 20, 2, 100));
    line("__pread64_chk", "read", 20, 2, 0, "data");
    OK(preadv(fd, pieces, 2, 3));
    line("preadv", "read", 30, 3, 0, "data");
    OK(preadv64(fd, pieces, 1, 33));
    line("preadv64", "read", 10, 33, 0, "data");
    OK(preadv2(fd, pieces, 1, 43, 0));
    line("preadv2", "read", 10, 43, 0, "data");
    OK(preadv2(fd, pieces, 1, -1, 0));
    line("preadv2", "read", 10, -1, 0, "data");
    OK(preadv64v2(fd, pieces, 1, 53, 0));
    line("preadv64v2", "read", 10, 53, 0, "data");
    FAILS((int)read(fd, nowhere, 50), EFAULT);
    line("read", "read", 0, -1, EFAULT, "data");
    FAILS((int)pread(fd, buffer, 8, -5), EINVAL);
    line("pread", "read", 0, -5, EINVAL, "data");
    FAILS((int)lseek(fd, -5, SEEK_SET), EINVAL);
    line("lseek", "seek", 0, -1, EINVAL, "data");
    OK(fsync(fd));
    line("fsync", "sync", 0, -1, 0, "data");
    OK(fdatasync(fd));
    line("fdatasync", "sync", 0, -1, 0, "data");
    OK(syncfs(fd));
    line("syncfs", "sync", 0, -1, 0, "data");
    sync();
    line("sync", "sync", 0, -1, 0, "<all files>");
    OK(sync_file_range(fd, 0, 10, SYNC_FILE_RANGE_WRITE));
    line("sync_file_range", "sync", 0, -1, 0, "data");
    OK(ftruncate(fd, 5000));
    line("ftruncate", "truncate", 0, 5000, 0, "data");
    OK(ftruncate64(fd, 6000));
    line("ftruncate64", "truncate", 0, 6000, 0, "data");
    OK(truncate("data", 5000));
    line("truncate", "truncate", 0, -1, 0, "data");
    OK(truncate64("data", 6000));
    line("truncate64", "truncate", 0, -1, 0, "data");
    OK(fallocate(fd, 0, 0, 8000));
    line("fallocate", "truncate", 0, -1, 0, "data");
    OK(fallocate64(fd, 0, 0, 9000));
    line("fallocate64", "truncate", 0, -1, 0, "data");
    OK(posix_fallocate(fd, 0, 8000));
    line("posix_fallocate", "truncate", 0, -1, 0, "data");
    OK(posix_fallocate64(fd, 0, 9000));
    line("posix_fallocate64", "truncate", 0, -1, 0, "data");
    check(posix_fallocate(fd, -1, 8000) == EINVAL, "posix_fallocate");
    line("posix_fallocate", "truncate", 0, -1, EINVAL, "data");
    OK(posix_fadvise(fd, 0, 0, POSIX_FADV_NORMAL));
    line("posix_fadvise", "metadata", 0, -1, 0, "data");
    OK(posix_fadvise64(fd, 0, 0, POSIX_FADV_NORMAL));
    line("posix_fadvise64", "metadata", 0, -1, 0, "data");
    OK(posix_fadvise(fd, 4096, 8192, POSIX_FADV_DONTNEED));
    line("posix_fadvise", "drop", 0, 4096, 0, "data");
    OK(flock(fd, LOCK_EX));
    line("flock", "lock", 0, -1, 0, "data");
    OK(flock(fd, LOCK_UN));
    line("flock", "lock", 0, -1, 0, "data");
    OK(lockf(fd, F_LOCK, 10));
    line("lockf", "lock", 0, -1, 0, "data");
    OK(lockf64(fd, F_ULOCK, 10));
    line("lockf64", "lock", 0, -1, 0, "data");
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 10};
    OK(fcntl(fd, F_SETLKW, &lock));
    line("fcntl64", "lock", 0, -1, 0,
         "data"); /* glibc names fcntl so under _GNU_SOURCE or not: see the test */
    OK(fcntl(fd, F_OFD_GETLK, &lock));
    line("fcntl64", "lock", 0, -1, 0, "data");
    int flags;
    OK(flags = fcntl(fd, F_GETFL)); /* only the descriptor: not recorded */
    check((flags & O_ACCMODE) == O_RDWR, "fcntl's result");
    OK(close(fd));
    line("close", "close", 0, -1, 0, "data");
}

static void mapping(void)
{
    int fd;
    OK(fd = open("data", O_RDWR));
    line("open", "open", 0, -1, 0, "data");
    char *first = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    check(first != MAP_FAILED, "mmap");
    line("mmap", "map", 0, 0, 0, "data");
    char *second = mmap64(NULL, 4096, PROT_READ, MAP_SHARED, fd, 4096);
    check(second != MAP_FAILED, "mmap64");
    line("mmap64", "map", 0, 4096, 0, "data");
    check(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 1) == MAP_FAILED && errno == EINVAL,
          "mmap of an odd offset");
    line("mmap", "map", 0, 1, EINVAL, "data");
    first[0] = 1;
    OK(msync(first, 4096, MS_SYNC));
    line("msync", "sync", 0, -1, 0, "data");
    OK(close(fd));
    line("close", "close", 0, -1, 0, "data");
    void *anonymous = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(anonymous != MAP_FAILED, "anonymous mmap");
}

typedef int (*xstat)(int, const char *, struct stat *);
typedef int (*fxstat)(int, int, struct stat *);
typedef int (*fxstatat)(int, int, const char *, struct stat *, int);
enum { STAT_VERSION = 1 };

static void statuses(void)
{
    struct stat status;
    struct stat64 status64;
    struct statx extended;
    struct statfs system;
    struct statfs64 system64;
    struct statvfs view;
    struct statvfs64 view64;
    int fd;
    OK(fd = open("data", O_RDWR));
    line("open", "open", 0, -1, 0, "data");
    OK(stat("data", &status));
    line("stat", "stat", 0, -1, 0, "data");
    check(status.st_size == 9000, "stat's result");
    FAILS(stat("missing", &status), ENOENT);
    line("stat", "stat", 0, -1, ENOENT, "missing");
    OK(stat64("data", &status64));
    line("stat64", "stat", 0, -1, 0, "data");
    OK(lstat("data", &status));
    line("lstat", "stat", 0, -1, 0, "data");
    OK(lstat64("data", &status64));
    line("lstat64", "stat", 0, -1, 0, "data");
    OK(fstat(fd, &status));
    line("fstat", "stat", 0, -1, 0, "data");
    OK(fstat64(fd, &status64));
    line("fstat64", "stat", 0, -1, 0, "data");
    OK(fstatat(AT_FDCWD, "data", &status, 0));
    line("fstatat", "stat", 0, -1, 0, "data");
    OK(fstatat64(fd, "", &status64, AT_EMPTY_PATH));
    line("fstatat64", "stat", 0, -1, 0, "data");
    OK(((xstat)dlsym(RTLD_DEFAULT, "__xstat"))(STAT_VERSION, "data", &status));
    line("__xstat", "stat", 0, -1, 0, "data");
    OK(((xstat)dlsym(RTLD_DEFAULT, "__xstat64"))(STAT_VERSION, "data", &status));
    line("__xstat64", "stat", 0, -1, 0, "data");
    OK(((xstat)dlsym(RTLD_DEFAULT, "__lxstat"))(STAT_VERSION, "data", &status));
    line("__lxstat", "stat", 0, -1, 0, "data");
    OK(((xstat)dlsym(RTLD_DEFAULT, "__lxstat64"))(STAT_VERSION, "data", &status));
    line("__lxstat64", "stat", 0, -1, 0, "data");
    OK(((fxstat)dlsym(RTLD_DEFAULT, "__fxstat"))(STAT_VERSION, fd, &status));
    line("__fxstat", "stat", 0, -1, 0, "data");
    OK(((fxstat)dlsym(RTLD_DEFAULT, "__fxstat64"))(STAT_VERSION, fd, &status));
    line("__fxstat64", "stat", 0, -1, 0, "data");
    OK(((fxstatat)dlsym(RTLD_DEFAULT, "__fxstatat"))(STAT_VERSION, AT_FDCWD, "data", &status, 0));
    line("__fxstatat", "stat", 0, -1, 0, "data");
    OK(((fxstatat)dlsym(RTLD_DEFAULT, "__fxstatat64"))(STAT_VERSION, AT_FDCWD, "data", &status, 0));
    line("__fxstatat64", "stat", 0, -1, 0, "data");
    OK(statx(AT_FDCWD, "data", 0, STATX_SIZE, &extended));
    line("statx", "stat", 0, -1, 0, "data");
    OK(statfs("data", &system));
    line("statfs", "stat", 0, -1, 0, "data");
    OK(statfs64("data", &system64));
    line("statfs64", "stat", 0, -1, 0, "data");
    OK(fstatfs(fd, &system));
    line("fstatfs", "stat", 0, -1, 0, "data");
    OK(fstatfs64(fd, &system64));
    line("fstatfs64", "stat", 0, -1, 0, "data");
    OK(statvfs("data", &view));
    line("statvfs", "stat", 0, -1, 0, "data");
    OK(statvfs64("data", &view64));
    line("statvfs64", "stat", 0, -1, 0, "data");
    OK(fstatvfs(fd, &view));
    line("fstatvfs", "stat", 0, -1, 0, "data");
    OK(fstatvfs64(fd, &view64));
    line("fstatvfs64", "stat", 0, -1, 0, "data");
    OK(access("data", R_OK));
    line("access", "stat", 0, -1, 0, "data");
    FAILS(access("missing", R_OK), ENOENT);
    line("access", "stat", 0, -1, ENOENT, "missing");
    OK(faccessat(AT_FDCWD, "data", R_OK, 0));
    line("faccessat", "stat", 0, -1, 0, "data");
    OK(chmod("data", 0600));
    line("chmod", "metadata", 0, -1, 0, "data");
    OK(fchmod(fd, 0600));
    line("fchmod", "metadata", 0, -1, 0, "data");
    OK(fchmodat(AT_FDCWD, "data", 0600, 0));
    line("fchmodat", "metadata", 0, -1, 0, "data");
    OK(chown("data", -1, -1));
    line("chown", "metadata", 0, -1, 0, "data");
    OK(lchown("data", -1, -1));
    line("lchown", "metadata", 0, -1, 0, "data");
    OK(fchown(fd, -1, -1));
    line("fchown", "metadata", 0, -1, 0, "data");
    OK(fchownat(AT_FDCWD, "data", -1, -1, 0));
    line("fchownat", "metadata", 0, -1, 0, "data");
    OK(utimensat(AT_FDCWD, "data", NULL, 0));
    line("utimensat", "metadata", 0, -1, 0, "data");
    OK(futimens(fd, NULL));
    line("futimens", "metadata", 0, -1, 0, "data");
    OK(futimes(fd, NULL));
    line("futimes", "metadata", 0, -1, 0, "data");
    OK(utime("data", NULL));
    line("utime", "metadata", 0, -1, 0, "data");
    OK(utimes("data", NULL));
    line("utimes", "metadata", 0, -1, 0, "data");
    OK(lutimes("data", NULL));
    line("lutimes", "metadata", 0, -1, 0, "data");
    variants_of_attributes(fd);
    OK(close(fd));
    line("close", "close", 0, -1, 0, "data");
}

static void names(void)
{
    char target[100];
    struct dirent **list;
    struct dirent64 **list64;
    OK(mkfifo("fifo", 0600));
    line("mkfifo", "metadata", 0, -1, 0, "fifo");
    OK(mkfifoat(AT_FDCWD, "fifo2", 0600));
    line("mkfifoat", "metadata", 0, -1, 0, "fifo2");
    OK(mknod("node", S_IFIFO | 0600, 0));
    line("mknod", "metadata", 0, -1, 0, "node");
    OK(mknodat(AT_FDCWD, "node2", S_IFIFO | 0600, 0));
    line("mknodat", "metadata", 0, -1, 0, "node2");
    OK(link("data", "hard"));
    line("link", "metadata", 0, -1, 0, "data");
    OK(linkat(AT_FDCWD, "data", AT_FDCWD, "hard2", 0));
    line("linkat", "metadata", 0, -1, 0, "data");
    OK(symlink("data", "soft"));
    line("symlink", "metadata", 0, -1, 0, "soft");
    OK(symlinkat("data", AT_FDCWD, "soft2"));
    line("symlinkat", "metadata", 0, -1, 0, "soft2");
    check(readlink("soft", target, sizeof target) == 4, "readlink");
    line("readlink", "metadata", 0, -1, 0, "soft");
    check(readlinkat(AT_FDCWD, "soft", target, sizeof target) == 4, "readlinkat");
    line("readlinkat", "metadata", 0, -1, 0, "soft");
    OK(rename("hard", "hard3"));
    line("rename", "rename", 0, -1, 0, "hard");
    OK(renameat(AT_FDCWD, "hard3", AT_FDCWD, "hard4"));
    line("renameat", "rename", 0, -1, 0, "hard3");
    OK(renameat2(AT_FDCWD, "hard4", AT_FDCWD, "hard5", 0));
    line("renameat2", "rename", 0, -1, 0, "hard4");
    OK(unlink("hard5"));
    line("unlink", "unlink", 0, -1, 0, "hard5");
    FAILS(unlink("hard5"), ENOENT);
    line("unlink", "unlink", 0, -1, ENOENT, "hard5");
    OK(unlinkat(AT_FDCWD, "soft", 0));
    line("unlinkat", "unlink", 0, -1, 0, "soft");
    OK(remove("soft2"));
    line("remove", "unlink", 0, -1, 0, "soft2");
    OK(mkdir("directory", 0700));
    line("mkdir", "make_directory", 0, -1, 0, "directory");
    OK(mkdirat(AT_FDCWD, "directory/inner", 0700));
    line("mkdirat", "make_directory", 0, -1, 0, "directory/inner");
    DIR *opened = opendir("directory");
    check(opened != NULL, "opendir");
    line("opendir", "metadata", 0, -1, 0, "directory");
    check(readdir(opened) != NULL, "readdir");
    line("readdir", "metadata", 0, -1, 0, "directory");     /* it fills the buffer */
    check(readdir(opened) && readdir64(opened), "readdir"); /* these only step through it */
    errno = 0;
    check(!readdir64(opened) && !errno, "readdir64"); /* the system says that there are no more */
    line("readdir64", "metadata", 0, -1, 0, "directory");
    rewinddir(opened);
    char entries[4096];
    check(getdents64(dirfd(opened), entries, sizeof entries) > 0, "getdents64");
    line("getdents64", "metadata", 0, -1, 0, "directory");
    OK(closedir(opened));
    check(closedir(NULL) == -1 && errno == EINVAL, "closedir");
    check(!opendir("missing") && errno == ENOENT, "opendir");
    line("opendir", "metadata", 0, -1, ENOENT, "missing");
    check(scandir("directory", &list, NULL, alphasort) == 3, "scandir");
    line("scandir", "metadata", 0, -1, 0, "directory");
    check(scandir64("directory", &list64, NULL, alphasort64) == 3, "scandir64");
    line("scandir64", "metadata", 0, -1, 0, "directory");
    OK(rmdir("directory/inner"));
    line("rmdir", "unlink", 0, -1, 0, "directory/inner");
}

int main(void)
{
    check(getcwd(here, sizeof here) != NULL, "getcwd");
    opens();
    temporary();
    data();
    variants_of_copies();
    mapping();
    statuses();
    names();
    variants_of_walks();
    variants_of_stdio();
    return 0;
}
