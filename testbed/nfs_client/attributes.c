/* The server's attributes as struct stat, and what a program wants changed as the server wants to
 * hear it. */
#include "client.h"

#include <sys/sysmacros.h>

static const mode_t kinds[] = {
    [NF3REG] = S_IFREG, [NF3DIR] = S_IFDIR,   [NF3BLK] = S_IFBLK,  [NF3CHR] = S_IFCHR,
    [NF3LNK] = S_IFLNK, [NF3SOCK] = S_IFSOCK, [NF3FIFO] = S_IFIFO,
};

static struct timespec time_of(nfstime3 time)
{
    return (struct timespec){.tv_sec = time.seconds, .tv_nsec = time.nseconds};
}

struct stat stat_of(const fattr3 *attributes)
{
    const bool known = attributes->type >= NF3REG && attributes->type <= NF3FIFO;
    return (struct stat){
        .st_ino = attributes->fileid,
        .st_mode = (known ? kinds[attributes->type] : 0) | (attributes->mode & 07777),
        .st_nlink = attributes->nlink,
        .st_uid = attributes->uid,
        .st_gid = attributes->gid,
        .st_rdev = makedev(attributes->rdev.specdata1, attributes->rdev.specdata2),
        .st_size = (off_t)attributes->size,
        .st_blksize = LARGEST_TRANSFER,
        .st_blocks = (blkcnt_t)((attributes->used + 511) / 512),
        .st_atim = time_of(attributes->atime),
        .st_mtim = time_of(attributes->mtime),
        .st_ctim = time_of(attributes->ctime),
    };
}

/* The client speaks to the server as root, so that what a user makes has to be given to that user.
 */
struct sattr3 new_attributes(fuse_req_t request, mode_t mode)
{
    const struct fuse_ctx *who = fuse_req_ctx(request);
    struct sattr3 attributes = {.mode = {.set_it = 1}, .uid = {.set_it = 1}, .gid = {.set_it = 1}};
    attributes.mode.set_mode3_u.mode = mode & 07777;
    attributes.uid.set_uid3_u.uid = who->uid;
    attributes.gid.set_gid3_u.gid = who->gid;
    return attributes;
}

static nfstime3 nfs_time(struct timespec time)
{
    return (nfstime3){.seconds = (unsigned)time.tv_sec, .nseconds = (unsigned)time.tv_nsec};
}

static time_how how_set(int which, int now, int given)
{
    return which & now ? SET_TO_SERVER_TIME : which & given ? SET_TO_CLIENT_TIME : DONT_CHANGE;
}

struct sattr3 changes_of(const struct stat *wanted, int which)
{
    struct sattr3 change = {0};
    change.mode.set_it = (which & FUSE_SET_ATTR_MODE) != 0;
    change.mode.set_mode3_u.mode = wanted->st_mode & 07777;
    change.uid.set_it = (which & FUSE_SET_ATTR_UID) != 0;
    change.uid.set_uid3_u.uid = wanted->st_uid;
    change.gid.set_it = (which & FUSE_SET_ATTR_GID) != 0;
    change.gid.set_gid3_u.gid = wanted->st_gid;
    change.size.set_it = (which & FUSE_SET_ATTR_SIZE) != 0;
    change.size.set_size3_u.size = (uint64_t)wanted->st_size;
    change.atime.set_it = how_set(which, FUSE_SET_ATTR_ATIME_NOW, FUSE_SET_ATTR_ATIME);
    change.atime.set_atime_u.atime = nfs_time(wanted->st_atim);
    change.mtime.set_it = how_set(which, FUSE_SET_ATTR_MTIME_NOW, FUSE_SET_ATTR_MTIME);
    change.mtime.set_mtime_u.mtime = nfs_time(wanted->st_mtim);
    return change;
}
