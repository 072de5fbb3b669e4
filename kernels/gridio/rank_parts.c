/* A file per rank: when it is written, every variable becomes this rank's part of it; when it is
 * read, the parts become the whole again for those who ask what there is, under the same number on
 * every rank. */
#include "core.h"
#include "allocation.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* --- writing --- */

/* Dimension names are kept where they still have one size in this rank's file. */
static void name_dimensions(const gridio_file *file, gridio_variable *part,
                            const gridio_share *share)
{
    for (int axis = 0; axis < GRIDIO_DIMENSIONS; axis++)
        part->dimension_name[axis] = NULL;
    for (int axis = 0; axis < part->dimensions && share->blocks == 1; axis++) {
        const char *name = share->whole.dimension_name[axis];
        bool usable = name && !gridio_contradicts(part, name, part->size[axis]);
        for (int i = 0; i < file->variables_count && usable; i++)
            usable = &file->variables[i] == part || file->shares[i].is_absent ||
                     !gridio_contradicts(&file->variables[i], name, part->size[axis]);
        part->dimension_name[axis] = usable ? name : NULL;
    }
}

/* The whole's names stay with it: no part has one yet that another part could contradict. */
static void begin_part(gridio_file *file, int number)
{
    gridio_variable *part = &file->variables[number];
    gridio_share *share = &file->shares[number];
    share->is_part = true;
    share->is_absent = share->elements == 0;
    share->whole = *part;
    if (share->is_absent)
        return;
    for (int axis = 0; axis < GRIDIO_DIMENSIONS; axis++) {
        part->dimension_name[axis] = NULL;
        part->size[axis] = axis < part->dimensions ? share->block[0].count[axis] : 0;
    }
    if (share->blocks > 1)
        part->dimensions = 1, part->size[0] = share->elements;
}

static bool writes_wholes(const gridio_file *file)
{
    const char *writers = gridio_setting(file, "whole_writers");
    return file->rank == GRIDIO_ROOT || (writers && strcmp(writers, "all") == 0);
}

void gridio_make_parts(gridio_file *file)
{
    const bool wholes = writes_wholes(file);
    for (int i = 0; i < file->variables_count; i++) {
        file->shares[i].ordinal = i + 1;
        if (file->variables[i].tiled)
            begin_part(file, i);
        else
            file->shares[i].is_absent = !wholes;
    }
    for (int i = 0; i < file->variables_count; i++)
        if (file->shares[i].is_part && !file->shares[i].is_absent)
            name_dimensions(file, &file->variables[i], &file->shares[i]);
}

/* --- reading --- */

/* The index in this rank's file of the variable of that name; -1: none. */
static int index_of(const gridio_file *file, const char *name)
{
    for (int i = 0; i < file->variables_count; i++)
        if (strcmp(file->variables[i].name, name) == 0)
            return i;
    return -1;
}

static void add_absent(gridio_file *file, const gridio_variable *variable)
{
    const int number = gridio_add_variable(file, variable);
    if (number < 0)
        return;
    gridio_share *share = &file->shares[number];
    share->is_absent = true;
    if (variable->tiled) {
        share->is_part = true;
        share->whole = file->variables[number];
    } else {
        gridio_set_blocks(file, number, 0, NULL);
    }
}

/* Gives a variable of rank `from` its public number on all ranks. */
static void announce(gridio_file *file, int index, int from, int number)
{
    gridio_packed_variable packed;
    if (file->rank == from)
        gridio_pack_variable(&packed, file->shares[index].is_part ? &file->shares[index].whole
                                                                  : &file->variables[index]);
    MPI_Bcast(&packed, sizeof packed, MPI_BYTE, from, file->comm);
    const gridio_variable variable = gridio_unpack_variable(&packed);
    index = index_of(file, variable.name);
    if (index < 0) {
        add_absent(file, &variable);
        index = file->variables_count - 1;
    }
    file->order[number] = index;
}

/* Of this rank's variables without a number the one that was defined first; -1: they all have one.
 */
static int next_unnumbered(const gridio_file *file, const bool *has_number, int *ordinal)
{
    int next = -1;
    *ordinal = INT_MAX;
    for (int i = 0; i < file->variables_count; i++) {
        const int mine = file->shares[i].ordinal > 0 ? file->shares[i].ordinal : INT_MAX - 1;
        if (!has_number[i] && mine < *ordinal)
            next = i, *ordinal = mine;
    }
    return next;
}

/* In the order in which they were defined: the lowest rank that has the next one tells the others
 * of it. */
static void number_variables(gridio_file *file)
{
    bool has_number[GRIDIO_VARIABLES_AT_MOST] = {false};
    for (int number = 0; number < GRIDIO_VARIABLES_AT_MOST; number++) {
        struct {
            int ordinal, rank;
        } mine = {.rank = file->rank}, first;
        const int next = next_unnumbered(file, has_number, &mine.ordinal);
        MPI_Allreduce(&mine, &first, 1, MPI_2INT, MPI_MINLOC, file->comm);
        if (first.ordinal == INT_MAX)
            return;
        announce(file, next, first.rank, number);
        has_number[file->order[number]] = true;
    }
}

void gridio_merge_parts(gridio_file *file)
{
    file->order = gridio_allocate(GRIDIO_VARIABLES_AT_MOST, sizeof *file->order);
    for (int i = 0; i < file->variables_count; i++)
        if (!file->shares[i].is_part)
            gridio_set_blocks(file, i, 0, NULL);
    number_variables(file);
    MPI_Allreduce(MPI_IN_PLACE, &file->steps, 1, MPI_INT64_T, MPI_MIN, file->comm);
}

/* Of a file per rank the blocks are what they were when it was written. */
int gridio_select_part(gridio_file *file, int index, int blocks, const gridio_block *block)
{
    gridio_share *share = &file->shares[index];
    int same = 0, wanted = 0;
    for (int i = 0; i < blocks; i++) {
        if (gridio_elements(&block[i], share->whole.dimensions) == 0)
            continue;
        same += wanted < share->blocks &&
                gridio_same_block(&block[i], &share->block[wanted], share->whole.dimensions);
        wanted++;
    }
    share->is_selected = wanted > 0;
    if (wanted == 0 || (same == wanted && wanted == share->blocks))
        return 0;
    return gridio_fail(file,
                       "'%s' has other blocks of %s for rank %d than it asks for, and a file per "
                       "rank is read as it was written",
                       file->path, share->whole.name, file->rank);
}
