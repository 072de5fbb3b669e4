/* What the files of the core share with each other; methods and formats need only internal.h. */
#ifndef GRIDIO_CORE_H
#define GRIDIO_CORE_H

#include "internal.h"

extern const gridio_method gridio_serial, gridio_collective, gridio_independent, gridio_aggregated,
    gridio_file_per_rank;
extern const gridio_format gridio_posix, gridio_mpiio, gridio_hdf5, gridio_netcdf4, gridio_netcdf3, gridio_pnetcdf,
    gridio_cgns, gridio_dummy;

/* settings.c */
int gridio_set_settings(gridio_file *file, const char *const *settings);
int gridio_set_hints(gridio_file *file, const char *const *hints);
void gridio_free_settings(gridio_file *file);

/* variables.c: the descriptions that rank 0 read, to the ranks that do not have the file open; and a file's variables
 * given back. */
void gridio_share_variables(gridio_file *file);
void gridio_free_variables(gridio_file *file);
void gridio_set_blocks(gridio_file *file, int index, int blocks, const gridio_block *block);

/* Where a public number's variable stands in file->variables. */
int gridio_index(const gridio_file *file, int number);

/* Whether it has a dimension of that name and another size. */
bool gridio_contradicts(const gridio_variable *variable, const char *name, int64_t size);

/* A description as bytes that can be sent; what is made of it points into them. */
enum { GRIDIO_NAME_BYTES = 256 };
typedef struct {
    gridio_variable variable;
    char name[2 + GRIDIO_DIMENSIONS][GRIDIO_NAME_BYTES];
} gridio_told;
void gridio_tell(gridio_told *told, const gridio_variable *variable);
gridio_variable gridio_told_variable(const gridio_told *told);

/* parts.c: the variables become this rank's parts of them; and the parts that were read the whole again. */
void gridio_make_parts(gridio_file *file);
void gridio_merge_parts(gridio_file *file);
int gridio_select_part(gridio_file *file, int index, int blocks, const gridio_block *block);

/* paths.c: the name under which this rank opens the file (to be freed; NULL: failed); its place made ready, on the
 * root; its final name given, on the root. */
char *gridio_path_to_open(gridio_file *file);
int gridio_make_place(gridio_file *file);
int gridio_publish(gridio_file *file);

/* locks.c: has MPI-IO do without where the file system has none. Collective over all ranks, and failing on all. */
int gridio_avoid_locks(gridio_file *file);

/* room.c: how many bytes all ranks will write once and in each step, into the file; whether there is room for a step,
 * the first one with what is written once. Collective over all ranks, and failing on all. */
int gridio_count_bytes(gridio_file *file);
int gridio_check_room(gridio_file *file, int64_t step);

#endif
