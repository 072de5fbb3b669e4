/* Directories, read as far as the kernel's buffer reaches; the server's cookies are the positions.
 */
#include "client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct directory {
    cookieverf3 verifier;
};

static struct directory *directory_of(const struct fuse_file_info *file)
{
    return (struct directory *)(uintptr_t)file->fh;
}

void answer_opendir(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *file)
{
    struct directory *directory = calloc(1, sizeof *directory);
    (void)number;
    if (!directory) {
        fuse_reply_err(request, ENOMEM);
        return;
    }
    file->fh = (uint64_t)(uintptr_t)directory;
    if (fuse_reply_open(request, file) != 0)
        free(directory);
}

/* libnfs puts entries one behind the other without regard to their alignment, so that they are
 * copied. */
static void reply_entries(struct call *call, const entry3 *at)
{
    entry3 entry;
    for (; at; at = entry.nextentry) {
        memcpy(&entry, at, sizeof entry);
        const struct stat about = {.st_ino = entry.fileid};
        const size_t room = call->size - call->done;
        const size_t needed = fuse_add_direntry(call->request, call->data + call->done, room,
                                                entry.name, &about, (off_t)entry.cookie);
        if (needed > room)
            break;
        call->done += needed;
    }
    fuse_reply_buf(call->request, call->data, call->done);
    end_call(call);
}

static void on_entries(struct rpc_context *rpc, int status, void *data, void *private)
{
    struct call *call = private;
    READDIR3res *answer = data;
    const int error = failure_of(status, data);
    (void)rpc;
    if (error) {
        fail(call, error);
        return;
    }
    memcpy(directory_of(&call->file)->verifier, answer->READDIR3res_u.resok.cookieverf,
           sizeof(cookieverf3));
    reply_entries(call, answer->READDIR3res_u.resok.reply.entries);
}

static void ask_entries(struct call *call)
{
    READDIR3args question = {.dir = borrowed(&call->node->handle), .cookie = call->offset};
    question.count = (unsigned)call->size;
    if (call->offset != 0)
        memcpy(question.cookieverf, directory_of(&call->file)->verifier,
               sizeof question.cookieverf);
    if (client.lost || rpc_nfs3_readdir_async(client.rpc, on_entries, &question, call) != 0)
        fail(call, EIO);
}

void answer_readdir(fuse_req_t request, fuse_ino_t number, size_t size, off_t offset,
                    struct fuse_file_info *file)
{
    struct call *call = new_call(request, number);
    if (!call)
        return;
    call->file = *file;
    call->size = size;
    call->offset = (uint64_t)offset;
    call->data = malloc(size);
    if (call->data)
        ask_entries(call);
    else
        fail(call, ENOMEM);
}

void answer_releasedir(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *file)
{
    (void)number;
    free(directory_of(file));
    fuse_reply_err(request, 0);
}

/* The server has made every change to a directory durable before it answered. */
void answer_fsyncdir(fuse_req_t request, fuse_ino_t number, int only_data,
                     struct fuse_file_info *file)
{
    (void)number;
    (void)only_data;
    (void)file;
    fuse_reply_err(request, 0);
}
