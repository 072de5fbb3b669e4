/* Names: looking them up, and making what they stand for. */
#include "client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

struct call *new_name_call(fuse_req_t request, fuse_ino_t parent, const char *name)
{
    struct call *call = new_call(request, parent);
    if (!call)
        return NULL;
    call->parent = call->node->handle;
    call->name = strdup(name);
    if (call->name)
        return call;
    fail(call, ENOMEM);
    return NULL;
}

diropargs3 place_of(struct call *call)
{
    return (diropargs3){.dir = borrowed(&call->parent), .name = call->name};
}

diropargs3 other_place_of(struct call *call)
{
    return (diropargs3){.dir = borrowed(&call->other_parent), .name = call->other_name};
}

/* Takes over the reference to call->node that the kernel is given here. */
static void reply_entry(struct call *call, const fattr3 *attributes)
{
    struct fuse_entry_param entry = {.ino = number_of(call->node),
                                     .attr = stat_of(attributes),
                                     .attr_timeout = CACHED_SECONDS,
                                     .entry_timeout = CACHED_SECONDS};
    if (call->creates)
        call->node->opened++;
    const int told = call->creates ? fuse_reply_create(call->request, &entry, &call->file)
                                   : fuse_reply_entry(call->request, &entry);
    if (told != 0 && call->creates)
        call->node->opened--;
    if (told != 0)
        forget(call->node, 1);
    end_call(call);
}

static void on_attributes(struct rpc_context *rpc, int status, void *data, void *private)
{
    struct call *call = private;
    GETATTR3res *answer = data;
    const int error = failure_of(status, data);
    (void)rpc;
    if (!error) {
        reply_entry(call, &answer->GETATTR3res_u.resok.obj_attributes);
        return;
    }
    forget(call->node, 1);
    fail(call, error);
}

static void ask_attributes(struct call *call)
{
    GETATTR3args question = {.object = borrowed(&call->node->handle)};
    if (client.lost || rpc_nfs3_getattr_async(client.rpc, on_attributes, &question, call) != 0)
        on_attributes(client.rpc, RPC_STATUS_ERROR, NULL, call);
}

/* The size that came with the handle counts only where no write can have overtaken it. */
static void found(struct call *call, const nfs_fh3 *handle, const post_op_attr *attributes)
{
    call->node = find_or_make_node(handle);
    if (!call->node) {
        fail(call, ENOMEM);
        return;
    }
    call->node->lookups++;
    if (attributes->attributes_follow && is_written(call->node) &&
        call->node->written_at < call->clock)
        reply_entry(call, &attributes->post_op_attr_u.attributes);
    else
        after_writes(call, ask_attributes);
}

static void on_found(struct rpc_context *rpc, int status, void *data, void *private)
{
    struct call *call = private;
    LOOKUP3res *answer = data;
    const int error = failure_of(status, data);
    (void)rpc;
    if (error)
        fail(call, error);
    else
        found(call, &answer->LOOKUP3res_u.resok.object, &answer->LOOKUP3res_u.resok.obj_attributes);
}

static void look_up(struct call *call)
{
    LOOKUP3args question = {.what = place_of(call)};
    call->clock = ++client.clock;
    if (client.lost || rpc_nfs3_lookup_async(client.rpc, on_found, &question, call) != 0)
        fail(call, EIO);
}

void answer_lookup(fuse_req_t request, fuse_ino_t parent, const char *name)
{
    struct call *call = new_name_call(request, parent, name);
    if (call)
        look_up(call);
}

/* CREATE, MKDIR, MKNOD and SYMLINK answer alike; a server need not hand out what it made, but must
 * know its name. */
static void on_made(struct rpc_context *rpc, int status, void *data, void *private)
{
    struct call *call = private;
    CREATE3res *answer = data;
    const int error = failure_of(status, data);
    (void)rpc;
    if (error)
        fail(call, error);
    else if (answer->CREATE3res_u.resok.obj.handle_follows)
        found(call, &answer->CREATE3res_u.resok.obj.post_op_fh3_u.handle,
              &answer->CREATE3res_u.resok.obj_attributes);
    else
        look_up(call);
}

