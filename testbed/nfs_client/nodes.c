/* Which file handle is which inode: the kernel must be given the same inode for the same file, by
 * whatever name it came, or two descriptors of one file would not share their pages. */
#include "client.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

static void *nodes; /* a tree of tsearch(3) */
static struct node *root;

static int compare(const void *a, const void *b)
{
    const struct handle *left = a;
    const struct handle *right = b;
    if (left->length != right->length)
        return left->length < right->length ? -1 : 1;
    return memcmp(left->bytes, right->bytes, left->length);
}

nfs_fh3 borrowed(struct handle *handle)
{
    return (nfs_fh3){.data = {.data_len = handle->length, .data_val = handle->bytes}};
}

struct handle copied(const nfs_fh3 *handle)
{
    struct handle copy = {.length = handle->data.data_len};
    if (copy.length > sizeof copy.bytes)
        copy.length = sizeof copy.bytes;
    memcpy(copy.bytes, handle->data.data_val, copy.length);
    return copy;
}

struct node *node_of(fuse_ino_t number)
{
    return number == FUSE_ROOT_ID ? root : (struct node *)(uintptr_t)number;
}

fuse_ino_t number_of(const struct node *node)
{
    return node == root ? FUSE_ROOT_ID : (fuse_ino_t)(uintptr_t)node;
}

struct node *find_node(const nfs_fh3 *handle)
{
    const struct handle wanted = copied(handle);
    struct node **found = tfind(&wanted, &nodes, compare);
    return found ? *found : NULL;
}

static struct node *make_node(const struct handle *handle)
{
    struct node *node = calloc(1, sizeof *node);
    if (!node)
        return NULL;
    node->handle = *handle;
    node->waiting_end = &node->waiting;
    if (!tsearch(node, &nodes, compare)) {
        free(node);
        return NULL;
    }
    return node;
}

struct node *find_or_make_node(const nfs_fh3 *handle)
{
    const struct handle copy = copied(handle);
    struct node *node = find_node(handle);
    return node ? node : make_node(&copy);
}

int make_root(const struct handle *handle)
{
    root = make_node(handle);
    if (root)
        root->lookups = 1;
    return root ? 0 : -1;
}

void free_if_unused(struct node *node)
{
    if (node == root || node->lookups > 0 || node->opened > 0 || node->waiting || node->listed ||
        !is_written(node))
        return;
    tdelete(node, &nodes, compare);
    free(node->hidden_as);
    free(node);
}

void forget(struct node *node, uint64_t lookups)
{
    node->lookups -= lookups < node->lookups ? lookups : node->lookups;
    free_if_unused(node);
}
