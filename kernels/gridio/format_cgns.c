/* Format cgns: the SIDS file mapping on HDF5.
 *
 *     CGNSLibraryVersion
 *     BaseD                      for tiled variables of D = 2, 3 dimensions
 *         BaseIterativeData      how many steps are whole
 *         gridio                 in the first base: all variables as text, in the raw formats'
 * words Zone_AxBxC             one zone over all ranks for every shape, its cells being the
 * variables' elements GridCoordinates    the vertices' indices StepNNNNNNNN       a flow solution:
 * one array per variable Once               the same, of the variables written once
 *             ZoneIterativeData  which solution belongs to which step
 *         StepNNNNNNNN, Once     data of the user's: what is not tiled, characters, 1 or 4
 * dimensions
 *
 * An array is created, by all accessors, when the first of it is written. */
#include "cgns_zones.h"
#include "hdf5_support.h"
#include "raw_layout.h"

#include <stdlib.h>
#include <string.h>

static const char DESCRIPTION[] = "gridio"; /* the node with the variables' text */

typedef struct {
    cgns_tree *tree;
} cgns_handle;

static cgns_tree *tree_of(const gridio_file *file)
{
    return ((cgns_handle *)file->handle)->tree;
}

static int open_file(gridio_file *file, const char *path)
{
    cgns_handle *handle = calloc(1, sizeof *handle);
    if (!handle)
        return gridio_fail(file, "there is no memory to open '%s'", file->path);
    file->handle = handle;
    hid_t access = hdf5_access(file);
    handle->tree =
        file->mode == GRIDIO_WRITE ? cgns_create(path, access) : cgns_open(path, false, access);
    H5Pclose(access);
    return handle->tree ? 0
                        : gridio_fail(file, "cannot %s '%s': %s",
                                      file->mode == GRIDIO_WRITE ? "create" : "open", file->path,
                                      cgns_error());
}

/* --- writing --- */

static int write_definitions(gridio_file *file)
{
    raw_layout unused;
    const bool with_coordinates =
        gridio_setting_is(file, "coordinates", "index|none", "index", "index");
    char *text = raw_describe(file, &unused);
    if (!text)
        return gridio_fail(file, "there is no memory to describe '%s'", file->path);
    int status = cgns_make_zones(file, tree_of(file), with_coordinates);
    if (status == 0) {
        text[unused.header_bytes - 1] = '\0';
        cgns_node *base = cgns_child_of_label(tree_of(file)->root, "CGNSBase_t", 1);
        if (!cgns_new_text(base, DESCRIPTION, "Descriptor_t", text))
            status = gridio_fail(file, "cannot write '%s': %s", file->path, cgns_error());
    }
    free(text);
    return status;
}

/* CGNS's characters are small integers, of which HDF5 makes no text. */
static hdf5_target target_of(const gridio_file *file, const gridio_slab *slab, cgns_node *array,
                             bool writes)
{
    const gridio_type type = file->variables[slab->number].type;
    return (hdf5_target){.set = array ? cgns_data(array) : -1,
                         .type = type == GRIDIO_CHARACTER ? H5T_NATIVE_CHAR : hdf5_type(type),
                         .writes = writes};
}

static int write_slab(gridio_file *file, const gridio_slab *slab, const void *data)
{
    cgns_node *array = cgns_array_of(file, tree_of(file), slab->number, slab->step, true);
    const hdf5_target target = target_of(file, slab, array, true);
    if (!array)
        return GRIDIO_FAILED; /* on all accessors alike */
    return hdf5_move(file, &target, slab, (void *)(uintptr_t)data);
}

static int flush(gridio_file *file)
{
    return hdf5_flush(file, tree_of(file)->file);
}

static int mark_steps(gridio_file *file)
{
    return file->steps > 0 ? cgns_put_steps(file, tree_of(file), file->steps) : 0;
}

/* --- reading --- */

static int read_description(gridio_file *file, cgns_node *node)
{
    const size_t bytes = (size_t)node->size[0] + 2;
    raw_layout unused;
    char *text = malloc(bytes);
    if (!text)
        return gridio_fail(file, "there is no memory to read '%s'", file->path);
    int status = cgns_get_text(node, text, bytes)
                     ? raw_parse(file, text, &unused)
                     : gridio_fail(file, "the description of '%s' cannot be read", file->path);
    free(text);
    return status;
}

static int open_to_read(gridio_file *file, const char *path)
{
    if (open_file(file, path) != 0)
        return GRIDIO_FAILED;
    cgns_node *base = cgns_child_of_label(tree_of(file)->root, "CGNSBase_t", 1);
    cgns_node *description = base ? cgns_child(base, DESCRIPTION) : NULL;
    if (!description)
        return gridio_fail(file, "'%s' is not a file that gridio wrote", file->path);
    int status = read_description(file, description);
    file->steps = cgns_get_steps(tree_of(file));
    return status;
}

static int read_slab(gridio_file *file, const gridio_slab *slab, void *data)
{
    cgns_node *array = cgns_array_of(file, tree_of(file), slab->number, slab->step, false);
    const hdf5_target target = target_of(file, slab, array, false);
    return array ? hdf5_move(file, &target, slab, data) : GRIDIO_FAILED;
}

/* --- close --- */

static int close_file(gridio_file *file)
{
    cgns_handle *handle = file->handle;
    int status = 0;
    if (handle->tree && cgns_close(handle->tree) != 0)
        status = gridio_fail(file, "cannot close '%s': %s", file->path, cgns_error());
    free(handle);
    file->handle = NULL;
    return status;
}

static void hints(gridio_file *file, void (*visit)(const char *, const char *, void *),
                  void *context)
{
    hdf5_hints(tree_of(file)->file, visit, context);
}

static const char *const SETTINGS[] = {
    "coordinates: index (the vertices' indices, which the standard wants of a zone) or none; "
    "default: index",
    "metadata: collective or independent; default: independent",
    "alignment_bytes: objects begin at multiples of it; default: 1",
    "alignment_threshold_bytes: objects smaller than this are not aligned; default: 1",
    NULL,
};

const gridio_format gridio_cgns = {
    .name = "cgns",
    .can = GRIDIO_ALONE | GRIDIO_TOGETHER | GRIDIO_APART,
    .suffix = ".cgns",
    .settings = SETTINGS,
    .open_to_write = open_file,
    .open_to_read = open_to_read,
    .write_definitions = write_definitions,
    .write = write_slab,
    .read = read_slab,
    .flush = flush,
    .mark_steps = mark_steps,
    .close = close_file,
    .hints = hints,
};
