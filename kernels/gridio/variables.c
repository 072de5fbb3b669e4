/* Variables: described and checked when a file is written, copied and sent to all ranks when it is
 * read; and the blocks of them that a rank moves. */
#include "core.h"
#include "allocation.h"

#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES_AT_MOST = GRIDIO_NAME_BYTES - 1 };

/* --- checks --- */

static bool is_word(const char *text)
{
    if (!text || !*text || strlen(text) > NAME_BYTES_AT_MOST)
        return false;
    for (; *text; text++)
        if ((unsigned char)*text <= ' ')
            return false;
    return true;
}

/* Sizes that MPI's subarrays can say, and whose bytes fit 62 bits. */
static int check_sizes(gridio_file *file, const gridio_variable *variable)
{
    int64_t elements = 1;
    for (int axis = 0; axis < variable->dimensions; axis++) {
        const int64_t size = variable->size[axis];
        if (size < 1 || size > INT32_MAX || elements > INT64_MAX / 16 / size)
            return gridio_fail(file, "%s has the size %lld in dimension %d", variable->name,
                               (long long)size, axis);
        elements *= size;
    }
    return 0;
}

bool gridio_contradicts(const gridio_variable *variable, const char *name, int64_t size)
{
    for (int axis = 0; axis < variable->dimensions; axis++)
        if (variable->size[axis] != size && variable->dimension_name[axis] &&
            strcmp(variable->dimension_name[axis], name) == 0)
            return true;
    return false;
}

static int check_dimension(gridio_file *file, const gridio_variable *variable, int axis)
{
    const char *name = variable->dimension_name[axis];
    if (!name)
        return 0;
    if (!is_word(name))
        return gridio_fail(file, "the name of dimension %d of %s is not a word without blanks",
                           axis, variable->name);
    if (gridio_contradicts(variable, name, variable->size[axis]))
        return gridio_fail(file, "%s has two sizes of the dimension %s", variable->name, name);
    for (int i = 0; i < file->variables_count; i++)
        if (gridio_contradicts(&file->variables[i], name, variable->size[axis]))
            return gridio_fail(file, "the dimension %s has other sizes in %s and in %s", name,
                               variable->name, file->variables[i].name);
    return 0;
}

static int check_variable(gridio_file *file, const gridio_variable *variable)
{
    if (!is_word(variable->name) || !is_word(variable->units))
        return gridio_fail(
            file, "a variable's name and units are words without blanks of at most %d bytes",
            NAME_BYTES_AT_MOST);
    if (gridio_find(file, variable->name) >= 0)
        return gridio_fail(file, "'%s' has a variable %s already", file->path, variable->name);
    if (variable->dimensions < 0 || variable->dimensions > GRIDIO_DIMENSIONS)
        return gridio_fail(file, "%s has %d dimensions, more than %d", variable->name,
                           variable->dimensions, GRIDIO_DIMENSIONS);
    if (check_sizes(file, variable) != 0)
        return GRIDIO_FAILED;
    for (int axis = 0; axis < variable->dimensions; axis++)
        if (check_dimension(file, variable, axis) != 0)
            return GRIDIO_FAILED;
    if (variable->tiled && variable->dimensions == 0)
        return gridio_fail(file, "%s is a single number and cannot be tiled", variable->name);
    return 0;
}

/* --- descriptions --- */

static char *copy_name(const char *name)
{
    return name ? strdup(name) : NULL;
}

static void copy_names(gridio_variable *variable)
{
    variable->name = copy_name(variable->name);
    variable->units = copy_name(variable->units);
    for (int axis = 0; axis < GRIDIO_DIMENSIONS; axis++)
        variable->dimension_name[axis] =
            axis < variable->dimensions ? copy_name(variable->dimension_name[axis]) : NULL;
}

static void free_names(const gridio_variable *variable)
{
    free((char *)(uintptr_t)variable->name);
    free((char *)(uintptr_t)variable->units);
    for (int axis = 0; axis < GRIDIO_DIMENSIONS; axis++)
        free((char *)(uintptr_t)variable->dimension_name[axis]);
}

/* A part has some of its whole's names, and the whole has the others. */
static void free_whole_names(const gridio_file *file, int number)
{
    const gridio_share *share = &file->shares[number];
    for (int axis = 0; axis < GRIDIO_DIMENSIONS && share->is_part; axis++)
        if (share->whole.dimension_name[axis] != file->variables[number].dimension_name[axis])
            free((char *)(uintptr_t)share->whole.dimension_name[axis]);
}

int gridio_add_variable(gridio_file *file, const gridio_variable *variable)
{
    if (file->variables_count == GRIDIO_VARIABLES_AT_MOST) {
        gridio_fail(file, "'%s' has more than %d variables", file->path, GRIDIO_VARIABLES_AT_MOST);
        return -1;
    }
    file->variables[file->variables_count] = *variable;
    copy_names(&file->variables[file->variables_count]);
    return file->variables_count++;
}

