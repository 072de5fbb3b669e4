/* What the formats of the netCDF library share: definitions, attributes and slabs. */
#ifndef GRIDIO_NETCDF_FILE_H
#define GRIDIO_NETCDF_FILE_H

#include "attributes.h"

#include <netcdf.h>

typedef struct {
    int id; /* netCDF's, valid if is_open */
    int step_dimension;
    bool is_open;
    bool is_parallel;
    char *path;                               /* under which it is open */
    int variable[GRIDIO_VARIABLES_AT_MOST];   /* netCDF's number of each; -1: absent */
    int64_t extent[GRIDIO_VARIABLES_AT_MOST]; /* parallel netCDF-4: steps there is room for */
} netcdf_handle;

/* "cannot WHAT 'PATH': REASON" unless the code is NC_NOERR. */
int netcdf_check(gridio_file *file, int code, const char *what);

/* Makes file->handle; netcdf_close gives it back. */
netcdf_handle *netcdf_new_handle(gridio_file *file, const char *path);

/* Defines dimensions, variables and attributes of everything and leaves define mode. prepare is
 * called for each variable between its definition and the end, or is NULL. fixed_steps 0: the steps
 * are an unlimited dimension. */
int netcdf_define(gridio_file *file, int64_t fixed_steps,
                  int (*prepare)(gridio_file *file, int number));

/* Fills the file's variables and steps, of gridio's own files and of others. */
int netcdf_describe(gridio_file *file);

/* One block, or none; data then is not looked at. */
int netcdf_put_block(gridio_file *file, const gridio_slab *slab, const gridio_block *block,
                     const void *data);
/* The slab's blocks in that many calls: one each, and none in the calls that are left, which a rank
 * makes because others do. After a failure it goes on, for the others' sake. */
int netcdf_write_blocks(gridio_file *file, const gridio_slab *slab, int calls, const void *data);
int netcdf_read_blocks(gridio_file *file, const gridio_slab *slab, int calls, void *data);

int netcdf_mark_steps(gridio_file *file);
int netcdf_close(gridio_file *file);

/* What is in the system's cache of this file, to the disk: netCDF leaves it there. */
int netcdf_sync_serial(gridio_file *file);

#endif
