/* Files of the netCDF library: what netcdf3 and netcdf4 do alike. */
#include "netcdf_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "netcdf_types.h"

#define NETCDF(function) nc_##function
#define NETCDF_LENGTH size_t
#define NETCDF_ID(file) (((const netcdf_handle *)(file)->handle)->id)
#define NETCDF_CHECK netcdf_check
#include "netcdf_attributes.h"

int netcdf_check(gridio_file *file, int code, const char *what)
{
    return code == NC_NOERR
               ? 0
               : gridio_fail(file, "cannot %s '%s': %s", what, file->path, nc_strerror(code));
}

netcdf_handle *netcdf_new_handle(gridio_file *file, const char *path)
{
    netcdf_handle *handle = calloc(1, sizeof *handle);
    if (!handle || !(handle->path = strdup(path))) {
        free(handle);
        gridio_fail(file, "there is no memory to open '%s'", file->path);
        return NULL;
    }
    file->handle = handle;
    return handle;
}

/* --- definitions --- */

/* A dimension of that name and size. In a file per rank equal names may have several sizes: the
 * size then is added. */
static int dimension_of(gridio_file *file, const gridio_variable *variable, int axis,
                        int *dimension)
{
    const int id = ((netcdf_handle *)file->handle)->id;
    char name[GRIDIO_NAME_BYTES + 24];
    size_t size = 0;
    gridio_dimension_name(variable, axis, name);
    for (int attempt = 0; attempt < 2; attempt++) {
        if (nc_inq_dimid(id, name, dimension) != NC_NOERR)
            return netcdf_check(file, nc_def_dim(id, name, (size_t)variable->size[axis], dimension),
                                "define a dimension of");
        nc_inq_dimlen(id, *dimension, &size);
        if ((int64_t)size == variable->size[axis] && strcmp(name, STEP) != 0)
            return 0;
        snprintf(name + strlen(name), 24, "_%lld", (long long)variable->size[axis]);
    }
    return gridio_fail(file, "the dimension %s of %s has two sizes in '%s'", name, variable->name,
                       file->path);
}

static int define_variable(gridio_file *file, int number)
{
    netcdf_handle *handle = file->handle;
    const gridio_variable *variable = &file->variables[number];
    int dimensions[GRIDIO_DIMENSIONS + 1] = {handle->step_dimension};
    const int lead = variable->every_step;
    for (int axis = 0; axis < variable->dimensions; axis++)
        if (dimension_of(file, variable, axis, &dimensions[lead + axis]) != 0)
            return GRIDIO_FAILED;
    if (netcdf_check(file,
                     nc_def_var(handle->id, variable->name, TYPES[variable->type],
                                lead + variable->dimensions, dimensions, &handle->variable[number]),
                     "define a variable of") != 0)
        return GRIDIO_FAILED;
    return gridio_put_attributes(file, number, &ATTRIBUTES, handle->variable[number]);
}

int netcdf_define(gridio_file *file, int64_t fixed_steps,
                  int (*prepare)(gridio_file *file, int number))
{
    netcdf_handle *handle = file->handle;
    const size_t steps = fixed_steps ? (size_t)fixed_steps : NC_UNLIMITED;
    if (netcdf_check(file, nc_def_dim(handle->id, STEP, steps, &handle->step_dimension),
                     "define a dimension of") != 0 ||
        put_numbers(file, NC_GLOBAL, "gridio_steps", 1, &(int32_t){0}) != 0)
        return GRIDIO_FAILED;
    for (int number = 0; number < file->variables_count; number++) {
        handle->variable[number] = -1;
        if (file->shares[number].is_absent)
            continue;
        if (define_variable(file, number) != 0 || (prepare && prepare(file, number) != 0))
            return GRIDIO_FAILED;
    }
    return netcdf_check(file, nc_enddef(handle->id), "write the header of");
}

/* --- descriptions --- */

/* The step's dimension is the unlimited one or the one so called. */
static void find_steps(netcdf_handle *handle)
{
    if ((nc_inq_unlimdim(handle->id, &handle->step_dimension) != NC_NOERR ||
         handle->step_dimension < 0) &&
        nc_inq_dimid(handle->id, STEP, &handle->step_dimension) != NC_NOERR)
        handle->step_dimension = -1;
}

static int add_variable(gridio_file *file, int number)
{
    netcdf_handle *handle = file->handle;
    char name[NC_MAX_NAME + 1], names[GRIDIO_DIMENSIONS + 1][NC_MAX_NAME + 1];
    int dimensions[NC_MAX_VAR_DIMS], count;
    gridio_variable variable = {.name = name};
    nc_type type;
    if (nc_inq_var(handle->id, number, name, &type, &count, dimensions, NULL) != NC_NOERR ||
        !netcdf_type_of(type, &variable.type))
        return 0; /* of a type that gridio has not: left alone */
    variable.every_step = count > 0 && dimensions[0] == handle->step_dimension;
    variable.dimensions = count - variable.every_step;
    if (variable.dimensions > GRIDIO_DIMENSIONS)
        return 0;
    for (int axis = 0; axis < variable.dimensions; axis++) {
        size_t size;
        nc_inq_dim(handle->id, dimensions[variable.every_step + axis], names[axis], &size);
        variable.size[axis] = (int64_t)size;
        variable.dimension_name[axis] = names[axis];
    }
    handle->variable[file->variables_count] = number;
    return gridio_add_with_attributes(file, &variable, &ATTRIBUTES, number);
}

