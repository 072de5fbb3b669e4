/* CGNS's nodes on HDF5, as the CGNS library's ADFH layer lays them out.
 *
 * A node is a group. Its attributes are name and label (texts of 33 bytes), type (of 3 bytes: MT
 * for a node without data, C1, I4, I8, R4, R8) and flags (1: dimensions are in Fortran's order; the
 * root has none). Its data, if it has any, are the data set " data" in it, whose dimensions are the
 * node's reversed, so that the bytes are in Fortran's order. A group whose name begins with a blank
 * is no node. Links are kept in the order of creation, which is the order of children. The root
 * also holds the data sets " format" and " hdf5version".
 *
 * All functions but cgns_move are collective over the ranks that have the file open. They return 0
 * or -1, or a node or NULL, and cgns_error() then is one sentence. */
#ifndef CGNS_NODE_H
#define CGNS_NODE_H

#include <hdf5.h>
#include <stdbool.h>
#include <stdint.h>

enum { CGNS_NAME_BYTES = 33, CGNS_DIMENSIONS = 12 };

typedef struct cgns_node {
    char name[CGNS_NAME_BYTES], label[CGNS_NAME_BYTES], type[3];
    int dimensions;
    int64_t size[CGNS_DIMENSIONS]; /* in the node's, Fortran's order: the first varies fastest */
    hid_t group, set;              /* set: 0 before it is needed, or where there are no data */
    int children;
    struct cgns_node **child;
} cgns_node;

typedef struct {
    hid_t file;
    cgns_node *root;
} cgns_tree;

/* A file with a root and the node CGNSLibraryVersion, or an existing one with all of its nodes.
 * access: HDF5's. On failure cgns_error() is the reason only, without the path. */
cgns_tree *cgns_create(const char *path, hid_t access);
cgns_tree *cgns_open(const char *path, bool to_write, hid_t access);
int cgns_close(cgns_tree *tree); /* frees it in any case */

/* A node without data. */
cgns_node *cgns_new(cgns_node *parent, const char *name, const char *label);
/* The same with an array, empty so far, into which cgns_move moves data. */
cgns_node *cgns_new_array(cgns_node *parent, const char *name, const char *label, const char *type,
                          int dimensions, const int64_t *size);
/* The same with a few data, which all ranks give alike; they are kept with the node itself. */
cgns_node *cgns_new_small(cgns_node *parent, const char *name, const char *label, const char *type,
                          int dimensions, const int64_t *size, const void *data);
cgns_node *cgns_new_text(cgns_node *parent, const char *name, const char *label, const char *text);
/* Gives a node of few data others, of another size perhaps. */
int cgns_replace_small(cgns_node *node, int dimensions, const int64_t *size, const void *data);

/* The data set of a node, opened at its first use; that need not be collective. Negative: it has
 * none. */
hid_t cgns_data(cgns_node *node);
/* All of a node's few data; false: they are not of that type, or more than `room` bytes. */
bool cgns_get_small(cgns_node *node, const char *type, void *data, size_t room);
bool cgns_get_text(cgns_node *node, char *text, size_t room);

/* HDF5's type for R8, I4, …; negative for one unknown. Not to be closed. */
hid_t cgns_type(const char *type);

/* The first child of that name; the n-th (from 1) of that label and how many there are. NULL: there
 * is none. */
cgns_node *cgns_child(const cgns_node *parent, const char *name);
cgns_node *cgns_child_of_label(const cgns_node *parent, const char *label, int n);
int cgns_children_of_label(const cgns_node *parent, const char *label);

const char *cgns_error(void);
int cgns_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
