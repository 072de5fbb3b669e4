/* What a format with attributes keeps of a variable beside its type and shape; the same names in
 * all of them.
 *
 *     units                   text
 *     dimensions              text: its dimensions' names, without the steps, unless the format has
 *                             such names itself
 *     gridio_tiled            1: every rank held its own blocks
 *     gridio_every_step       1: written at every step
 *
 * and where the file is one of a file per rank:
 *
 *     gridio_size             of the whole variable
 *     gridio_dimensions       text: the whole variable's dimensions' names
 *     gridio_blocks           of this rank: for each block its start, then its count, in each
 *                             dimension
 */
#ifndef GRIDIO_ATTRIBUTES_H
#define GRIDIO_ATTRIBUTES_H

#include "internal.h"

enum { GRIDIO_NAME_BYTES = 256, GRIDIO_TEXT_BYTES = (GRIDIO_DIMENSIONS + 1) * GRIDIO_NAME_BYTES };

/* How a format reaches the attributes of one variable. put returns 0 or GRIDIO_FAILED; get_numbers
 * the count (0: there is no such attribute), and *values to be freed; get_text whether there is
 * one. */
typedef struct {
    int (*put_text)(gridio_file *file, int64_t where, const char *name, const char *text);
    int (*put_numbers)(gridio_file *file, int64_t where, const char *name, int count,
                       const int32_t *values);
    bool (*get_text)(gridio_file *file, int64_t where, const char *name, char *text, size_t room);
    int (*get_numbers)(gridio_file *file, int64_t where, const char *name, int32_t **values);
    bool names_dimensions; /* itself */
} gridio_attributes;

/* `where`: whatever the format needs to find the variable. */
int gridio_put_attributes(gridio_file *file, int number, const gridio_attributes *format,
                          int64_t where);

/* Adds the variable, of which name, type, size and dimensions are known already, as its attributes
 * complete it. */
int gridio_add_with_attributes(gridio_file *file, gridio_variable *variable,
                               const gridio_attributes *format, int64_t where);

/* One attribute that is a single number; `otherwise` where there is none. */
int32_t gridio_get_number(gridio_file *file, const gridio_attributes *format, int64_t where,
                          const char *name, int32_t otherwise);

/* The name of the dimension `axis`: its own or one made up from its size. */
void gridio_dimension_name(const gridio_variable *variable, int axis, char *name);

#endif
