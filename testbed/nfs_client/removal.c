/* Removal. NFS knows no open files: what a program has open and somebody unlinks, or replaces by a
 * rename, is renamed instead, and removed when the last descriptor is closed, as every NFS client
 * does it (the .nfs… files). */
#include "client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void on_done(struct rpc_context *rpc, int status, void *data, void *private)
{
    (void)rpc;
    fail(private, failure_of(status, data));
}

static void remove_name(struct call *call)
{
    REMOVE3args question = {.object = place_of(call)};
    if (client.lost || rpc_nfs3_remove_async(client.rpc, on_done, &question, call) != 0)
        fail(call, EIO);
}

static void rename_name(struct call *call)
{
    RENAME3args question = {.from = place_of(call), .to = other_place_of(call)};
    if (client.lost || rpc_nfs3_rename_async(client.rpc, on_done, &question, call) != 0)
        fail(call, EIO);
}

static void answer_done(struct call *call)
{
    fail(call, 0);
}

/* The name that goes is that of unlink, or the one a rename lands on. */
static diropargs3 doomed(struct call *call)
{
    return call->other_name ? other_place_of(call) : place_of(call);
}

static void on_hidden(struct rpc_context *rpc, int status, void *data, void *private)
{
    struct call *call = private;
    const int error = failure_of(status, data);
    (void)rpc;
    if (error) {
        free(call->node->hidden_as);
        call->node->hidden_as = NULL;
        fail(call, error);
        return;
    }
    call->then(call);
}

static char *hiding_name(void)
{
    static unsigned number;
    char host[65] = "";
    char *name = NULL;
    gethostname(host, sizeof host - 1);
    return asprintf(&name, ".nfs-%s-%ld-%u", host, (long)getpid(), ++number) < 0 ? NULL : name;
}

static void hide(struct call *call)
{
    struct node *node = call->node;
    node->hidden_in = call->other_name ? call->other_parent : call->parent;
    node->hidden_as = hiding_name();
    RENAME3args question = {.from = doomed(call),
                            .to = {.dir = borrowed(&node->hidden_in), .name = node->hidden_as}};
    call->then = call->other_name ? rename_name : answer_done;
    if (!node->hidden_as || client.lost ||
        rpc_nfs3_rename_async(client.rpc, on_hidden, &question, call) != 0)
        on_hidden(client.rpc, RPC_STATUS_ERROR, NULL, call);
}

/* A file that has another name lives on under that. */
static bool must_be_hidden(const struct node *node, const post_op_attr *attributes)
{
    return node && node->opened > 0 && !node->hidden_as &&
           !(attributes->attributes_follow && attributes->post_op_attr_u.attributes.nlink > 1);
}

static void on_victim(struct rpc_context *rpc, int status, void *data, void *private)
{
    struct call *call = private;
    LOOKUP3res *answer = data;
    (void)rpc;
    if (failure_of(status, data) == 0)
        call->node = find_node(&answer->LOOKUP3res_u.resok.object);
    else
        call->node = NULL;
    if (must_be_hidden(call->node, call->node ? &answer->LOOKUP3res_u.resok.obj_attributes : NULL))
        hide(call);
    else
        call->then(call);
}

static void look_at_victim(struct call *call, continuation *then)
{
    LOOKUP3args question = {.what = doomed(call)};
    call->then = then;
    if (client.lost || rpc_nfs3_lookup_async(client.rpc, on_victim, &question, call) != 0)
        fail(call, EIO);
}

void answer_unlink(fuse_req_t request, fuse_ino_t parent, const char *name)
{
    struct call *call = new_name_call(request, parent, name);
    if (call)
        look_at_victim(call, remove_name);
}

void answer_rename(fuse_req_t request, fuse_ino_t parent, const char *name, fuse_ino_t to,
                   const char *to_name, unsigned flags)
{
    struct call *call = new_name_call(request, parent, name);
    if (!call)
        return;
    call->other_parent = node_of(to)->handle;
    call->other_name = strdup(to_name);
    if (flags != 0 || !call->other_name)
        fail(call, flags != 0 ? EINVAL : ENOMEM);
    else
        look_at_victim(call, rename_name);
}

void answer_rmdir(fuse_req_t request, fuse_ino_t parent, const char *name)
{
    struct call *call = new_name_call(request, parent, name);
    if (!call)
        return;
    RMDIR3args question = {.object = place_of(call)};
    if (client.lost || rpc_nfs3_rmdir_async(client.rpc, on_done, &question, call) != 0)
        fail(call, EIO);
}

/* Nobody waits for this answer. */
static void on_hidden_removed(struct rpc_context *rpc, int status, void *data, void *private)
{
    (void)rpc;
    (void)status;
    (void)data;
    (void)private;
}

void remove_hidden(struct node *node)
{
    REMOVE3args question = {.object = {.dir = borrowed(&node->hidden_in), .name = node->hidden_as}};
    if (!client.lost)
        rpc_nfs3_remove_async(client.rpc, on_hidden_removed, &question, NULL);
    free(node->hidden_as);
    node->hidden_as = NULL;
}
