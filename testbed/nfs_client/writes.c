/* Write-behind, as NFS clients do it: a program's write is answered when its bytes are taken over,
 * adjacent ones go to the server as one, and what went wrong is told by fsync and close. Whatever
 * else concerns a file (a read, its size, a write over the same bytes) waits until its writes are
 * answered: a server may carry out two requests in any order.
 */
#include "client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool is_written(const struct node *node)
{
    return !node->gathering && !node->under_way;
}

static void list(struct node *node)
{
    if (node->listed)
        return;
    node->listed = true;
    node->next_listed = client.gathering;
    client.gathering = node;
}

static void run_waiting(struct node *node)
{
    while (node->waiting) {
        push_out(node);
        if (node->under_way || !node->waiting)
            return;
        struct call *call = node->waiting;
        node->waiting = call->next;
        if (!node->waiting)
            node->waiting_end = &node->waiting;
        call->resume(call);
    }
}

void after_writes(struct call *call, continuation *resume)
{
    struct node *node = call->node;
    call->resume = resume;
    call->next = NULL;
    *node->waiting_end = call;
    node->waiting_end = &call->next;
    if (node->waiting == call)
        run_waiting(node);
}

/* Where many files gather a little each, nothing may be under way whose answer would let the
 * writers go on. */
static void answer_held_up(void)
{
    if (client.behind > WRITE_BEHIND_BYTES && client.under_way == 0)
        push_out_what_gathers();
    while (client.held_up && client.behind <= WRITE_BEHIND_BYTES) {
        struct call *call = client.held_up;
        client.held_up = call->next;
        fuse_reply_write(call->request, call->size);
        end_call(call);
    }
}

static void unlink_piece(struct piece *piece)
{
    struct piece **at = &piece->node->under_way;
    while (*at != piece)
        at = &(*at)->next;
    *at = piece->next;
}

static void end_piece(struct piece *piece, int error)
{
    struct node *node = piece->node;
    if (error && !node->error)
        node->error = error;
    unlink_piece(piece);
    client.behind -= piece->length;
    client.under_way -= piece->length;
    node->written_at = ++client.clock;
    free(piece->data);
    free(piece);
    answer_held_up();
    node->lookups++; /* so that it outlives what waits for it */
    run_waiting(node);
    forget(node, 1);
}

/* A server that was started anew since an unanswered COMMIT has lost what it held in memory. */
static int note_stability(struct node *node, const WRITE3resok *answer)
{
    const bool anew =
        node->unstable > 0 && memcmp(node->verifier, answer->verf, sizeof answer->verf) != 0;
    if (answer->committed == UNSTABLE) {
        node->unstable++;
        memcpy(node->verifier, answer->verf, sizeof answer->verf);
    }
    return anew ? EIO : 0;
}

/* Our own writes make no page old. To drop one, because somebody opens the file, while a program's
 * write is between its copy into the page and its request would show the bytes of before. Whoever
 * writes has opened the file, and so seen what others had closed: what they change in the meantime
 * is not promised to be seen before the next open, as with the kernel's own client. */
static void note_own_change(struct node *node, const post_op_attr *after)
{
    const fattr3 *now = &after->post_op_attr_u.attributes;
    if (!after->attributes_follow || now->mtime.seconds < node->seen_modified.seconds ||
        (now->mtime.seconds == node->seen_modified.seconds &&
         now->mtime.nseconds < node->seen_modified.nseconds))
        return;
    note_seen(node, now);
}

static void send_rest(struct piece *piece);

static void on_written(struct rpc_context *rpc, int status, void *data, void *private)
{
    struct piece *piece = private;
    WRITE3res *answer = data;
    int error = failure_of(status, data);
    (void)rpc;
    if (!error)
        error = note_stability(piece->node, &answer->WRITE3res_u.resok);
    if (!error && answer->WRITE3res_u.resok.count == 0)
        error = EIO;
    if (!error) {
        piece->sent += answer->WRITE3res_u.resok.count;
        note_own_change(piece->node, &answer->WRITE3res_u.resok.file_wcc.after);
    }
    if (error || piece->sent >= piece->length)
        end_piece(piece, error);
    else
        send_rest(piece);
}

