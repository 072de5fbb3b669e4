/* nfs_client SERVER PORT MOUNT-PORT EXPORT DIRECTORY LOG: mounts, returns while a process of its
 * own serves the mount, and ends that when it is unmounted. */
#include "client.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct client client;

struct call *new_call(fuse_req_t request, fuse_ino_t number)
{
    struct call *call = calloc(1, sizeof *call);
    if (!call) {
        fuse_reply_err(request, ENOMEM);
        return NULL;
    }
    call->request = request;
    call->node = node_of(number);
    return call;
}

void end_call(struct call *call)
{
    free(call->name);
    free(call->other_name);
    free(call->data);
    free(call);
}

void fail(struct call *call, int error)
{
    fuse_reply_err(call->request, error);
    end_call(call);
}

int failure_of(int rpc_status, void *answer)
{
    if (rpc_status != RPC_STATUS_SUCCESS)
        return EIO;
    return -nfsstat3_to_errno(*(nfsstat3 *)answer);
}

static void on_start(void *data, struct fuse_conn_info *connection)
{
    (void)data;
    /* The kernel is to truncate, and to drop setuid bits, by requests of their own. It is not to
     * drop a file's pages whenever its time has changed: our own writes change it, and a page that
     * is dropped and read again between a write's copy into it and its request would show the bytes
     * of before. answer_open() says when pages are old. */
    connection->want &=
        ~(unsigned)(FUSE_CAP_ATOMIC_O_TRUNC | FUSE_CAP_HANDLE_KILLPRIV | FUSE_CAP_AUTO_INVAL_DATA);
    connection->max_write = LARGEST_TRANSFER;
    connection->max_read = LARGEST_TRANSFER;
    connection->max_background = 64;
    connection->congestion_threshold = 48;
}

static void answer_forget(fuse_req_t request, fuse_ino_t number, uint64_t lookups)
{
    forget(node_of(number), lookups);
    fuse_reply_none(request);
}

static void answer_forget_multi(fuse_req_t request, size_t count, struct fuse_forget_data *forgets)
{
    for (size_t i = 0; i < count; i++)
        forget(node_of(forgets[i].ino), forgets[i].nlookup);
    fuse_reply_none(request);
}

static const struct fuse_lowlevel_ops operations = {
    .init = on_start,
    .lookup = answer_lookup,
    .forget = answer_forget,
    .forget_multi = answer_forget_multi,
    .getattr = answer_getattr,
    .setattr = answer_setattr,
    .readlink = answer_readlink,
    .mknod = answer_mknod,
    .mkdir = answer_mkdir,
    .unlink = answer_unlink,
    .rmdir = answer_rmdir,
    .symlink = answer_symlink,
    .rename = answer_rename,
    .link = answer_link,
    .open = answer_open,
    .read = answer_read,
    .write = answer_write,
    .flush = answer_flush,
    .release = answer_release,
    .fsync = answer_fsync,
    .opendir = answer_opendir,
    .readdir = answer_readdir,
    .releasedir = answer_releasedir,
    .fsyncdir = answer_fsyncdir,
    .statfs = answer_statfs,
    .create = answer_create,
};

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void push_out_in_time(void)
{
    static double last;
    if (now() - last < HELD_BACK_SECONDS)
        return;
    last = now();
    push_out_what_gathers();
}

static void on_alive(struct rpc_context *rpc, int status, void *data, void *private)
{
    (void)rpc;
    (void)status;
    (void)data;
    (void)private;
}

/* A server closes a connection over which it has heard nothing for some minutes. What the kernel
 * asks may be answered without it. */
static void keep_alive(short events)
{
    static double last;
    if (events == 0 && now() - last < SILENT_SECONDS)
        return;
    last = now();
    if (events == 0)
        rpc_nfs3_null_async(client.rpc, on_alive, NULL);
}

static int serve_server(short events)
{
    if (events == 0 || rpc_service(client.rpc, events) == 0)
        return 0;
    fprintf(stderr, "nfs_client: the server has gone: %s\n", rpc_get_error(client.rpc));
    client.lost = true;
    return -1;
}

/* 1 where the kernel has unmounted. */
static int serve_kernel(short events, struct fuse_buf *buffer)
{
    if (events == 0)
        return 0;
    const int got = fuse_session_receive_buf(client.session, buffer);
    if (got > 0)
        fuse_session_process_buf(client.session, buffer);
    return got == 0 || (got < 0 && got != -EINTR && got != -EAGAIN);
}

static int serve(void)
{
    struct fuse_buf buffer = {0};
    int ended = 0;
    while (!ended && !fuse_session_exited(client.session)) {
        struct pollfd wait[2] = {
            {.fd = fuse_session_fd(client.session), .events = POLLIN},
            {.fd = rpc_get_fd(client.rpc), .events = (short)rpc_which_events(client.rpc)},
        };
        const double longest = client.gathering ? HELD_BACK_SECONDS : SILENT_SECONDS;
        const int ready = poll(wait, 2, (int)(1000 * longest));
        if (ready < 0)
            continue;
        keep_alive(wait[1].revents);
        ended = serve_server(wait[1].revents) || serve_kernel(wait[0].revents, &buffer);
        push_out_in_time();
    }
    free(buffer.mem);
    return client.lost;
}

static struct fuse_session *new_session(const char *server, const char *export)
{
    char options[1024];
    snprintf(options, sizeof options,
             "allow_other,default_permissions,subtype=tailrace-nfs,fsname=%s:%s,max_read=%d",
             server, export, LARGEST_TRANSFER);
    char *arguments[] = {"nfs_client", "-o", options, NULL};
    struct fuse_args given = FUSE_ARGS_INIT(3, arguments);
    return fuse_session_new(&given, &operations, sizeof operations, NULL);
}

/* What the caller waits for is the mount, so that only the child goes on; it keeps no file or
 * terminal of the caller.
 */
static int detach(const char *log)
{
    const int to = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (to < 0 || nothing < 0)
        return -1;
    const pid_t child = fork();
    if (child > 0)
        _exit(0);
    return child < 0 || setsid() < 0 || chdir("/") != 0 || dup2(nothing, 0) < 0 ||
           dup2(to, 1) < 0 || dup2(to, 2) < 0;
}

/* Ends without unmounting unless it was unmounted: the mount then tells that its client is gone,
 * where the bare directory below it would take what programs write. */
static int mount_and_serve(const char *server, const char *export, const char *directory,
                           const char *log)
{
    client.session = new_session(server, export);
    if (!client.session || fuse_session_mount(client.session, directory) != 0)
        return 1;
    if (detach(log) == 0)
        return serve();
    fuse_session_unmount(client.session);
    return 1;
}

int main(int count, char **arguments)
{
    struct handle root;
    if (count != 7) {
        fprintf(stderr, "usage: nfs_client SERVER PORT MOUNT-PORT EXPORT DIRECTORY LOG\n");
        return 2;
    }
    if (connect_to(arguments[1], atoi(arguments[2]), atoi(arguments[3]), arguments[4], &root) != 0)
        return 1;
    if (make_root(&root) != 0)
        return 1;
    return mount_and_serve(arguments[1], arguments[4], arguments[5], arguments[6]);
}
