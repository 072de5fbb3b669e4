/* Open files: what an open file reads was written before it was opened, by whomever (close-to-open
 * consistency). */
#include "client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_as_seen(const struct node *node, const fattr3 *now)
{
    return node->seen_size == now->size && node->seen_modified.seconds == now->mtime.seconds &&
           node->seen_modified.nseconds == now->mtime.nseconds;
}

void note_seen(struct node *node, const fattr3 *now)
{
    node->seen_size = now->size;
    node->seen_modified = now->mtime;
}

/* Pages of an older file go; so do the attributes, or the kernel would read no further than the
 * older end. */
static void on_opened(struct rpc_context *rpc, int status, void *data, void *private)
{
    struct call *call = private;
    GETATTR3res *answer = data;
    const int error = failure_of(status, data);
    (void)rpc;
    if (error) {
        fail(call, error);
        return;
    }
    const fattr3 *now = &answer->GETATTR3res_u.resok.obj_attributes;
    call->file.keep_cache = is_as_seen(call->node, now);
    note_seen(call->node, now);
    if (!call->file.keep_cache)
        fuse_lowlevel_notify_inval_inode(client.session, number_of(call->node), -1, 0);
    call->node->opened++;
    if (fuse_reply_open(call->request, &call->file) != 0)
        call->node->opened--;
    end_call(call);
}

static void open_now(struct call *call)
{
    GETATTR3args question = {.object = borrowed(&call->node->handle)};
    if (client.lost || rpc_nfs3_getattr_async(client.rpc, on_opened, &question, call) != 0)
        fail(call, EIO);
}

void answer_open(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *file)
{
    struct call *call = new_call(request, number);
    if (!call)
        return;
    call->file = *file;
    after_writes(call, open_now);
}

static void read_rest(struct call *call);

/* To the kernel fewer bytes mean the end of the file; to a server they do not. */
static void on_read(struct rpc_context *rpc, int status, void *data, void *private)
{
    struct call *call = private;
    READ3res *answer = data;
    const int error = failure_of(status, data);
    (void)rpc;
    if (error) {
        fail(call, error);
        return;
    }
    const READ3resok *got = &answer->READ3res_u.resok;
    const size_t room = call->size - call->done;
    const size_t bytes = got->data.data_len < room ? got->data.data_len : room;
    memcpy(call->data + call->done, got->data.data_val, bytes);
    call->done += bytes;
    if (call->done < call->size && bytes > 0 && !got->eof) {
        read_rest(call);
        return;
    }
    fuse_reply_buf(call->request, call->data, call->done);
    end_call(call);
}

static void read_rest(struct call *call)
{
    const size_t left = call->size - call->done;
    READ3args question = {.file = borrowed(&call->node->handle),
                          .offset = call->offset + call->done,
                          .count = (unsigned)(left < client.read_size ? left : client.read_size)};
    if (client.lost || rpc_nfs3_read_async(client.rpc, on_read, &question, call) != 0)
        fail(call, EIO);
}

void answer_read(fuse_req_t request, fuse_ino_t number, size_t size, off_t offset,
                 struct fuse_file_info *file)
{
    struct call *call = new_call(request, number);
    (void)file;
    if (!call)
        return;
    call->offset = (uint64_t)offset;
    call->size = size;
    call->data = malloc(size ? size : 1);
    if (call->data)
        after_writes(call, read_rest);
    else
        fail(call, ENOMEM);
}

/* Writes that came while the server committed remain to be committed. */
static void on_committed(struct rpc_context *rpc, int status, void *data, void *private)
{
    struct call *call = private;
    COMMIT3res *answer = data;
    struct node *node = call->node;
    int error = failure_of(status, data);
    (void)rpc;
    if (!error &&
        memcmp(answer->COMMIT3res_u.resok.verf, node->verifier, sizeof node->verifier) != 0)
        error = EIO;
    if (error && !node->error)
        node->error = error;
    if (!error && node->unstable == call->unstable)
        node->unstable = 0;
    fail(call, node->error);
}

static void commit(struct call *call)
{
    struct node *node = call->node;
    COMMIT3args question = {.file = borrowed(&node->handle)};
    if (node->error || node->unstable == 0) {
        fail(call, node->error);
        return;
    }
    call->unstable = node->unstable;
    if (client.lost || rpc_nfs3_commit_async(client.rpc, on_committed, &question, call) != 0)
        fail(call, EIO);
}

void answer_flush(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *file)
{
    struct call *call = new_call(request, number);
    (void)file;
    if (call)
        after_writes(call, commit);
}

void answer_fsync(fuse_req_t request, fuse_ino_t number, int only_data, struct fuse_file_info *file)
{
    (void)only_data;
    answer_flush(request, number, file);
}

/* An error has been told to whoever closed; the next to open the file starts anew. */
static void release_now(struct call *call)
{
    struct node *node = call->node;
    if (--node->opened == 0) {
        node->error = 0;
        if (node->hidden_as)
            remove_hidden(node);
    }
    fail(call, 0);
}

void answer_release(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *file)
{
    struct call *call = new_call(request, number);
    (void)file;
    if (call)
        after_writes(call, release_now);
}
