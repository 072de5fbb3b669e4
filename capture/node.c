/* node.c: streams on a node's own storage, and the one file that they become.
 *
 * On several nodes TAILRACE_NODE names the run. Streams are then written below a directory of that
 * name on the node; the last process of the run to end there copies them into one file,
 * HOST.PROCESS.node in TAILRACE_RAW, and removes them. Nothing is copied where all are killed:
 * HOST.at in TAILRACE_RAW says where the streams are, and `tailrace collect` fetches them.
 *
 * Who is last is told by the streams themselves: each process first marks its own as closed, and
 * then looks whether all others are. No descriptor is kept and no message sent: a program that
 * never calls MPI_Finalize, or no MPI at all, is collected too.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

#include "node.h"
#include "process.h"
#include "quiet.h"
#include "system.h"

enum { LISTING_BYTES = 1 << 16, COPY_BYTES = 1 << 20, NAME_BYTES = 256 };

/* As the docs have it: docs/reference/internals/trace.md. */
struct file_header {
    char magic[8];
    uint32_t version, unused;
};
struct entry_header {
    uint64_t bytes, name_bytes;
};

enum { IN_SHARED_BYTES = PATH_BYTES + 128 }; /* a path in it, named by host and process */
static char shared[PATH_BYTES];              /* TAILRACE_RAW; empty: streams are there already */

/* --- where --- */

static bool is_of_a_network(long kind)
{
    static const uint32_t kinds[] = {
        0x00006969, /* NFS */ 0xff534d42,    /* CIFS */ 0xfe534d42,  /* SMB 2 */
        0x0bd00bd0, /* Lustre */ 0x47504653, /* GPFS */ 0x65735546,  /* FUSE */
        0x00c36400, /* Ceph */ 0x5346414f,   /* AFS */ 0x19830326,   /* BeeGFS */
        0x20030528, /* PVFS2 */ 0xaad7aaea,  /* PanFS */ 0x01021997, /* 9P */
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if ((uint32_t)kind == kinds[i])
            return true;
    return false;
}

/* Somebody else may have made a directory of this name. */
static bool is_our_own(const char *path)
{
    struct stat status;
    int file = system_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
    if (file < 0)
        return false;
    bool ours = !system_fstat(file, &status) &&
                status.st_uid == (uid_t)system_call(SYS_geteuid, 0, 0, 0, 0, 0, 0) &&
                !(status.st_mode & 077);
    system_close(file);
    return ours;
}

/* Whether streams can be written below `base`; *made: this process is the node's first. */
static bool use_below(const char *base, const char *name, bool *made)
{
    struct statfs status;
    if (!base || base[0] != '/' ||
        snprintf(process.directory, PATH_BYTES, "%s/%s", base, name) >= PATH_BYTES - NAME_BYTES ||
        system_call(SYS_statfs, (long)base, (long)&status, 0, 0, 0, 0) ||
        is_of_a_network((long)status.f_type))
        return false;
    long error = system_call(SYS_mkdirat, AT_FDCWD, (long)process.directory, 0700, 0, 0, 0);
    *made = !error;
    return !error || (error == -EEXIST && is_our_own(process.directory));
}

/* For whoever looks for this node's streams after a crash. */
static void announce(void)
{
    static int once;
    char path[IN_SHARED_BYTES];
    snprintf(path, sizeof path, "%s/%s.at", shared, process.host);
    int file = system_open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0) {
        tailrace_say(&once, "%s cannot be written on %s (%s): what is recorded here stays in %s",
                     shared, process.host, strerror(-file), process.directory);
        return;
    }
    quiet_write(file, process.directory, strlen(process.directory));
    system_close(file);
}

void node_starts(void)
{
    const char *name = getenv("TAILRACE_NODE");
    const char *bases[] = {getenv("TAILRACE_NODE_DIRECTORY"), getenv("TMPDIR"), "/tmp", "/dev/shm"};
    char wanted[PATH_BYTES];
    bool made = false;
    if (!name || !*name || strchr(name, '/') || strlen(name) > NAME_BYTES / 2)
        return;
    strcpy(wanted, process.directory);
    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++)
        if (use_below(bases[i], name, &made)) {
            strcpy(shared, wanted);
            if (made)
                announce();
            return;
        }
    strcpy(process.directory, wanted);
}

/* --- who is last --- */

struct listing {
    int directory;
    long filled, at;
    char *buffer; /* LISTING_BYTES */
};

/* As the kernel has it; glibc does not declare it under this name. */
struct kernel_entry {
    uint64_t inode, offset;
    uint16_t bytes;
    uint8_t kind;
    char name[];
};

/* The next name that ends in .stream; NULL at the end. */
static const char *next_stream(struct listing *listing)
{
    for (;;) {
        if (listing->at >= listing->filled) {
            listing->filled = system_call(SYS_getdents64, listing->directory, (long)listing->buffer,
                                          LISTING_BYTES, 0, 0, 0);
            listing->at = 0;
            if (listing->filled <= 0)
                return NULL;
        }
        const struct kernel_entry *entry = (void *)(listing->buffer + listing->at);
        listing->at += entry->bytes;
        const char *end = strrchr(entry->name, '.');
        if (end && !strcmp(end, ".stream"))
            return entry->name;
    }
}

