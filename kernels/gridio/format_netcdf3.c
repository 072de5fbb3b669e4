/* Format netcdf3: netCDF's classic formats through the netCDF library, by one rank. */
#include "chunking.h"
#include "netcdf_file.h"

/* Of the classic formats the default has 8-byte offsets, but no variable of 4 GiB. */
static int creation_mode(gridio_file *file)
{
    static const char KINDS[] = "classic|64bit-offset|64bit-data";
    if (gridio_setting_is(file, "kind", KINDS, "64bit-offset", "classic"))
        return NC_CLOBBER;
    return gridio_setting_is(file, "kind", KINDS, "64bit-offset", "64bit-data")
               ? NC_CLOBBER | NC_64BIT_DATA
               : NC_CLOBBER | NC_64BIT_OFFSET;
}

static int open_to_write(gridio_file *file, const char *path)
{
    netcdf_handle *handle = netcdf_new_handle(file, path);
    if (!handle)
        return GRIDIO_FAILED;
    int code = nc_create(path, creation_mode(file), &handle->id);
    handle->is_open = code == NC_NOERR;
    return netcdf_check(file, code, "create");
}

static int open_to_read(gridio_file *file, const char *path)
{
    netcdf_handle *handle = netcdf_new_handle(file, path);
    if (!handle)
        return GRIDIO_FAILED;
    int code = nc_open(path, NC_NOWRITE, &handle->id);
    handle->is_open = code == NC_NOERR;
    return netcdf_check(file, code, "open") == 0 ? netcdf_describe(file) : GRIDIO_FAILED;
}

static int write_definitions(gridio_file *file)
{
    const netcdf_handle *handle = file->handle;
    const bool fill = gridio_setting_is(file, "fill", "on|off", "off", "on");
    nc_set_fill(handle->id, fill ? NC_FILL : NC_NOFILL, NULL);
    return netcdf_define(file, gridio_fixed_steps(file), NULL);
}

static int write_slab(gridio_file *file, const gridio_slab *slab, const void *data)
{
    if (file->variables[slab->number].every_step && gridio_check_step(file, slab->step) != 0)
        return GRIDIO_FAILED;
    return netcdf_write_blocks(file, slab, slab->blocks, data);
}

static int read_slab(gridio_file *file, const gridio_slab *slab, void *data)
{
    return netcdf_read_blocks(file, slab, slab->blocks, data);
}

static const char *const SETTINGS[] = {
    "kind: classic, 64bit-offset or 64bit-data (CDF-5: variables of 4 GiB and more); default: "
    "64bit-offset",
    "steps: unlimited (the record dimension), or how many there will be at most; default: "
    "unlimited",
    "fill: on (every byte is written twice) or off; default: off",
    NULL,
};

const gridio_format gridio_netcdf3 = {
    .name = "netcdf3",
    .can = GRIDIO_ALONE,
    .suffix = ".nc",
    .settings = SETTINGS,
    .open_to_write = open_to_write,
    .open_to_read = open_to_read,
    .write_definitions = write_definitions,
    .write = write_slab,
    .read = read_slab,
    .flush = netcdf_sync_serial,
    .mark_steps = netcdf_mark_steps,
    .close = netcdf_close,
};
