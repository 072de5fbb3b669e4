/* Format netcdf4: netCDF-4 files, which are HDF5 files, through the netCDF library.
 *
 * A record can only be added by all accessors at once. Where they write independently, the first
 * write of a variable's step is therefore preceded by a collective one of a single element of each:
 * its own, so that no rank can overwrite what another has already written. */
#include "chunking.h"
#include "hdf5_reason.h"
#include "hdf5_support.h"
#include "netcdf_file.h"

#include <netcdf_par.h>
#include <stdlib.h>
#include <string.h>

/* --- open --- */

static bool is_parallel(const gridio_file *file)
{
    return file->method->needs != GRIDIO_ALONE;
}

/* Alignment is a property of the library, for the files created from now on. */
static void set_alignment(gridio_file *file)
{
    const int64_t alignment = gridio_setting_number(file, "alignment_bytes", 1);
    const int64_t threshold = gridio_setting_number(file, "alignment_threshold_bytes", 1);
    if (alignment > INT32_MAX || threshold > INT32_MAX)
        gridio_fail(file, "netCDF takes alignments of at most %d bytes", INT32_MAX);
    else
        nc_set_alignment((int)threshold, (int)(alignment ? alignment : 1));
}

static int open_to_write(gridio_file *file, const char *path)
{
    netcdf_handle *handle = netcdf_new_handle(file, path);
    if (!handle)
        return GRIDIO_FAILED;
    hdf5_keep_reasons();
    set_alignment(file);
    int code = is_parallel(file)
                   ? nc_create_par(path, NC_NETCDF4, file->accessors, file->info, &handle->id)
                   : nc_create(path, NC_NETCDF4, &handle->id);
    handle->is_open = code == NC_NOERR;
    return netcdf_check(file, code, "create");
}

static int open_to_read(gridio_file *file, const char *path)
{
    netcdf_handle *handle = netcdf_new_handle(file, path);
    if (!handle)
        return GRIDIO_FAILED;
    hdf5_keep_reasons();
    int code = is_parallel(file)
                   ? nc_open_par(path, NC_NOWRITE, file->accessors, file->info, &handle->id)
                   : nc_open(path, NC_NOWRITE, &handle->id);
    handle->is_open = code == NC_NOERR;
    return netcdf_check(file, code, "open") == 0 ? netcdf_describe(file) : GRIDIO_FAILED;
}

/* --- definitions --- */

static int set_chunk(gridio_file *file, int number, bool may_grow)
{
    const netcdf_handle *handle = file->handle;
    const gridio_variable *variable = &file->variables[number];
    const int lead = variable->every_step;
    int64_t chunk[GRIDIO_DIMENSIONS];
    size_t sizes[GRIDIO_DIMENSIONS + 1] = {1};
    bool whole;
    if (gridio_setting(file, "chunk") && strcmp(gridio_setting(file, "chunk"), "library") == 0)
        return 0;
    if (!gridio_chunk(file, number, chunk, &whole))
        return GRIDIO_FAILED;
    for (int axis = 0; axis < variable->dimensions; axis++)
        sizes[lead + axis] = (size_t)chunk[axis];
    const int storage = whole && !may_grow ? NC_CONTIGUOUS : NC_CHUNKED;
    return netcdf_check(file,
                        nc_def_var_chunking(handle->id, handle->variable[number], storage, sizes),
                        "set the chunks of");
}

static int prepare(gridio_file *file, int number)
{
    netcdf_handle *handle = file->handle;
    const gridio_variable *variable = &file->variables[number];
    const int64_t fixed_steps = gridio_fixed_steps(file);
    handle->extent[number] = variable->every_step ? fixed_steps : INT64_MAX;
    if (!gridio_setting_is(file, "fill", "on|off", "off", "on") &&
        netcdf_check(file, nc_def_var_fill(handle->id, handle->variable[number], NC_NOFILL, NULL),
                     "switch off the filling of") != 0)
        return GRIDIO_FAILED;
    if (variable->every_step || variable->dimensions > 0)
        return set_chunk(file, number, variable->every_step && fixed_steps == 0);
    return 0;
}

static int write_definitions(gridio_file *file)
{
    return netcdf_define(file, gridio_fixed_steps(file), prepare);
}

/* --- slabs --- */