static void send_rest(struct piece *piece)
{
    const size_t length = piece->length - piece->sent;
    WRITE3args question = {
        .file = borrowed(&piece->node->handle),
        .offset = piece->offset + piece->sent,
        .count = (unsigned)length,
        .stable = UNSTABLE,
        .data = {.data_len = (unsigned)length, .data_val = piece->data + piece->sent}};
    if (client.lost || rpc_nfs3_write_async(client.rpc, on_written, &question, piece) != 0)
        end_piece(piece, EIO);
}

void push_out(struct node *node)
{
    struct piece *piece = node->gathering;
    if (!piece)
        return;
    node->gathering = NULL;
    piece->next = node->under_way;
    node->under_way = piece;
    client.under_way += piece->length;
    send_rest(piece);
}

void push_out_what_gathers(void)
{
    while (client.gathering) {
        struct node *node = client.gathering;
        client.gathering = node->next_listed;
        node->listed = false;
        node->lookups++;
        push_out(node);
        forget(node, 1);
    }
}

static struct piece *start_piece(struct node *node, uint64_t offset)
{
    struct piece *piece = calloc(1, sizeof *piece);
    if (!piece)
        return NULL;
    *piece = (struct piece){.node = node, .offset = offset, .data = malloc(client.write_size)};
    if (!piece->data) {
        free(piece);
        return NULL;
    }
    list(node);
    return node->gathering = piece;
}

/* How many of these bytes the piece that gathers takes; it is sent as soon as it is full. */
static size_t gather(struct node *node, const char *data, size_t size, uint64_t offset)
{
    struct piece *piece = node->gathering ? node->gathering : start_piece(node, offset);
    if (!piece)
        return 0;
    const size_t room = client.write_size - piece->length;
    const size_t taken = size < room ? size : room;
    memcpy(piece->data + piece->length, data, taken);
    piece->length += taken;
    client.behind += taken;
    if (piece->length == client.write_size)
        push_out(node);
    return taken;
}

static bool continues(const struct piece *piece, uint64_t offset)
{
    return piece->offset + piece->length == offset;
}

static bool overlaps(const struct piece *piece, uint64_t offset, size_t size)
{
    for (; piece; piece = piece->next)
        if (offset < piece->offset + piece->length && piece->offset < offset + size)
            return true;
    return false;
}

static void take_over(struct call *call)
{
    struct node *node = call->node;
    if (node->gathering && !continues(node->gathering, call->offset))
        push_out(node);
    while (call->done < call->size && !node->error) {
        const size_t taken = gather(node, call->data + call->done, call->size - call->done,
                                    call->offset + call->done);
        if (taken == 0)
            node->error = ENOMEM;
        call->done += taken;
    }
    if (node->error) {
        fail(call, node->error);
        return;
    }
    call->next = NULL;
    struct call **end = &client.held_up;
    while (*end)
        end = &(*end)->next;
    *end = call;
    answer_held_up();
}

void answer_write(fuse_req_t request, fuse_ino_t number, const char *data, size_t size,
                  off_t offset, struct fuse_file_info *file)
{
    struct call *call = new_call(request, number);
    (void)file;
    if (!call)
        return;
    call->size = size;
    call->offset = (uint64_t)offset;
    call->data = malloc(size);
    if (!call->data) {
        fail(call, ENOMEM);
        return;
    }
    memcpy(call->data, data, size);
    if (call->node->waiting || overlaps(call->node->under_way, call->offset, size) ||
        (call->node->gathering && overlaps(call->node->gathering, call->offset, size)))
        after_writes(call, take_over);
    else
        take_over(call);
}
