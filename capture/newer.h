/* newer.h: functions that older C libraries (from glibc 2.17 on) do not declare. Where they do,
 * these repeat them. */
#ifndef TAILRACE_NEWER_H
#define TAILRACE_NEWER_H

#include <stdio.h>
#include <sys/types.h>
#include <sys/uio.h>

struct statx;
int close_range(unsigned first, unsigned last, int flags);
void closefrom(int first);
int fcntl64(int fd, int command, ...);
ssize_t getdents64(int fd, void *buffer, size_t bytes);
int memfd_create(const char *name, unsigned flags);
int renameat2(int directory, const char *path, int to_directory, const char *to, unsigned flags);
int statx(int directory, const char *path, int flags, unsigned mask, struct statx *status);
ssize_t copy_file_range(int in, off64_t *in_offset, int out, off64_t *out_offset, size_t bytes,
                        unsigned flags);
ssize_t preadv2(int fd, const struct iovec *pieces, int count, off_t offset, int flags);
ssize_t preadv64v2(int fd, const struct iovec *pieces, int count, off64_t offset, int flags);
ssize_t pwritev2(int fd, const struct iovec *pieces, int count, off_t offset, int flags);
ssize_t pwritev64v2(int fd, const struct iovec *pieces, int count, off64_t offset, int flags);

#ifndef RENAME_EXCHANGE
#define RENAME_EXCHANGE 2
#endif
#ifndef RWF_DSYNC
#define RWF_DSYNC 2
#endif
#ifndef RWF_SYNC
#define RWF_SYNC 4
#endif
#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC 4
#endif
#ifndef F_OFD_SETLK
#define F_OFD_GETLK 36
#define F_OFD_SETLK 37
#define F_OFD_SETLKW 38
#endif

#endif
