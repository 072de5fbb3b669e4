/* Between Fortran and C: texts with their lengths, dimensions in the other order, counts from one.
 * Called by gridio.f90 only. */
#include "gridio.h"
#include "allocation.h"

#include <stdlib.h>
#include <string.h>

/* As gridio.f90 declares them. */
int gridio_fortran_open(gridio_file **file, const char *path, int mode, MPI_Fint comm,
                        const char *method, const char *format, const char *hints,
                        const char *settings);
int gridio_fortran_define(gridio_file *file, const char *name, const char *units, int type,
                          int dimensions, const int64_t *size, const char *dimension_names,
                          int tiled, int every_step, int blocks, const int64_t *start,
                          const int64_t *count, int *number);
int gridio_fortran_select(gridio_file *file, int number, int blocks, const int64_t *start,
                          const int64_t *count);
int gridio_fortran_describe(const gridio_file *file, int number, int64_t *size, int *type,
                            int *every_step);

/* The words of a text, with an end (to be freed by free_words); NULL: there are none. */
static char **words_of(const char *text)
{
    char *copy = strcpy(gridio_allocate(strlen(text) + 1, 1), text), *rest;
    char **words = gridio_allocate(strlen(text) + 2, sizeof *words);
    int count = 1; /* the copy itself stands first, for free_words */
    words[0] = copy;
    for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        words[count++] = word;
    return words;
}

static void free_words(char **words)
{
    free(words[0]);
    free(words);
}

static const char *given(const char *text)
{
    return *text ? text : NULL;
}

int gridio_fortran_open(gridio_file **file, const char *path, int mode, MPI_Fint comm,
                        const char *method, const char *format, const char *hints,
                        const char *settings)
{
    char **hint = words_of(hints), **setting = words_of(settings);
    const gridio_options options = {.method = given(method),
                                    .format = given(format),
                                    .hints = (const char *const *)hint + 1,
                                    .settings = (const char *const *)setting + 1};
    int status = gridio_open(file, path, (gridio_mode)mode, &options, MPI_Comm_f2c(comm));
    free_words(hint);
    free_words(setting);
    return status;
}

/* Fortran's blocks, one after the other, `dimensions` numbers each, as C's (to be freed). */
static gridio_block *blocks_of(int dimensions, int blocks, const int64_t *start,
                               const int64_t *count)
{
    gridio_block *block = gridio_allocate((size_t)blocks + 1, sizeof *block);
    for (int b = 0; b < blocks; b++)
        for (int d = 0; d < dimensions; d++) {
            block[b].start[d] = start[b * dimensions + dimensions - 1 - d] - 1;
            block[b].count[d] = count[b * dimensions + dimensions - 1 - d];
        }
    return block;
}

int gridio_fortran_define(gridio_file *file, const char *name, const char *units, int type,
                          int dimensions, const int64_t *size, const char *dimension_names,
                          int tiled, int every_step, int blocks, const int64_t *start,
                          const int64_t *count, int *number)
{
    char **names = words_of(dimension_names);
    gridio_variable variable = {.name = name,
                                .units = units,
                                .type = (gridio_type)type,
                                .dimensions = dimensions,
                                .tiled = tiled,
                                .every_step = every_step};
    for (int d = 0; d < dimensions && d < GRIDIO_DIMENSIONS; d++)
        variable.size[d] = size[dimensions - 1 - d];
    for (int d = 0; d < dimensions && d < GRIDIO_DIMENSIONS && names[1 + d]; d++)
        variable.dimension_name[dimensions - 1 - d] = names[1 + d];
    gridio_block *block =
        blocks_of(dimensions <= GRIDIO_DIMENSIONS ? dimensions : 0, blocks, start, count);
    int status = gridio_define(file, &variable, blocks, block, number);
    free(block);
    free_words(names);
    return status;
}

int gridio_fortran_select(gridio_file *file, int number, int blocks, const int64_t *start,
                          const int64_t *count)
{
    const gridio_variable *variable = gridio_describe(file, number);
    gridio_block *block = blocks_of(variable ? variable->dimensions : 0, blocks, start, count);
    int status = gridio_select(file, number, blocks, block);
    free(block);
    return status;
}

/* The number of dimensions, -1: there is no such variable; and their sizes in Fortran's order. */
int gridio_fortran_describe(const gridio_file *file, int number, int64_t *size, int *type,
                            int *every_step)
{
    const gridio_variable *variable = gridio_describe(file, number);
    if (!variable)
        return -1;
    for (int d = 0; d < variable->dimensions; d++)
        size[d] = variable->size[variable->dimensions - 1 - d];
    *type = variable->type;
    *every_step = variable->every_step;
    return variable->dimensions;
}
