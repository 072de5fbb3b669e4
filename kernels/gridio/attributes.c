/* A variable's description as attributes, for every format that has them. */
#include "attributes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void gridio_dimension_name(const gridio_variable *variable, int axis, char *name)
{
    if (variable->dimension_name[axis])
        snprintf(name, GRIDIO_NAME_BYTES, "%s", variable->dimension_name[axis]);
    else
        snprintf(name, GRIDIO_NAME_BYTES, "n%lld", (long long)variable->size[axis]);
}

/* --- writing --- */

static void join_names(const gridio_variable *variable, char *text)
{
    char name[GRIDIO_NAME_BYTES];
    int used = 0;
    *text = '\0';
    for (int axis = 0; axis < variable->dimensions; axis++) {
        gridio_dimension_name(variable, axis, name);
        used +=
            snprintf(text + used, GRIDIO_TEXT_BYTES - (size_t)used, "%s%s", axis ? " " : "", name);
    }
}

static int put_number(gridio_file *file, const gridio_attributes *format, int64_t where,
                      const char *name, int32_t value)
{
    return format->put_numbers(file, where, name, 1, &value);
}

static int put_blocks(gridio_file *file, const gridio_share *share, const gridio_attributes *format,
                      int64_t where)
{
    const int dimensions = share->whole.dimensions, count = 2 * dimensions * share->blocks;
    int32_t *numbers = malloc((size_t)(count ? count : 1) * sizeof *numbers);
    if (!numbers)
        return gridio_fail(file, "there is no memory to describe the blocks in '%s'", file->path);
    for (int i = 0, n = 0; i < share->blocks; i++) {
        for (int axis = 0; axis < dimensions; axis++)
            numbers[n++] = (int32_t)share->block[i].start[axis];
        for (int axis = 0; axis < dimensions; axis++)
            numbers[n++] = (int32_t)share->block[i].count[axis];
    }
    int status = count ? format->put_numbers(file, where, "gridio_blocks", count, numbers) : 0;
    free(numbers);
    return status;
}

static int put_part(gridio_file *file, const gridio_share *share, const gridio_attributes *format,
                    int64_t where)
{
    int32_t size[GRIDIO_DIMENSIONS];
    char text[GRIDIO_TEXT_BYTES];
    for (int axis = 0; axis < share->whole.dimensions; axis++)
        size[axis] = (int32_t)share->whole.size[axis];
    join_names(&share->whole, text);
    if (format->put_numbers(file, where, "gridio_size", share->whole.dimensions, size) != 0 ||
        format->put_text(file, where, "gridio_dimensions", text) != 0)
        return GRIDIO_FAILED;
    return put_blocks(file, share, format, where);
}

int gridio_put_attributes(gridio_file *file, int number, const gridio_attributes *format,
                          int64_t where)
{
    const gridio_variable *variable = &file->variables[number];
    const gridio_share *share = &file->shares[number];
    char text[GRIDIO_TEXT_BYTES];
    join_names(variable, text);
    if (format->put_text(file, where, "units", variable->units) != 0 ||
        (variable->dimensions && !format->names_dimensions &&
         format->put_text(file, where, "dimensions", text) != 0) ||
        put_number(file, format, where, "gridio_tiled", variable->tiled) != 0 ||
        put_number(file, format, where, "gridio_every_step", variable->every_step) != 0 ||
        (share->ordinal && put_number(file, format, where, "gridio_ordinal", share->ordinal) != 0))
        return GRIDIO_FAILED;
    return share->is_part ? put_part(file, share, format, where) : 0;
}

/* --- reading --- */

int32_t gridio_get_number(gridio_file *file, const gridio_attributes *format, int64_t where,
                          const char *name, int32_t otherwise)
{
    int32_t *values = NULL;
    const int32_t value =
        format->get_numbers(file, where, name, &values) == 1 ? values[0] : otherwise;
    free(values);
    return value;
}

/* Cuts the text at its blanks: so many names, or none at all. */
static void split_names(char *text, int dimensions, const char **names)
{
    int found = 0;
    for (char *name = strtok(text, " "); name && found < dimensions; name = strtok(NULL, " "))
        names[found++] = name;
    for (int axis = 0; found < dimensions && axis < dimensions; axis++)
        names[axis] = NULL;
}

static int get_blocks(gridio_file *file, gridio_share *share, const gridio_attributes *format,
                      int64_t where)
{
    int32_t *numbers = NULL;
    const int dimensions = share->whole.dimensions;
    const int count = format->get_numbers(file, where, "gridio_blocks", &numbers);
    share->blocks = dimensions ? count / (2 * dimensions) : 0;
    share->block = share->blocks ? calloc((size_t)share->blocks, sizeof *share->block) : NULL;
    if (share->blocks && !share->block) {
        free(numbers);
        return gridio_fail(file, "there is no memory for the blocks of '%s'", file->path);
    }
    for (int i = 0, n = 0; i < share->blocks; i++, n += 2 * dimensions) {
        for (int axis = 0; axis < dimensions; axis++) {
            share->block[i].start[axis] = numbers[n + axis];
            share->block[i].count[axis] = numbers[n + dimensions + axis];
        }
        share->elements += gridio_elements(&share->block[i], dimensions);
    }
    free(numbers);
    return 0;
}

static int get_part(gridio_file *file, int number, const gridio_attributes *format, int64_t where,
                    int dimensions, const int32_t *size)
{
    gridio_share *share = &file->shares[number];
    char text[GRIDIO_TEXT_BYTES] = "";
    const char *names[GRIDIO_DIMENSIONS] = {NULL};
    share->is_part = true;
    share->whole = file->variables[number];
    share->whole.dimensions = dimensions;
    if (format->get_text(file, where, "gridio_dimensions", text, sizeof text))
        split_names(text, dimensions, names);
    for (int axis = 0; axis < GRIDIO_DIMENSIONS; axis++) {
        share->whole.dimension_name[axis] = names[axis] ? strdup(names[axis]) : NULL;
        share->whole.size[axis] = axis < dimensions ? size[axis] : 0;
    }
    return get_blocks(file, share, format, where);
}

int gridio_add_with_attributes(gridio_file *file, gridio_variable *variable,
                               const gridio_attributes *format, int64_t where)
{
    char units[GRIDIO_NAME_BYTES] = "1", names[GRIDIO_TEXT_BYTES] = "";
    int32_t *size = NULL;
    const int part = format->get_numbers(file, where, "gridio_size", &size);
    format->get_text(file, where, "units", units, sizeof units);
    variable->units = units;
    variable->tiled =
        gridio_get_number(file, format, where, "gridio_tiled", variable->dimensions > 0);
    variable->every_step =
        gridio_get_number(file, format, where, "gridio_every_step", variable->every_step);
    if (format->get_text(file, where, "dimensions", names, sizeof names))
        split_names(names, variable->dimensions, variable->dimension_name);
    const int number = gridio_add_variable(file, variable);
    int status = number < 0 ? GRIDIO_FAILED : 0;
    if (status == 0)
        file->shares[number].ordinal = gridio_get_number(file, format, where, "gridio_ordinal", 0);
    if (status == 0 && part > 0 && part <= GRIDIO_DIMENSIONS)
        status = get_part(file, number, format, where, part, size);
    free(size);
    return status;
}
