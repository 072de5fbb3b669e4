/* Format hdf5: every variable a data set in the root group, of every step one with the steps as its
 * first dimension.
 *
 *     /                    attribute gridio_steps: how many steps are whole
 *     /NAME                attributes as in attributes.h
 *
 * With steps=unlimited a data set grows when the first of a step's elements is written, by all
 * accessors at once, and is chunked, since HDF5 can extend no other; a chunk is then one step's
 * whole array unless the setting `chunk` says otherwise. With steps=N it is contiguous. */
#include "attributes.h"
#include "chunking.h"
#include "hdf5_support.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    hid_t file;
    hid_t set[GRIDIO_VARIABLES_AT_MOST];      /* 0: there is none */
    int64_t extent[GRIDIO_VARIABLES_AT_MOST]; /* steps there is room for */
} hdf5_handle;

/* --- attributes --- */

static int put_attribute(gridio_file *file, hid_t where, const char *name, hid_t type, hid_t space,
                         const void *value)
{
    hid_t attribute = H5Acreate2(where, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    int status = attribute < 0 || H5Awrite(attribute, type, value) < 0
                     ? hdf5_fail(file, "write an attribute of")
                     : 0;
    if (attribute >= 0)
        H5Aclose(attribute);
    H5Sclose(space);
    return status;
}

static int put_text(gridio_file *file, int64_t where, const char *name, const char *text)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, strlen(text) + 1);
    int status = put_attribute(file, where, name, type, H5Screate(H5S_SCALAR), text);
    H5Tclose(type);
    return status;
}

static int put_numbers(gridio_file *file, int64_t where, const char *name, int count,
                       const int32_t *values)
{
    hid_t space =
        count == 1 ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &(hsize_t){(hsize_t)count}, NULL);
    return put_attribute(file, where, name, H5T_NATIVE_INT32, space, values);
}

static bool get_text(gridio_file *file, int64_t where, const char *name, char *text, size_t room)
{
    (void)file;
    if (H5Aexists(where, name) <= 0)
        return false;
    hid_t attribute = H5Aopen(where, name, H5P_DEFAULT), type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, room); /* a shorter text is padded, a longer one cut */
    const bool got = attribute >= 0 && H5Aread(attribute, type, text) >= 0;
    H5Tclose(type);
    H5Aclose(attribute);
    return got;
}

static int get_numbers(gridio_file *file, int64_t where, const char *name, int32_t **values)
{
    (void)file;
    *values = NULL;
    if (H5Aexists(where, name) <= 0)
        return 0;
    hid_t attribute = H5Aopen(where, name, H5P_DEFAULT), space = H5Aget_space(attribute);
    const hssize_t count = H5Sget_simple_extent_npoints(space);
    if (count > 0 && count <= INT32_MAX)
        *values = calloc((size_t)count, sizeof **values);
    const bool got = *values && H5Aread(attribute, H5T_NATIVE_INT32, *values) >= 0;
    H5Sclose(space);
    H5Aclose(attribute);
    return got ? (int)count : 0;
}

static const gridio_attributes ATTRIBUTES = {put_text, put_numbers, get_text, get_numbers, false};

/* --- writing --- */

static int open_to_write(gridio_file *file, const char *path)
{
    hdf5_handle *handle = calloc(1, sizeof *handle);
    if (!handle)
        return gridio_fail(file, "there is no memory to open '%s'", file->path);
    file->handle = handle;
    handle->file = hdf5_create(file, path);
    return handle->file < 0 ? GRIDIO_FAILED : 0;
}

/* Without fill values an element never written is whatever the disk held; with them every byte is
 * written twice. */
static hid_t set_properties(gridio_file *file, int number, bool has_steps, bool may_grow)
{
    const gridio_variable *variable = &file->variables[number];
    int64_t chunk[GRIDIO_DIMENSIONS];
    hsize_t sizes[GRIDIO_DIMENSIONS + 1] = {1};
    bool whole;
    if (!gridio_chunk(file, number, chunk, &whole))
        return -1;
    hid_t list = H5Pcreate(H5P_DATASET_CREATE);
    const bool fill = gridio_setting_is(file, "fill", "on|off", "off", "on");
    H5Pset_fill_time(list, fill ? H5D_FILL_TIME_ALLOC : H5D_FILL_TIME_NEVER);
    if (!may_grow && (whole || variable->dimensions == 0))
        return list;
    for (int axis = 0; axis < variable->dimensions; axis++)
        sizes[has_steps + axis] = (hsize_t)chunk[axis];
    H5Pset_chunk(list, has_steps + variable->dimensions, sizes);
    return list;
}

