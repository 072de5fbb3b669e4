#include "mpiio_view.h"
#include "allocation.h"
#include "contiguous_runs.h"

#include <limits.h>
#include <stdlib.h>

mpiio_view mpiio_empty_view(const gridio_file *file, int number)
{
    return (mpiio_view){.places = gridio_mpi_type(file->variables[number].type),
                        .memory = MPI_BYTE};
}

int64_t mpiio_place(const gridio_variable *variable, const gridio_block *block, bool last)
{
    int64_t number = 0;
    for (int axis = 0; axis < variable->dimensions; axis++)
        number = number * variable->size[axis] + block->start[axis] +
                 (last ? block->count[axis] - 1 : 0);
    return number;
}

/* Whether every block lies behind the one before it, none between another's rows. */
static bool ascend(const gridio_variable *variable, const gridio_slab *slab)
{
    for (int i = 1; i < slab->blocks; i++)
        if (mpiio_place(variable, &slab->block[i - 1], true) >=
            mpiio_place(variable, &slab->block[i], false))
            return false;
    return true;
}

/* Block after block, as they are given. */
static void make_plain(const gridio_variable *variable, const gridio_slab *slab, mpiio_view *view)
{
    view->places = gridio_places(variable, slab->blocks, slab->block);
    view->memory = gridio_row(variable->type, slab->elements);
}

static MPI_Datatype indexed(const gridio_run *runs, int count, bool in_memory, gridio_type type)
{
    const MPI_Aint bytes = (MPI_Aint)gridio_element_bytes(type);
    int *lengths = gridio_allocate((size_t)count, sizeof *lengths);
    MPI_Aint *displacements = gridio_allocate((size_t)count, sizeof *displacements);
    MPI_Datatype made;
    for (int i = 0; i < count; i++) {
        lengths[i] = (int)runs[i].count;
        displacements[i] = (MPI_Aint)(in_memory ? runs[i].memory : runs[i].place) * bytes;
    }
    MPI_Type_create_hindexed(count, lengths, displacements, gridio_mpi_type(type), &made);
    MPI_Type_commit(&made);
    free(lengths);
    free(displacements);
    return made;
}

static bool countable(const gridio_run *runs, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (runs[i].count > INT_MAX)
            return false;
    return count <= INT_MAX;
}

/* Blocks that lie between each other's rows: all runs in the file's order, and the same runs where
 * memory has them. */
static int make_sorted(gridio_file *file, const gridio_slab *slab, mpiio_view *view)
{
    const gridio_variable *variable = &file->variables[slab->number];
    int64_t count;
    gridio_run *runs = gridio_sorted_runs(variable, slab, &count);
    const bool possible = runs && countable(runs, count);
    if (possible) {
        view->places = indexed(runs, (int)count, false, variable->type);
        view->memory = indexed(runs, (int)count, true, variable->type);
    }
    free(runs);
    return possible ? 0
                    : gridio_fail(file, "the blocks of %s are too many for MPI-IO", variable->name);
}

int mpiio_make_view(gridio_file *file, const gridio_slab *slab, mpiio_view *view)
{
    const gridio_variable *variable = &file->variables[slab->number];
    if (ascend(variable, slab))
        make_plain(variable, slab, view);
    else if (make_sorted(file, slab, view) != 0)
        return GRIDIO_FAILED;
    view->memory_count = 1;
    view->is_made = true;
    return 0;
}

void mpiio_free_view(mpiio_view *view)
{
    if (!view->is_made)
        return;
    MPI_Type_free(&view->places);
    MPI_Type_free(&view->memory);
    view->is_made = false;
}