static void set_access(gridio_file *file, int number, bool together)
{
    const netcdf_handle *handle = file->handle;
    if (is_parallel(file))
        nc_var_par_access(handle->id, handle->variable[number],
                          together ? NC_COLLECTIVE : NC_INDEPENDENT);
}

/* Adds the record with one element of each accessor that has any. Collective. */
static int add_record(gridio_file *file, const gridio_slab *slab, const void *data)
{
    netcdf_handle *handle = file->handle;
    gridio_block one = {{0}, {0}};
    if (slab->step < handle->extent[slab->number])
        return 0;
    handle->extent[slab->number] = slab->step + 1;
    if (slab->together || !is_parallel(file))
        return 0; /* the library does it by itself */
    for (int axis = 0; axis < file->variables[slab->number].dimensions && slab->blocks > 0;
         axis++) {
        one.start[axis] = slab->block[0].start[axis];
        one.count[axis] = 1;
    }
    set_access(file, slab->number, true);
    return netcdf_put_block(file, slab, slab->blocks > 0 ? &one : NULL, data);
}

/* How many calls move the slab: netCDF moves one block a call, and a rank that has fewer than the
 * others joins in with none. Of a single number there is no less than all: only who has it makes a
 * call. */
static int begin_rounds(gridio_file *file, const gridio_slab *slab)
{
    const gridio_variable *variable = &file->variables[slab->number];
    const bool single = variable->dimensions == 0 && !variable->every_step;
    set_access(file, slab->number, slab->together && !single);
    return single ? slab->blocks : hdf5_rounds(file, slab, slab->blocks);
}

static int write_slab(gridio_file *file, const gridio_slab *slab, const void *data)
{
    if (file->variables[slab->number].every_step && gridio_check_step(file, slab->step) != 0)
        return GRIDIO_FAILED;
    const int status = add_record(file, slab, data);
    const int calls = begin_rounds(file, slab);
    return netcdf_write_blocks(file, slab, calls, data) == 0 ? status : GRIDIO_FAILED;
}

static int read_slab(gridio_file *file, const gridio_slab *slab, void *data)
{
    return netcdf_read_blocks(file, slab, begin_rounds(file, slab), data);
}

/* --- the HDF5 file below --- */

/* netCDF does not hand out its HDF5 file; HDF5 knows all that are open. */
static hid_t hdf5_file_below(const netcdf_handle *handle)
{
    hid_t ids[64], found = -1;
    char name[4096];
    const ssize_t count = H5Fget_obj_ids((hid_t)H5F_OBJ_ALL, H5F_OBJ_FILE, 64, ids);
    for (ssize_t i = 0; i < count && found < 0; i++)
        if (H5Fget_name(ids[i], name, sizeof name) > 0 && strcmp(name, handle->path) == 0)
            found = ids[i];
    return found;
}

static void hints(gridio_file *file, void (*visit)(const char *, const char *, void *),
                  void *context)
{
    const hid_t id = hdf5_file_below(file->handle);
    if (id >= 0)
        hdf5_hints(id, visit, context);
}

static int flush(gridio_file *file)
{
    const netcdf_handle *handle = file->handle;
    return is_parallel(file) ? netcdf_check(file, nc_sync(handle->id), "sync")
                             : netcdf_sync_serial(file);
}

static const char *const SETTINGS[] = {
    GRIDIO_CHUNK_SETTING "; library: as netCDF chooses",
    "steps: unlimited (an unlimited dimension), or how many there will be at most; default: "
    "unlimited",
    "fill: on (every byte is written twice, netCDF's own default) or off; default: off",
    "alignment_bytes: objects begin at multiples of it; default: 1",
    "alignment_threshold_bytes: objects smaller than this are not aligned; default: 1",
    NULL,
};

const gridio_format gridio_netcdf4 = {
    .name = "netcdf4",
    .can = GRIDIO_ALONE | GRIDIO_TOGETHER | GRIDIO_APART,
    .suffix = ".nc",
    .settings = SETTINGS,
    .open_to_write = open_to_write,
    .open_to_read = open_to_read,
    .write_definitions = write_definitions,
    .write = write_slab,
    .read = read_slab,
    .flush = flush,
    .mark_steps = netcdf_mark_steps,
    .close = netcdf_close,
    .hints = hints,
};