int netcdf_describe(gridio_file *file)
{
    netcdf_handle *handle = file->handle;
    int variables;
    size_t steps = 0;
    find_steps(handle);
    if (handle->step_dimension >= 0)
        nc_inq_dimlen(handle->id, handle->step_dimension, &steps);
    file->steps = gridio_get_number(file, &ATTRIBUTES, NC_GLOBAL, "gridio_steps", (int32_t)steps);
    if (netcdf_check(file, nc_inq_nvars(handle->id, &variables), "read the header of") != 0)
        return GRIDIO_FAILED;
    for (int number = 0; number < variables && number < GRIDIO_VARIABLES_AT_MOST; number++)
        if (add_variable(file, number) != 0)
            return GRIDIO_FAILED;
    return 0;
}

/* --- slabs --- */

typedef struct {
    size_t start[GRIDIO_DIMENSIONS + 1], count[GRIDIO_DIMENSIONS + 1];
} netcdf_place;

static netcdf_place place_of(gridio_file *file, const gridio_slab *slab, const gridio_block *block)
{
    const gridio_variable *variable = &file->variables[slab->number];
    const int lead = variable->every_step;
    netcdf_place place = {{0}, {0}};
    if (!block)
        return place;
    place.start[0] = (size_t)slab->step;
    place.count[0] = 1;
    for (int axis = 0; axis < variable->dimensions; axis++) {
        place.start[lead + axis] = (size_t)block->start[axis];
        place.count[lead + axis] = (size_t)block->count[axis];
    }
    return place;
}

int netcdf_put_block(gridio_file *file, const gridio_slab *slab, const gridio_block *block,
                     const void *data)
{
    const netcdf_handle *handle = file->handle;
    const netcdf_place place = place_of(file, slab, block);
    const double nothing = 0;
    return netcdf_check(file,
                        nc_put_vara(handle->id, handle->variable[slab->number], place.start,
                                    place.count, block ? data : &nothing),
                        "write");
}

static int get_block(gridio_file *file, const gridio_slab *slab, const gridio_block *block,
                     void *data)
{
    const netcdf_handle *handle = file->handle;
    const netcdf_place place = place_of(file, slab, block);
    double nothing;
    return netcdf_check(file,
                        nc_get_vara(handle->id, handle->variable[slab->number], place.start,
                                    place.count, block ? data : &nothing),
                        "read");
}

static size_t block_bytes(const gridio_variable *variable, const gridio_block *block)
{
    return (size_t)gridio_elements(block, variable->dimensions) *
           gridio_element_bytes(variable->type);
}

int netcdf_write_blocks(gridio_file *file, const gridio_slab *slab, int calls, const void *data)
{
    const gridio_variable *variable = &file->variables[slab->number];
    const char *place = data;
    int status = 0;
    for (int i = 0; i < calls; i++) {
        const gridio_block *block = i < slab->blocks ? &slab->block[i] : NULL;
        if (netcdf_put_block(file, slab, block, place) != 0)
            status = GRIDIO_FAILED;
        if (block)
            place += block_bytes(variable, block);
    }
    return status;
}

int netcdf_read_blocks(gridio_file *file, const gridio_slab *slab, int calls, void *data)
{
    const gridio_variable *variable = &file->variables[slab->number];
    char *place = data;
    int status = 0;
    for (int i = 0; i < calls; i++) {
        const gridio_block *block = i < slab->blocks ? &slab->block[i] : NULL;
        if (get_block(file, slab, block, place) != 0)
            status = GRIDIO_FAILED;
        if (block)
            place += block_bytes(variable, block);
    }
    return status;
}

/* --- the end --- */

int netcdf_mark_steps(gridio_file *file)
{
    return put_numbers(file, NC_GLOBAL, "gridio_steps", 1, &(int32_t){(int32_t)file->steps});
}

int netcdf_sync_serial(gridio_file *file)
{
    const netcdf_handle *handle = file->handle;
    if (netcdf_check(file, nc_sync(handle->id), "sync") != 0)
        return GRIDIO_FAILED;
    const int descriptor = open(handle->path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0 || fsync(descriptor) != 0)
        gridio_fail(file, "cannot sync '%s': %m", file->path);
    if (descriptor >= 0)
        close(descriptor);
    return file->failed ? GRIDIO_FAILED : 0;
}

int netcdf_close(gridio_file *file)
{
    netcdf_handle *handle = file->handle;
    int status = handle->is_open ? netcdf_check(file, nc_close(handle->id), "close") : 0;
    free(handle->path);
    free(handle);
    file->handle = NULL;
    return status;
}