static void again(struct listing *listing)
{
    system_call(SYS_lseek, listing->directory, 0, SEEK_SET, 0, 0, 0);
    listing->filled = listing->at = 0;
}

/* Closed, or of a process that is no more. */
static bool is_over(int directory, const char *name)
{
    struct stream_header header;
    int file = system_openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW, 0);
    if (file < 0)
        return true;
    ssize_t bytes = system_read(file, &header, sizeof header);
    system_close(file);
    return bytes < (ssize_t)sizeof header || header.closed ||
           system_call(SYS_kill, (long)header.process, 0, 0, 0, 0, 0) == -ESRCH;
}

static bool all_are_over(struct listing *listing)
{
    const char *name;
    again(listing);
    while ((name = next_stream(listing)))
        if (!is_over(listing->directory, name))
            return false;
    return true;
}

/* --- copying --- */

static bool write_all(int file, const char *bytes, size_t count)
{
    while (count) {
        ssize_t done = quiet_write(file, bytes, count);
        if (done == -EINTR)
            continue;
        if (done <= 0)
            return false;
        bytes += done;
        count -= (size_t)done;
    }
    return true;
}

/* As much as the stream had when it was looked at: a thread may still add to it. */
static bool copy_bytes(int from, int to, uint64_t bytes, char *buffer)
{
    while (bytes) {
        ssize_t done = system_read(from, buffer, bytes < COPY_BYTES ? bytes : COPY_BYTES);
        if (done == -EINTR)
            continue;
        if (done <= 0 || !write_all(to, buffer, (size_t)done))
            return false;
        bytes -= (uint64_t)done;
    }
    return true;
}

static bool copy_stream(int directory, const char *name, int to, char *buffer)
{
    struct stat status;
    int from = system_openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW, 0);
    if (from < 0)
        return false;
    bool copied = !system_fstat(from, &status);
    struct entry_header entry = {(uint64_t)status.st_size, strlen(name)};
    copied = copied && write_all(to, (char *)&entry, sizeof entry) &&
             write_all(to, name, entry.name_bytes) && copy_bytes(from, to, entry.bytes, buffer);
    system_close(from);
    return copied;
}

/* A network file system may tell only now that there is no space. */
static bool finish(int file)
{
    bool stored = !system_call(SYS_fsync, file, 0, 0, 0, 0, 0);
    return !system_call(SYS_close, file, 0, 0, 0, 0, 0) && stored;
}

static bool write_file(struct listing *listing, const char *partial, char *buffer)
{
    struct file_header header = {"TAILNODE", 1, 0};
    const char *name;
    int file = system_open(partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0)
        return false;
    bool written = write_all(file, (char *)&header, sizeof header);
    again(listing);
    while (written && (name = next_stream(listing)))
        written = copy_stream(listing->directory, name, file, buffer);
    return finish(file) && written;
}

static void remove_streams(struct listing *listing)
{
    char path[IN_SHARED_BYTES];
    const char *name;
    again(listing);
    while ((name = next_stream(listing)))
        system_call(SYS_unlinkat, listing->directory, (long)name, 0, 0, 0, 0);
    system_call(SYS_unlinkat, listing->directory, (long)"collector", 0, 0, 0, 0);
    long kept = system_call(SYS_unlinkat, AT_FDCWD, (long)process.directory, AT_REMOVEDIR, 0, 0, 0);
    snprintf(path, sizeof path, "%s/%s.at", shared, process.host);
    if (!kept)
        system_call(SYS_unlinkat, AT_FDCWD, (long)path, 0, 0, 0, 0);
}

static void collect(struct listing *listing, char *buffer)
{
    static int once;
    char partial[IN_SHARED_BYTES], path[IN_SHARED_BYTES];
    snprintf(partial, sizeof partial, "%s/.%s.%d.partial", shared, process.host, process.id);
    snprintf(path, sizeof path, "%s/%s.%d.node", shared, process.host, process.id);
    if (write_file(listing, partial, buffer) &&
        !system_call(SYS_renameat2, AT_FDCWD, (long)partial, AT_FDCWD, (long)path, 0, 0)) {
        remove_streams(listing);
        return;
    }
    system_call(SYS_unlinkat, AT_FDCWD, (long)partial, 0, 0, 0, 0);
    system_call(SYS_unlinkat, listing->directory, (long)"collector", 0, 0, 0, 0);
    tailrace_say(&once, "what was recorded on %s cannot be copied to %s and stays in %s",
                 process.host, shared, process.directory);
}

/* Of two that end at one time both may find that all are over: one of them makes this file. */
static bool is_chosen(int directory)
{
    int file = system_openat(directory, "collector", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0)
        return false;
    system_close(file);
    return true;
}

void node_process_ends(void)
{
    if (!shared[0] || !process.streams)
        return;
    struct listing listing = {.buffer = system_map_memory(LISTING_BYTES)};
    char *buffer = system_map_memory(COPY_BYTES);
    listing.directory =
        system_open(process.directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW, 0);
    if (listing.buffer && buffer && listing.directory >= 0 && all_are_over(&listing) &&
        is_chosen(listing.directory))
        collect(&listing, buffer);
    if (listing.directory >= 0)
        system_close(listing.directory);
    if (listing.buffer)
        system_unmap(listing.buffer, LISTING_BYTES);
    if (buffer)
        system_unmap(buffer, COPY_BYTES);
}