static hid_t set_space(const gridio_variable *variable, int64_t fixed_steps)
{
    hsize_t sizes[GRIDIO_DIMENSIONS + 1] = {(hsize_t)fixed_steps},
                                      limits[GRIDIO_DIMENSIONS + 1] = {(hsize_t)fixed_steps};
    const int lead = variable->every_step;
    if (fixed_steps == 0)
        limits[0] = H5S_UNLIMITED;
    for (int axis = 0; axis < variable->dimensions; axis++)
        sizes[lead + axis] = limits[lead + axis] = (hsize_t)variable->size[axis];
    if (lead + variable->dimensions == 0)
        return H5Screate(H5S_SCALAR);
    return H5Screate_simple(lead + variable->dimensions, sizes, limits);
}

static int create_set(gridio_file *file, int number, int64_t fixed_steps)
{
    hdf5_handle *handle = file->handle;
    const gridio_variable *variable = &file->variables[number];
    hid_t list = set_properties(file, number, variable->every_step,
                                variable->every_step && fixed_steps == 0);
    if (list < 0)
        return GRIDIO_FAILED;
    hid_t space = set_space(variable, fixed_steps);
    hid_t set = H5Dcreate2(handle->file, variable->name, hdf5_type(variable->type), space,
                           H5P_DEFAULT, list, H5P_DEFAULT);
    H5Sclose(space);
    H5Pclose(list);
    if (set < 0)
        return hdf5_fail(file, "create a data set in");
    handle->set[number] = set;
    handle->extent[number] = variable->every_step ? fixed_steps : INT64_MAX;
    return gridio_put_attributes(file, number, &ATTRIBUTES, set);
}

static int write_definitions(gridio_file *file)
{
    hdf5_handle *handle = file->handle;
    const int64_t fixed_steps = gridio_fixed_steps(file);
    int status = put_numbers(file, handle->file, "gridio_steps", 1, &(int32_t){0});
    for (int number = 0; number < file->variables_count; number++)
        if (!file->shares[number].is_absent && !file->failed &&
            create_set(file, number, fixed_steps) != 0)
            status = GRIDIO_FAILED;
    return file->failed ? GRIDIO_FAILED : status;
}

/* All accessors come here with the same variable and step, and so may extend the data set, which
 * all must. */
static int make_room(gridio_file *file, const gridio_slab *slab)
{
    hdf5_handle *handle = file->handle;
    const gridio_variable *variable = &file->variables[slab->number];
    hsize_t sizes[GRIDIO_DIMENSIONS + 1] = {(hsize_t)slab->step + 1};
    if (slab->step < handle->extent[slab->number] || !variable->every_step)
        return 0;
    if (gridio_check_step(file, slab->step) != 0)
        return GRIDIO_FAILED;
    for (int axis = 0; axis < variable->dimensions; axis++)
        sizes[1 + axis] = (hsize_t)variable->size[axis];
    if (H5Dset_extent(handle->set[slab->number], sizes) < 0)
        return hdf5_fail(file, "extend a data set in");
    handle->extent[slab->number] = slab->step + 1;
    return 0;
}

static hdf5_target target_of(gridio_file *file, const gridio_slab *slab, bool writes)
{
    return (hdf5_target){.set = ((hdf5_handle *)file->handle)->set[slab->number],
                         .type = hdf5_type(file->variables[slab->number].type),
                         .has_steps = file->variables[slab->number].every_step,
                         .writes = writes};
}

static int write_slab(gridio_file *file, const gridio_slab *slab, const void *data)
{
    const hdf5_target target = target_of(file, slab, true);
    if (make_room(file, slab) != 0)
        return GRIDIO_FAILED; /* on all accessors alike */
    return hdf5_move(file, &target, slab, (void *)(uintptr_t)data);
}

static int flush(gridio_file *file)
{
    return hdf5_flush(file, ((hdf5_handle *)file->handle)->file);
}

static int mark_steps(gridio_file *file)
{
    hid_t attribute = H5Aopen(((hdf5_handle *)file->handle)->file, "gridio_steps", H5P_DEFAULT);
    const int32_t steps = (int32_t)file->steps;
    int status = attribute < 0 || H5Awrite(attribute, H5T_NATIVE_INT32, &steps) < 0
                     ? hdf5_fail(file, "write the number of steps into")
                     : 0;
    H5Aclose(attribute);
    return status;
}

/* --- reading --- */

static bool type_of(hid_t set, gridio_type *type)
{
    hid_t found = H5Dget_type(set);
    const H5T_class_t class = H5Tget_class(found);
    const size_t bytes = H5Tget_size(found);
    H5Tclose(found);
    if (class == H5T_FLOAT && (bytes == 8 || bytes == 4))
        *type = bytes == 8 ? GRIDIO_FLOAT64 : GRIDIO_FLOAT32;
    else if (class == H5T_INTEGER && bytes == 4)
        *type = GRIDIO_INT32;
    else if (class == H5T_STRING && bytes == 1)
        *type = GRIDIO_CHARACTER;
    else
        return false;
    return true;
}