void gridio_free_variables(gridio_file *file)
{
    for (int i = 0; i < file->variables_count; i++) {
        free_whole_names(file, i);
        free_names(&file->variables[i]);
        free(file->shares[i].block);
    }
    free(file->order);
}

/* --- blocks --- */

static bool block_fits(const gridio_variable *variable, const gridio_block *block)
{
    for (int axis = 0; axis < variable->dimensions; axis++)
        if (block->start[axis] < 0 || block->count[axis] < 0 ||
            block->start[axis] > variable->size[axis] - block->count[axis])
            return false;
    return true;
}

/* A block that makes no sense is left out and is a failure, of which the other ranks hear at the
 * next agreement: until then this rank takes part. */
void gridio_set_blocks(gridio_file *file, int number, int blocks, const gridio_block *block)
{
    const gridio_variable *variable = &file->variables[number];
    gridio_share *share = &file->shares[number];
    const gridio_block whole = gridio_whole(variable);
    if (!variable->tiled)
        blocks = 1, block = &whole;
    free(share->block);
    share->block = gridio_allocate((size_t)(blocks > 0 ? blocks : 1), sizeof *share->block);
    share->blocks = 0;
    share->elements = 0;
    share->selection++;
    for (int i = 0; i < blocks; i++) {
        const int64_t elements = gridio_elements(&block[i], variable->dimensions);
        if (!block_fits(variable, &block[i]))
            gridio_fail(file, "rank %d gave a block that lies outside %s", file->rank,
                        variable->name);
        else if (elements > 0)
            share->block[share->blocks++] = block[i], share->elements += elements;
    }
}

int gridio_define(gridio_file *file, const gridio_variable *variable, int blocks,
                  const gridio_block *block, int *number)
{
    *number = -1;
    if (file->failed_everywhere)
        return GRIDIO_FAILED;
    if (file->mode == GRIDIO_READ || file->defined)
        return gridio_fail(file, "'%s' takes no more variables", file->path);
    if (check_variable(file, variable) != 0 || (*number = gridio_add_variable(file, variable)) < 0)
        return GRIDIO_FAILED;
    gridio_set_blocks(file, *number, blocks, block);
    return 0;
}

/* --- reading --- */

static void put_name(char *text, const char *name)
{
    if (name)
        strncpy(text, name, NAME_BYTES_AT_MOST);
}

void gridio_pack_variable(gridio_packed_variable *packed, const gridio_variable *variable)
{
    memset(packed, 0, sizeof *packed);
    packed->variable = *variable;
    put_name(packed->name[0], variable->name);
    put_name(packed->name[1], variable->units);
    for (int axis = 0; axis < variable->dimensions; axis++)
        put_name(packed->name[2 + axis], variable->dimension_name[axis]);
}

gridio_variable gridio_unpack_variable(const gridio_packed_variable *packed)
{
    gridio_variable variable = packed->variable;
    variable.name = packed->name[0];
    variable.units = packed->name[1];
    for (int axis = 0; axis < GRIDIO_DIMENSIONS; axis++)
        variable.dimension_name[axis] = *packed->name[2 + axis] ? packed->name[2 + axis] : NULL;
    return variable;
}

static void share_variable(gridio_file *file, int number)
{
    gridio_packed_variable packed;
    if (file->rank == GRIDIO_ROOT)
        gridio_pack_variable(&packed, &file->variables[number]);
    MPI_Bcast(&packed, sizeof packed, MPI_BYTE, GRIDIO_ROOT, file->comm);
    if (file->accessors != MPI_COMM_NULL)
        return;
    const gridio_variable variable = gridio_unpack_variable(&packed);
    gridio_add_variable(file, &variable);
}

void gridio_share_variables(gridio_file *file)
{
    int count = file->variables_count;
    MPI_Bcast(&file->steps, 1, MPI_INT64_T, GRIDIO_ROOT, file->comm);
    MPI_Bcast(&count, 1, MPI_INT, GRIDIO_ROOT, file->comm);
    for (int i = 0; i < count; i++) {
        share_variable(file, i);
        gridio_set_blocks(file, i, 0, NULL);
    }
}

int64_t gridio_steps(const gridio_file *file)
{
    return file->steps;
}

int gridio_variables(const gridio_file *file)
{
    return file->variables_count;
}

int gridio_index(const gridio_file *file, int number)
{
    return file->order ? file->order[number] : number;
}

const gridio_variable *gridio_describe(const gridio_file *file, int number)
{
    if (number < 0 || number >= file->variables_count)
        return NULL;
    const int index = gridio_index(file, number);
    return file->shares[index].is_part ? &file->shares[index].whole : &file->variables[index];
}

int gridio_find(const gridio_file *file, const char *name)
{
    for (int i = 0; i < file->variables_count; i++)
        if (strcmp(gridio_describe(file, i)->name, name) == 0)
            return i;
    return -1;
}
