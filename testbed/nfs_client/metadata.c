/* What is known of files and of the file system. */
#include "client.h"

#include <errno.h>
#include <string.h>

static void reply_attributes(struct call *call, const fattr3 *attributes)
{
    const struct stat about = stat_of(attributes);
    fuse_reply_attr(call->request, &about, CACHED_SECONDS);
    end_call(call);
}

static void on_attributes(struct rpc_context *rpc, int status, void *data, void *private)
{
    GETATTR3res *answer = data;
    const int error = failure_of(status, data);
    (void)rpc;
    if (error)
        fail(private, error);
    else
        reply_attributes(private, &answer->GETATTR3res_u.resok.obj_attributes);
}

static void ask_attributes(struct call *call)
{
    GETATTR3args question = {.object = borrowed(&call->node->handle)};
    if (client.lost || rpc_nfs3_getattr_async(client.rpc, on_attributes, &question, call) != 0)
        fail(call, EIO);
}

void answer_getattr(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *file)
{
    struct call *call = new_call(request, number);
    (void)file;
    if (call)
        after_writes(call, ask_attributes);
}

static void on_changed(struct rpc_context *rpc, int status, void *data, void *private)
{
    SETATTR3res *answer = data;
    const int error = failure_of(status, data);
    (void)rpc;
    if (error)
        fail(private, error);
    else if (answer->SETATTR3res_u.resok.obj_wcc.after.attributes_follow)
        reply_attributes(private,
                         &answer->SETATTR3res_u.resok.obj_wcc.after.post_op_attr_u.attributes);
    else
        ask_attributes(private);
}

static void change(struct call *call)
{
    SETATTR3args question = {.object = borrowed(&call->node->handle),
                             .new_attributes = call->change};
    if (client.lost || rpc_nfs3_setattr_async(client.rpc, on_changed, &question, call) != 0)
        fail(call, EIO);
}

void answer_setattr(fuse_req_t request, fuse_ino_t number, struct stat *wanted, int which,
                    struct fuse_file_info *file)
{
    struct call *call = new_call(request, number);
    (void)file;
    if (!call)
        return;
    call->change = changes_of(wanted, which);
    after_writes(call, change);
}

static void on_space(struct rpc_context *rpc, int status, void *data, void *private)
{
    struct call *call = private;
    FSSTAT3res *answer = data;
    const int error = failure_of(status, data);
    (void)rpc;
    if (error) {
        fail(call, error);
        return;
    }
    const FSSTAT3resok *space = &answer->FSSTAT3res_u.resok;
    const struct statvfs about = {.f_bsize = LARGEST_TRANSFER,
                                  .f_frsize = 4096,
                                  .f_blocks = space->tbytes / 4096,
                                  .f_bfree = space->fbytes / 4096,
                                  .f_bavail = space->abytes / 4096,
                                  .f_files = space->tfiles,
                                  .f_ffree = space->ffiles,
                                  .f_favail = space->afiles,
                                  .f_namemax = 255};
    fuse_reply_statfs(call->request, &about);
    end_call(call);
}

void answer_statfs(fuse_req_t request, fuse_ino_t number)
{
    struct call *call = new_call(request, number);
    if (!call)
        return;
    FSSTAT3args question = {.fsroot = borrowed(&call->node->handle)};
    if (client.lost || rpc_nfs3_fsstat_async(client.rpc, on_space, &question, call) != 0)
        fail(call, EIO);
}

static void on_target(struct rpc_context *rpc, int status, void *data, void *private)
{
    struct call *call = private;
    READLINK3res *answer = data;
    const int error = failure_of(status, data);
    (void)rpc;
    if (error) {
        fail(call, error);
        return;
    }
    fuse_reply_readlink(call->request, answer->READLINK3res_u.resok.data);
    end_call(call);
}

void answer_readlink(fuse_req_t request, fuse_ino_t number)
{
    struct call *call = new_call(request, number);
    if (!call)
        return;
    READLINK3args question = {.symlink = borrowed(&call->node->handle)};
    if (client.lost || rpc_nfs3_readlink_async(client.rpc, on_target, &question, call) != 0)
        fail(call, EIO);
}
