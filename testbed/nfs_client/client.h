/* A client of NFS version 3 under FUSE, for machines whose kernel has none. One thread, one poll
 * loop: requests of the kernel go in, RPCs of libnfs go out, and whichever answer comes first is
 * passed on, so that many are under way at once, as with the kernel's own client.
 *
 *   main.c        arguments, the mount, the loop
 *   connect.c     MOUNT and NFS programs of the server, its limits
 *   nodes.c       which file handle is which inode
 *   attributes.c  NFS attributes to struct stat and back
 *   names.c       lookup and create;  removal.c  unlink and rename, also of open files
 *   files.c       open, read, flush, fsync, close
 *   writes.c      write-behind: what has been accepted from a program and is not yet on the server
 *   directories.c readdir;  metadata.c  getattr, setattr, statfs, readlink
 */
#ifndef TESTBED_NFS_CLIENT_H
#define TESTBED_NFS_CLIENT_H

#define FUSE_USE_VERSION 35
#include <fuse_lowlevel.h>
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw.h>
#include <nfsc/libnfs-raw-nfs.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* What the kernel may send and ask at once, and so the largest READ and WRITE; libnfs takes no more
 * either. */
#define LARGEST_TRANSFER (1024 * 1024)
/* Accepted from programs and not yet on the server, over all files; then writers wait. */
#define WRITE_BEHIND_BYTES (16 * 1024 * 1024)
/* Within these seconds the kernel does not ask again for attributes and names, unless a file is
 * opened. */
#define CACHED_SECONDS 1.0
/* A written piece that nothing pushes out goes after this long. */
#define HELD_BACK_SECONDS 1.0
/* After this long without a word the client says one: servers close connections that say nothing. */
#define SILENT_SECONDS 60.0

struct handle {
    unsigned length;
    char bytes[NFS3_FHSIZE];
};

struct call;
typedef void continuation(struct call *call);

/* One contiguous piece of a file on its way to the server; `sent` bytes of it are there. */
struct piece {
    struct node *node;
    struct piece *next;
    char *data;
    uint64_t offset;
    size_t length;
    size_t sent;
};

struct node {
    struct handle handle;
    uint64_t lookups; /* references that the kernel holds */
    unsigned opened;  /* open file descriptions */
    struct handle hidden_in;
    char *hidden_as; /* the name it has on the server since it was unlinked while open */

    /* What the file looked like when it was last opened, or after a write of our own since then:
     * the kernel's pages are of then. */
    nfstime3 seen_modified;
    uint64_t seen_size;

    struct piece *gathering; /* grows with adjacent writes until it is full, or pushed out */
    struct piece *under_way; /* sent, not answered */
    struct call *waiting;    /* what must come after those, in order of arrival */
    struct call **waiting_end;
    uint64_t written_at; /* client.clock at the last answer to a WRITE */
    unsigned unstable;   /* WRITEs since the last COMMIT that the server may hold in memory only */
    char verifier[NFS3_WRITEVERFSIZE];
    int error; /* of a write that a program was told had succeeded: fsync and close tell it, further
                  writes too */
    bool listed;
    struct node *next_listed; /* among those that gather */
};

/* A request of the kernel while the server works on it. */
struct call {
    fuse_req_t request;
    struct node *node;
    struct handle parent;
    struct handle other_parent;
    char *name;
    char *other_name;
    struct fuse_file_info file;
    bool creates;
    uint64_t clock; /* client.clock when the server was asked */
    uint64_t offset;
    size_t size;
    size_t done;
    char *data;
    unsigned unstable;
    struct sattr3 change;
    continuation *resume;
    continuation *then;
    struct call *next;
};

extern struct client {
    struct rpc_context *rpc;
    struct fuse_session *session;
    size_t read_size;
    size_t write_size;
    uint64_t clock;       /* counts questions and answered WRITEs, to tell which came first */
    size_t behind;        /* bytes accepted and not on the server; */
    size_t under_way;     /* of these, sent */
    struct call *held_up; /* writers that wait for `behind` to shrink */
    struct node *gathering;
    bool lost; /* the server has gone */
} client;