/* The shape less the steps, if it has them. */
static bool shape_of(gridio_file *file, hid_t set, gridio_variable *variable)
{
    hsize_t sizes[H5S_MAX_RANK];
    hid_t space = H5Dget_space(set);
    const int dimensions = H5Sget_simple_extent_dims(space, sizes, NULL);
    H5Sclose(space);
    variable->every_step = gridio_get_number(file, &ATTRIBUTES, set, "gridio_every_step", 0);
    variable->dimensions = dimensions - variable->every_step;
    for (int axis = 0; axis < variable->dimensions && axis < GRIDIO_DIMENSIONS; axis++)
        variable->size[axis] = (int64_t)sizes[variable->every_step + axis];
    return variable->dimensions >= 0 && variable->dimensions <= GRIDIO_DIMENSIONS;
}

/* Other data sets than gridio's are left alone. */
static herr_t add_set(hid_t group, const char *name, const H5L_info_t *info, void *context)
{
    gridio_file *file = context;
    hdf5_handle *handle = file->handle;
    gridio_variable variable = {.name = name};
    H5O_info_t object;
    (void)info;
    if (H5Oget_info_by_name(group, name, &object, H5P_DEFAULT) < 0 ||
        object.type != H5O_TYPE_DATASET)
        return 0;
    hid_t set = H5Dopen2(group, name, H5P_DEFAULT);
    if (!type_of(set, &variable.type) || !shape_of(file, set, &variable)) {
        H5Dclose(set);
        return 0;
    }
    const int number = file->variables_count;
    if (gridio_add_with_attributes(file, &variable, &ATTRIBUTES, set) != 0) {
        H5Dclose(set);
        return -1;
    }
    handle->set[number] = set;
    return 0;
}

static int open_to_read(gridio_file *file, const char *path)
{
    hdf5_handle *handle = calloc(1, sizeof *handle);
    if (!handle)
        return gridio_fail(file, "there is no memory to open '%s'", file->path);
    file->handle = handle;
    handle->file = hdf5_open(file, path);
    if (handle->file < 0)
        return GRIDIO_FAILED;
    file->steps = gridio_get_number(file, &ATTRIBUTES, handle->file, "gridio_steps", -1);
    if (file->steps < 0)
        return gridio_fail(file,
                           "'%s' is not a file that gridio wrote: it has no attribute gridio_steps",
                           file->path);
    if (H5Literate(handle->file, H5_INDEX_CRT_ORDER, H5_ITER_INC, NULL, add_set, file) < 0)
        return hdf5_fail(file, "read the data sets of");
    return 0;
}

static int read_slab(gridio_file *file, const gridio_slab *slab, void *data)
{
    const hdf5_target target = target_of(file, slab, false);
    return hdf5_move(file, &target, slab, data);
}

/* --- close --- */

static int close_file(gridio_file *file)
{
    hdf5_handle *handle = file->handle;
    int status = 0;
    for (int number = 0; number < GRIDIO_VARIABLES_AT_MOST; number++)
        if (handle->set[number] > 0)
            H5Dclose(handle->set[number]);
    if (handle->file >= 0)
        status = hdf5_check(file, H5Fclose(handle->file), "close");
    free(handle);
    file->handle = NULL;
    return status;
}

static void hints(gridio_file *file, void (*visit)(const char *, const char *, void *),
                  void *context)
{
    hdf5_hints(((hdf5_handle *)file->handle)->file, visit, context);
}

static const char *const SETTINGS[] = {
    GRIDIO_CHUNK_SETTING,
    "steps: unlimited, or how many there will be at most; default: unlimited",
    "fill: on (every byte is written twice) or off; default: off",
    "metadata: collective or independent; default: independent",
    "alignment_bytes: objects begin at multiples of it; default: 1",
    "alignment_threshold_bytes: objects smaller than this are not aligned; default: 1",
    NULL,
};

const gridio_format gridio_hdf5 = {
    .name = "hdf5",
    .can = GRIDIO_ALONE | GRIDIO_TOGETHER | GRIDIO_APART,
    .suffix = ".h5",
    .settings = SETTINGS,
    .open_to_write = open_to_write,
    .open_to_read = open_to_read,
    .write_definitions = write_definitions,
    .write = write_slab,
    .read = read_slab,
    .flush = flush,
    .mark_steps = mark_steps,
    .close = close_file,
    .hints = hints,
};
