/* Method file-per-rank: every rank has a file of its own and needs nobody. What is not tiled is in
 * the first one, or in all of them. */
#include "internal.h"

static MPI_Comm this_rank(gridio_file *file)
{
    MPI_Comm comm;
    gridio_setting_is(file, "whole_writers", "root|all", "root",
                      "all"); /* fails where it is something else */
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    return comm;
}

static int move(gridio_file *file, const gridio_slab *slab, void *data)
{
    return file->mode == GRIDIO_WRITE ? file->format->write(file, slab, data)
                                      : file->format->read(file, slab, data);
}

/* This rank's part is all that its file has of the variable. */
static int move_part(gridio_file *file, const gridio_slab *slab, void *data)
{
    const gridio_block whole = gridio_whole(&file->variables[slab->number]);
    gridio_slab part = *slab;
    part.blocks = 1;
    part.block = &whole;
    return move(file, &part, data);
}

static int write_slab(gridio_file *file, const gridio_slab *slab, const void *data)
{
    const gridio_share *share = &file->shares[slab->number];
    return share->is_absent ? 0 : move_part(file, slab, (void *)(uintptr_t)data);
}

/* Where the root cannot read the others get whatever it has, and the failure with it. */
static int read_whole(gridio_file *file, const gridio_slab *slab, void *data)
{
    if (file->rank == GRIDIO_ROOT)
        move(file, slab, data);
    MPI_Datatype row = gridio_row(file->variables[slab->number].type, slab->elements);
    MPI_Bcast(data, 1, row, GRIDIO_ROOT, file->comm);
    MPI_Type_free(&row);
    return 0;
}

static int read_slab(gridio_file *file, const gridio_slab *slab, void *data)
{
    if (!file->variables[slab->number].tiled)
        return read_whole(file, slab, data);
    return slab->blocks == 0 ? 0 : move_part(file, slab, data);
}

static const char *const settings[] = {"whole_writers: root or all, which ranks' files have the "
                                       "variables that are not tiled; default: root",
                                       NULL};

const gridio_method gridio_file_per_rank = {
    .name = "file-per-rank",
    .default_format = "posix",
    .needs = GRIDIO_ALONE,
    .splits = true,
    .settings = settings,
    .accessors = this_rank,
    .write = write_slab,
    .read = read_slab,
};