/* connect.c */
int connect_to(const char *server, int port, int mount_port, const char *export,
               struct handle *root);

/* nodes.c */
struct node *node_of(fuse_ino_t number);
fuse_ino_t number_of(const struct node *node);
int make_root(const struct handle *handle);
struct node *find_node(const nfs_fh3 *handle);
struct node *find_or_make_node(const nfs_fh3 *handle);
void forget(struct node *node, uint64_t lookups);
void free_if_unused(struct node *node);
nfs_fh3 borrowed(struct handle *handle); /* as libnfs wants it, for one call */
struct handle copied(const nfs_fh3 *handle);

/* calls: main.c */
struct call *new_call(fuse_req_t request, fuse_ino_t number);
void end_call(struct call *call);
void fail(struct call *call, int error); /* errno; 0 answers that it is done */
/* Of an answer whose first member is its nfsstat3: 0, or errno. */
int failure_of(int rpc_status, void *answer);

/* attributes.c */
struct stat stat_of(const fattr3 *attributes);
struct sattr3 new_attributes(fuse_req_t request, mode_t mode);
struct sattr3 changes_of(const struct stat *wanted, int which);

/* writes.c */
bool is_written(const struct node *node);
void after_writes(struct call *call, continuation *resume);
void push_out(struct node *node);
void push_out_what_gathers(void);
void answer_write(fuse_req_t request, fuse_ino_t number, const char *data, size_t size,
                  off_t offset, struct fuse_file_info *file);

/* names.c */
void answer_lookup(fuse_req_t request, fuse_ino_t parent, const char *name);
void answer_create(fuse_req_t request, fuse_ino_t parent, const char *name, mode_t mode,
                   struct fuse_file_info *file);
void answer_mkdir(fuse_req_t request, fuse_ino_t parent, const char *name, mode_t mode);
void answer_mknod(fuse_req_t request, fuse_ino_t parent, const char *name, mode_t mode,
                  dev_t device);
void answer_symlink(fuse_req_t request, const char *target, fuse_ino_t parent, const char *name);
void answer_link(fuse_req_t request, fuse_ino_t number, fuse_ino_t parent, const char *name);
struct call *new_name_call(fuse_req_t request, fuse_ino_t parent, const char *name);
diropargs3 place_of(struct call *call);
diropargs3 other_place_of(struct call *call);

/* removal.c */
void answer_unlink(fuse_req_t request, fuse_ino_t parent, const char *name);
void answer_rmdir(fuse_req_t request, fuse_ino_t parent, const char *name);
void answer_rename(fuse_req_t request, fuse_ino_t parent, const char *name, fuse_ino_t to,
                   const char *to_name, unsigned flags);
void remove_hidden(struct node *node);

/* files.c */
void note_seen(struct node *node, const fattr3 *now);
void answer_open(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *file);
void answer_read(fuse_req_t request, fuse_ino_t number, size_t size, off_t offset,
                 struct fuse_file_info *file);
void answer_flush(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *file);
void answer_fsync(fuse_req_t request, fuse_ino_t number, int only_data,
                  struct fuse_file_info *file);
void answer_release(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *file);

/* directories.c */
void answer_opendir(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *file);
void answer_readdir(fuse_req_t request, fuse_ino_t number, size_t size, off_t offset,
                    struct fuse_file_info *file);
void answer_releasedir(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *file);
void answer_fsyncdir(fuse_req_t request, fuse_ino_t number, int only_data,
                     struct fuse_file_info *file);

/* metadata.c */
void answer_getattr(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *file);
void answer_setattr(fuse_req_t request, fuse_ino_t number, struct stat *wanted, int which,
                    struct fuse_file_info *file);
void answer_statfs(fuse_req_t request, fuse_ino_t number);
void answer_readlink(fuse_req_t request, fuse_ino_t number);

#endif
