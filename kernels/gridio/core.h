/* What the files of the core share with each other; methods and formats need only internal.h. */
#ifndef GRIDIO_CORE_H
#define GRIDIO_CORE_H

#include "internal.h"

extern const gridio_method gridio_serial, gridio_collective, gridio_independent;
extern const gridio_format gridio_posix, gridio_mpiio, gridio_hdf5, gridio_netcdf4, gridio_netcdf3, gridio_pnetcdf,
    gridio_cgns;

/* settings.c */
int gridio_set_settings(gridio_file *file, const char *const *settings);
int gridio_set_hints(gridio_file *file, const char *const *hints);
void gridio_free_settings(gridio_file *file);

/* variables.c: the descriptions that rank 0 read, to the ranks that do not have the file open; and a file's variables
 * given back. */
void gridio_share_variables(gridio_file *file);
void gridio_free_variables(gridio_file *file);

/* paths.c: the name under which this rank opens the file (to be freed; NULL: failed); its place made ready, on the
 * root; its final name given, on the root. */
char *gridio_path_to_open(gridio_file *file);
int gridio_make_place(gridio_file *file);
int gridio_publish(gridio_file *file);

#endif