_Static_assert(sizeof(CREATE3resok) == sizeof(MKDIR3resok) &&
                   sizeof(CREATE3resok) == sizeof(MKNOD3resok) &&
                   sizeof(CREATE3resok) == sizeof(SYMLINK3resok),
               "on_made() reads the four answers as one");

static void create(struct call *call, mode_t mode)
{
    CREATE3args question = {.where = place_of(call)};
    question.how.mode = call->file.flags & O_EXCL ? GUARDED : UNCHECKED;
    question.how.createhow3_u.obj_attributes = new_attributes(call->request, mode);
    if (call->file.flags & O_TRUNC)
        question.how.createhow3_u.obj_attributes.size.set_it = 1;
    call->clock = ++client.clock;
    if (client.lost || rpc_nfs3_create_async(client.rpc, on_made, &question, call) != 0)
        fail(call, EIO);
}

void answer_create(fuse_req_t request, fuse_ino_t parent, const char *name, mode_t mode,
                   struct fuse_file_info *file)
{
    struct call *call = new_name_call(request, parent, name);
    if (!call)
        return;
    call->creates = true;
    call->file = *file;
    create(call, mode);
}

void answer_mkdir(fuse_req_t request, fuse_ino_t parent, const char *name, mode_t mode)
{
    struct call *call = new_name_call(request, parent, name);
    if (!call)
        return;
    MKDIR3args question = {.where = place_of(call), .attributes = new_attributes(request, mode)};
    call->clock = ++client.clock;
    if (client.lost || rpc_nfs3_mkdir_async(client.rpc, on_made, &question, call) != 0)
        fail(call, EIO);
}

static mknoddata3 device_of(fuse_req_t request, mode_t mode, dev_t device)
{
    mknoddata3 what = {.type = S_ISFIFO(mode)   ? NF3FIFO
                               : S_ISSOCK(mode) ? NF3SOCK
                               : S_ISBLK(mode)  ? NF3BLK
                                                : NF3CHR};
    /* the attributes come first in every arm of the union */
    what.mknoddata3_u.chr_device.dev_attributes = new_attributes(request, mode);
    if (what.type == NF3CHR || what.type == NF3BLK)
        what.mknoddata3_u.chr_device.spec = (specdata3){major(device), minor(device)};
    return what;
}

void answer_mknod(fuse_req_t request, fuse_ino_t parent, const char *name, mode_t mode,
                  dev_t device)
{
    struct call *call = new_name_call(request, parent, name);
    if (!call)
        return;
    if (S_ISREG(mode)) {
        call->file.flags = O_EXCL;
        create(call, mode);
        return;
    }
    MKNOD3args question = {.where = place_of(call), .what = device_of(request, mode, device)};
    call->clock = ++client.clock;
    if (client.lost || rpc_nfs3_mknod_async(client.rpc, on_made, &question, call) != 0)
        fail(call, EIO);
}

void answer_symlink(fuse_req_t request, const char *target, fuse_ino_t parent, const char *name)
{
    struct call *call = new_name_call(request, parent, name);
    if (!call)
        return;
    SYMLINK3args question = {.where = place_of(call),
                             .symlink = {.symlink_attributes = new_attributes(request, 0777),
                                         .symlink_data = (char *)(uintptr_t)target}};
    call->clock = ++client.clock;
    if (client.lost || rpc_nfs3_symlink_async(client.rpc, on_made, &question, call) != 0)
        fail(call, EIO);
}

static void on_linked(struct rpc_context *rpc, int status, void *data, void *private)
{
    const int error = failure_of(status, data);
    (void)rpc;
    if (error)
        fail(private, error);
    else
        look_up(private);
}

void answer_link(fuse_req_t request, fuse_ino_t number, fuse_ino_t parent, const char *name)
{
    struct call *call = new_name_call(request, parent, name);
    if (!call)
        return;
    LINK3args question = {.file = borrowed(&node_of(number)->handle), .link = place_of(call)};
    if (client.lost || rpc_nfs3_link_async(client.rpc, on_linked, &question, call) != 0)
        fail(call, EIO);
}
