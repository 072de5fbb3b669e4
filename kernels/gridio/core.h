/* What the files of the core share with each other; methods and formats need only internal.h. */
#ifndef GRIDIO_CORE_H
#define GRIDIO_CORE_H

#include "internal.h"

/* registry.c: the n-th method and format that there is, NULL after the last. */
typedef struct {
    const char *name, *packages; /* NULL: MPI is enough; Debian's, for its Open MPI */
} gridio_library;
typedef struct {
    const char *name;
    const gridio_format *format; /* NULL: its library was not found when this was built */
    const gridio_library *library;
} gridio_known_format;
const gridio_method *gridio_known_method_at(int n);
const gridio_known_format *gridio_known_format_at(int n);

/* settings.c */
int gridio_set_settings(gridio_file *file, const char *const *settings);
int gridio_set_hints(gridio_file *file, const char *const *hints);
void gridio_free_settings(gridio_file *file);

/* variables.c: the descriptions that rank 0 read, to the ranks that do not have the file open; and
 * a file's variables given back. */
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
} gridio_packed_variable;
void gridio_pack_variable(gridio_packed_variable *packed, const gridio_variable *variable);
gridio_variable gridio_unpack_variable(const gridio_packed_variable *packed);

/* rank_parts.c: the variables become this rank's parts of them; and the parts that were read the
 * whole again. */
void gridio_make_parts(gridio_file *file);
void gridio_merge_parts(gridio_file *file);
int gridio_select_part(gridio_file *file, int index, int blocks, const gridio_block *block);

/* paths.c: the name under which this rank opens the file (to be freed; NULL: failed); its place
 * made ready, on the root; its final name given, on the root. */
char *gridio_path_to_open(gridio_file *file);
int gridio_make_place(gridio_file *file);
int gridio_publish(gridio_file *file);

/* locks.c: has MPI-IO do without where the file system has none. Collective over all ranks, and
 * failing on all. */
int gridio_avoid_locks(gridio_file *file);

/* disk_space.c: how many bytes all ranks will write once and in each step, into the file; whether
 * there is room for a step, the first one with what is written once. Collective over all ranks, and
 * failing on all. */
int gridio_count_bytes(gridio_file *file);
int gridio_check_disk_space(gridio_file *file, int64_t step);

#endif
