/* To the server: the root's handle from the MOUNT program, then the NFS program, and how much it
 * takes at once. */
#include "client.h"

#include <nfsc/libnfs-raw-mount.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

struct awaited {
    bool arrived;
    int status;
    struct handle root;
};

static int pump(struct rpc_context *rpc, const struct awaited *awaited)
{
    while (!awaited->arrived) {
        struct pollfd wait = {.fd = rpc_get_fd(rpc), .events = (short)rpc_which_events(rpc)};
        if (poll(&wait, 1, 10000) <= 0 || rpc_service(rpc, wait.revents) < 0)
            return -1;
    }
    return awaited->status;
}

static void on_connected(struct rpc_context *rpc, int status, void *data, void *private)
{
    struct awaited *awaited = private;
    (void)rpc;
    (void)data;
    awaited->arrived = true;
    awaited->status = status == RPC_STATUS_SUCCESS ? 0 : -1;
}

static int reach(struct rpc_context *rpc, const char *server, int port, int program)
{
    struct awaited connected = {0};
    if (rpc_connect_port_async(rpc, server, port, program, 3, on_connected, &connected) != 0)
        return -1;
    return pump(rpc, &connected);
}

static void on_mounted(struct rpc_context *rpc, int status, void *data, void *private)
{
    struct awaited *awaited = private;
    mountres3 *answer = data;
    (void)rpc;
    awaited->arrived = true;
    awaited->status = -1;
    if (status != RPC_STATUS_SUCCESS || answer->fhs_status != MNT3_OK)
        return;
    const fhandle3 *root = &answer->mountres3_u.mountinfo.fhandle;
    const nfs_fh3 handle = {
        .data = {.data_len = root->fhandle3_len, .data_val = root->fhandle3_val}};
    awaited->root = copied(&handle);
    awaited->status = 0;
}

static int ask_root(const char *server, int port, const char *export, struct handle *root)
{
    struct rpc_context *rpc = rpc_init_context();
    struct awaited mounted = {0};
    int status = !rpc || reach(rpc, server, port, MOUNT_PROGRAM);
    if (status == 0)
        status = rpc_mount3_mnt_async(rpc, on_mounted, (char *)(uintptr_t)export, &mounted);
    if (status == 0)
        status = pump(rpc, &mounted);
    if (rpc)
        rpc_destroy_context(rpc);
    *root = mounted.root;
    return status == 0 ? 0 : -1;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static void on_limits(struct rpc_context *rpc, int status, void *data, void *private)
{
    struct awaited *awaited = private;
    FSINFO3res *answer = data;
    (void)rpc;
    awaited->arrived = true;
    awaited->status = failure_of(status, data) ? -1 : 0;
    if (awaited->status != 0)
        return;
    client.read_size = smaller(LARGEST_TRANSFER, answer->FSINFO3res_u.resok.rtmax);
    client.write_size = smaller(LARGEST_TRANSFER, answer->FSINFO3res_u.resok.wtmax);
}

static int ask_limits(struct handle *root)
{
    struct awaited limits = {0};
    FSINFO3args question = {.fsroot = borrowed(root)};
    if (rpc_nfs3_fsinfo_async(client.rpc, on_limits, &question, &limits) != 0)
        return -1;
    return pump(client.rpc, &limits) != 0 || client.read_size == 0 || client.write_size == 0 ? -1
                                                                                             : 0;
}

int connect_to(const char *server, int port, int mount_port, const char *export,
               struct handle *root)
{
    const char *failed = NULL;
    client.rpc = rpc_init_context();
    if (ask_root(server, mount_port, export, root) != 0)
        failed = "its MOUNT program does not hand out";
    else if (!client.rpc || reach(client.rpc, server, port, NFS_PROGRAM) != 0)
        failed = "its NFS program does not answer for";
    else if (ask_limits(root) != 0)
        failed = "it does not tell its limits for";
    if (failed)
        fprintf(stderr, "nfs_client: of the server %s, %s %s\n", server, failed, export);
    return failed ? -1 : 0;
}
