/* Nodes: groups, their attributes and their data. */
#include "node.h"

#include "hdf5_reason.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char message[2048];

const char *cgns_error(void)
{
    return message;
}

int cgns_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return -1;
}

hid_t cgns_type(const char *type)
{
    if (strcmp(type, "R8") == 0)
        return H5T_NATIVE_DOUBLE;
    if (strcmp(type, "R4") == 0)
        return H5T_NATIVE_FLOAT;
    if (strcmp(type, "I4") == 0)
        return H5T_NATIVE_INT32;
    if (strcmp(type, "I8") == 0)
        return H5T_NATIVE_INT64;
    return strcmp(type, "C1") == 0 ? H5T_NATIVE_CHAR : -1;
}

/* --- attributes --- */

/* A text of a fixed length, that of the longest name, with zeros behind. */
static int put_text(hid_t group, const char *name, const char *value, size_t bytes)
{
    char text[CGNS_NAME_BYTES] = "";
    snprintf(text, bytes, "%s", value);
    hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    H5Tset_size(type, bytes);
    hid_t attribute = H5Acreate2(group, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    herr_t status = attribute < 0 ? -1 : H5Awrite(attribute, type, text);
    if (attribute >= 0)
        H5Aclose(attribute);
    H5Sclose(space);
    H5Tclose(type);
    return status < 0 ? -1 : 0;
}

static int replace_text(hid_t group, const char *name, const char *value, size_t bytes)
{
    return H5Adelete(group, name) < 0 ? -1 : put_text(group, name, value, bytes);
}

/* flags: one integer in one dimension, not a scalar. */
static int put_flags(hid_t group)
{
    const int fortran_order = 1;
    hid_t space = H5Screate_simple(1, &(hsize_t){1}, NULL);
    hid_t attribute = H5Acreate2(group, "flags", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT);
    herr_t status = attribute < 0 ? -1 : H5Awrite(attribute, H5T_NATIVE_INT, &fortran_order);
    if (attribute >= 0)
        H5Aclose(attribute);
    H5Sclose(space);
    return status < 0 ? -1 : 0;
}

static void get_attribute(hid_t group, const char *name, char *text, size_t room)
{
    hid_t attribute = H5Aopen(group, name, H5P_DEFAULT), type = H5Tcopy(H5T_C_S1);
    *text = '\0';
    H5Tset_size(type, room);
    if (attribute >= 0 && H5Aread(attribute, type, text) < 0)
        *text = '\0';
    text[room - 1] = '\0';
    H5Tclose(type);
    if (attribute >= 0)
        H5Aclose(attribute);
}

/* --- nodes --- */

static cgns_node *add_child(cgns_node *parent, hid_t group)
{
    cgns_node *node = calloc(1, sizeof *node);
    if (!node)
        return NULL;
    node->group = group;
    if (!parent)
        return node;
    cgns_node **child = realloc(parent->child, (size_t)(parent->children + 1) * sizeof(*child));
    if (!child) {
        free(node);
        return NULL;
    }
    parent->child = child;
    parent->child[parent->children++] = node;
    return node;
}

static hid_t create_group(const cgns_node *parent, const char *name)
{
    hid_t list = H5Pcreate(H5P_GROUP_CREATE);
    H5Pset_link_creation_order(list, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
    hid_t group = H5Gcreate2(parent->group, name, H5P_DEFAULT, list, H5P_DEFAULT);
    H5Pclose(list);
    return group;
}

static bool is_name(const char *name)
{
    return *name && *name != ' ' && strlen(name) < CGNS_NAME_BYTES && !strchr(name, '/');
}

cgns_node *cgns_new(cgns_node *parent, const char *name, const char *label)
{
    if (!is_name(name) || cgns_child(parent, name)) {
        cgns_fail(is_name(name) ? "'%s' has a node of that name already, in '%s'"
                                : "'%s' cannot name a node: that takes 1 to 32 characters without "
                                  "a slash (in '%s')",
                  name, parent->name);
        return NULL;
    }
    hid_t group = create_group(parent, name);
    if (group < 0 || put_text(group, "name", name, CGNS_NAME_BYTES) ||
        put_text(group, "label", label, CGNS_NAME_BYTES) || put_text(group, "type", "MT", 3) ||
        put_flags(group)) {
        cgns_fail("the node %s cannot be created: %s", name, hdf5_reason());
        return NULL;
    }
    cgns_node *node = add_child(parent, group);
    if (!node) {
        cgns_fail("there is no memory for the node %s", name);
        return NULL;
    }
    snprintf(node->name, sizeof node->name, "%s", name);
    snprintf(node->label, sizeof node->label, "%s", label);
    snprintf(node->type, sizeof node->type, "MT");
    return node;
}

/* Early allocation without fill values: what CGNS asks of HDF5, and no byte is written twice. */
static hid_t data_properties(bool is_small)
{
    hid_t list = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_layout(list, is_small ? H5D_COMPACT : H5D_CONTIGUOUS);
    H5Pset_alloc_time(list, H5D_ALLOC_TIME_EARLY);
    H5Pset_fill_time(list, H5D_FILL_TIME_NEVER);
    return list;
}

static int create_data(cgns_node *node, const char *type, int dimensions, const int64_t *size,
                       bool is_small)
{
    hsize_t reversed[CGNS_DIMENSIONS];
    node->dimensions = dimensions;
    for (int d = 0; d < dimensions; d++) {
        node->size[d] = size[d];
        reversed[dimensions - 1 - d] = (hsize_t)size[d];
    }
    hid_t space = H5Screate_simple(dimensions, reversed, NULL), list = data_properties(is_small);
    node->set =
        H5Dcreate2(node->group, " data", cgns_type(type), space, H5P_DEFAULT, list, H5P_DEFAULT);
    H5Sclose(space);
    H5Pclose(list);
    if (node->set < 0 || replace_text(node->group, "type", type, 3) < 0)
        return cgns_fail("the data of the node %s cannot be created: %s", node->name,
                         hdf5_reason());
    if (type != node->type)
        snprintf(node->type, sizeof node->type, "%s", type);
    return 0;
}

cgns_node *cgns_new_array(cgns_node *parent, const char *name, const char *label, const char *type,
                          int dimensions, const int64_t *size)
{
    cgns_node *node = cgns_new(parent, name, label);
    return node && create_data(node, type, dimensions, size, false) == 0 ? node : NULL;
}

/* HDF5 keeps so much at most in an object's header. */
static bool fits_header(const char *type, int dimensions, const int64_t *size)
{
    int64_t bytes = (int64_t)H5Tget_size(cgns_type(type));
    for (int d = 0; d < dimensions; d++)
        bytes *= size[d];
    return bytes < 60 * 1024;
}

static int put_small(cgns_node *node, const void *data)
{
    return H5Dwrite(node->set, cgns_type(node->type), H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0
               ? cgns_fail("the data of the node %s cannot be written: %s", node->name,
                           hdf5_reason())
               : 0;
}

cgns_node *cgns_new_small(cgns_node *parent, const char *name, const char *label, const char *type,
                          int dimensions, const int64_t *size, const void *data)
{
    cgns_node *node = cgns_new(parent, name, label);
    if (!node ||
        create_data(node, type, dimensions, size, fits_header(type, dimensions, size)) != 0)
        return NULL;
    return put_small(node, data) == 0 ? node : NULL;
}

cgns_node *cgns_new_text(cgns_node *parent, const char *name, const char *label, const char *text)
{
    const char *given = *text ? text : " "; /* no dimension may be 0 */
    return cgns_new_small(parent, name, label, "C1", 1, &(int64_t){(int64_t)strlen(given)}, given);
}

int cgns_replace_small(cgns_node *node, int dimensions, const int64_t *size, const void *data)
{
    bool same = dimensions == node->dimensions && cgns_data(node) >= 0;
    for (int d = 0; same && d < dimensions; d++)
        same = size[d] == node->size[d];
    if (!same) {
        H5Dclose(node->set);
        if (H5Ldelete(node->group, " data", H5P_DEFAULT) < 0 ||
            create_data(node, node->type, dimensions, size,
                        fits_header(node->type, dimensions, size)) != 0)
            return cgns_fail("the data of the node %s cannot be replaced: %s", node->name,
                             hdf5_reason());
    }
    return put_small(node, data);
}

hid_t cgns_data(cgns_node *node)
{
    if (node->set == 0 && strcmp(node->type, "MT") != 0)
        node->set = H5Dopen2(node->group, " data", H5P_DEFAULT);
    return node->set > 0 ? node->set : -1;
}

bool cgns_get_small(cgns_node *node, const char *type, void *data, size_t room)
{
    size_t bytes = strcmp(type, node->type) == 0 ? H5Tget_size(cgns_type(type)) : 0;
    for (int d = 0; d < node->dimensions; d++)
        bytes *= (size_t)node->size[d];
    return bytes > 0 && bytes <= room && cgns_data(node) >= 0 &&
           H5Dread(node->set, cgns_type(type), H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0;
}

bool cgns_get_text(cgns_node *node, char *text, size_t room)
{
    memset(text, 0, room);
    return cgns_get_small(node, "C1", text, room - 1);
}

/* --- the tree --- */

cgns_node *cgns_child(const cgns_node *parent, const char *name)
{
    for (int c = 0; c < parent->children; c++)
        if (strcmp(parent->child[c]->name, name) == 0)
            return parent->child[c];
    return NULL;
}

cgns_node *cgns_child_of_label(const cgns_node *parent, const char *label, int n)
{
    for (int c = 0; c < parent->children; c++)
        if (strcmp(parent->child[c]->label, label) == 0 && --n == 0)
            return parent->child[c];
    return NULL;
}

int cgns_children_of_label(const cgns_node *parent, const char *label)
{
    int count = 0;
    for (int c = 0; c < parent->children; c++)
        count += strcmp(parent->child[c]->label, label) == 0;
    return count;
}

static void free_node(cgns_node *node)
{
    for (int c = 0; c < node->children; c++)
        free_node(node->child[c]);
    if (node->set > 0)
        H5Dclose(node->set);
    if (node->group >= 0)
        H5Gclose(node->group);
    free(node->child);
    free(node);
}

/* --- files: reading --- */

static herr_t load_child(hid_t group, const char *name, const H5L_info_t *info, void *context);

static void load_shape(cgns_node *node)
{
    hsize_t reversed[CGNS_DIMENSIONS];
    if (cgns_data(node) < 0)
        return;
    hid_t space = H5Dget_space(node->set);
    const int dimensions = H5Sget_simple_extent_ndims(space);
    if (dimensions > 0 && dimensions <= CGNS_DIMENSIONS) {
        H5Sget_simple_extent_dims(space, reversed, NULL);
        node->dimensions = dimensions;
        for (int d = 0; d < dimensions; d++)
            node->size[d] = (int64_t)reversed[dimensions - 1 - d];
    }
    H5Sclose(space);
}

/* Files that older libraries wrote do not keep the order of creation. */
static int load_children(cgns_node *node)
{
    unsigned order = 0;
    hid_t list = H5Gget_create_plist(node->group);
    H5Pget_link_creation_order(list, &order);
    H5Pclose(list);
    return H5Literate(node->group,
                      order & H5P_CRT_ORDER_TRACKED ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME,
                      H5_ITER_INC, NULL, load_child, node) < 0
               ? -1
               : 0;
}

static herr_t load_child(hid_t group, const char *name, const H5L_info_t *info, void *context)
{
    (void)info;
    if (*name == ' ')
        return 0;
    hid_t opened = H5Gopen2(group, name, H5P_DEFAULT);
    if (opened < 0)
        return -1;
    cgns_node *node = add_child(context, opened);
    if (!node)
        return -1;
    get_attribute(opened, "name", node->name, sizeof node->name);
    get_attribute(opened, "label", node->label, sizeof node->label);
    get_attribute(opened, "type", node->type, sizeof node->type);
    load_shape(node);
    return load_children(node);
}

cgns_tree *cgns_open(const char *path, bool to_write, hid_t access)
{
    cgns_tree *tree = calloc(1, sizeof *tree);
    if (!tree)
        return NULL;
    tree->file = H5Fopen(path, to_write ? H5F_ACC_RDWR : H5F_ACC_RDONLY, access);
    tree->root = tree->file < 0 ? NULL : add_child(NULL, H5Gopen2(tree->file, "/", H5P_DEFAULT));
    if (tree->root && load_children(tree->root) == 0)
        return tree;
    cgns_fail("%s", hdf5_reason());
    if (tree->file >= 0)
        cgns_close(tree);
    else
        free(tree);
    return NULL;
}

/* --- files: writing --- */

/* Characters with a final zero, of a given number of bytes, in the object's header. */
static int put_root_text(hid_t group, const char *name, const char *text, size_t bytes)
{
    char padded[64] = "";
    snprintf(padded, sizeof padded, "%s", text);
    hid_t space = H5Screate_simple(1, &(hsize_t){bytes}, NULL), list = data_properties(true);
    hid_t set = H5Dcreate2(group, name, H5T_NATIVE_CHAR, space, H5P_DEFAULT, list, H5P_DEFAULT);
    herr_t status =
        set < 0 ? -1 : H5Dwrite(set, H5T_NATIVE_CHAR, H5S_ALL, H5S_ALL, H5P_DEFAULT, padded);
    if (set >= 0)
        H5Dclose(set);
    H5Pclose(list);
    H5Sclose(space);
    return status < 0 ? -1 : 0;
}

static int put_root(hid_t group)
{
    unsigned major, minor, release;
    char version[CGNS_NAME_BYTES];
    const char *format =
        H5Tequal(H5T_NATIVE_FLOAT, H5T_IEEE_F32LE) > 0 ? "IEEE_LITTLE_32" : "IEEE_BIG_32";
    H5get_libversion(&major, &minor, &release);
    snprintf(version, sizeof version, "HDF5 Version %u.%u.%u", major, minor, release);
    return put_text(group, "name", "HDF5 MotherNode", CGNS_NAME_BYTES) ||
           put_text(group, "label", "Root Node of HDF5 File", CGNS_NAME_BYTES) ||
           put_text(group, "type", "MT", 3) ||
           put_root_text(group, " format", format, strlen(format) + 1) ||
           put_root_text(group, " hdf5version", version, CGNS_NAME_BYTES);
}

/* A library refuses files that are newer than itself: this mapping needs no more than version 3.4.
 */
static int put_version(cgns_node *root)
{
    const float version = 3.4f;
    return cgns_new_small(root, "CGNSLibraryVersion", "CGNSLibraryVersion_t", "R4", 1,
                          &(int64_t){1}, &version)
               ? 0
               : -1;
}

cgns_tree *cgns_create(const char *path, hid_t access)
{
    cgns_tree *tree = calloc(1, sizeof *tree);
    hid_t list = H5Pcreate(H5P_FILE_CREATE);
    H5Pset_link_creation_order(list, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
    if (tree)
        tree->file = H5Fcreate(path, H5F_ACC_TRUNC, list, access);
    H5Pclose(list);
    if (tree && tree->file >= 0 &&
        (tree->root = add_child(NULL, H5Gopen2(tree->file, "/", H5P_DEFAULT))) &&
        put_root(tree->root->group) == 0 && put_version(tree->root) == 0)
        return tree;
    cgns_fail("%s", tree ? hdf5_reason() : "there is no memory");
    if (tree && tree->file >= 0)
        cgns_close(tree);
    else
        free(tree);
    return NULL;
}

int cgns_close(cgns_tree *tree)
{
    if (tree->root)
        free_node(tree->root);
    int status =
        H5Fclose(tree->file) < 0 ? cgns_fail("the file cannot be closed: %s", hdf5_reason()) : 0;
    free(tree);
    return status;
}
