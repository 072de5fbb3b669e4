/* Methods collective and independent: all ranks have the file open and move their blocks
 * themselves; together, where the format's library decides which of them touch the file, or each by
 * itself. */
#include "untiled.h"

static gridio_slab prepared(gridio_file *file, const gridio_slab *slab)
{
    if (!file->variables[slab->number].tiled)
        return gridio_untiled_slab(file, slab);
    gridio_slab mine = *slab;
    mine.together = file->method->needs == GRIDIO_TOGETHER;
    return mine;
}

static int write_slab(gridio_file *file, const gridio_slab *slab, const void *data)
{
    const gridio_slab mine = prepared(file, slab);
    return file->format->write(file, &mine, data);
}

static int read_slab(gridio_file *file, const gridio_slab *slab, void *data)
{
    const gridio_slab mine = prepared(file, slab);
    return file->format->read(file, &mine, data);
}

static MPI_Comm all_ranks(gridio_file *file)
{
    MPI_Comm comm;
    gridio_check_untiled(file);
    MPI_Comm_dup(file->comm, &comm);
    return comm;
}

static const char *const settings[] = {GRIDIO_UNTILED_SETTINGS, NULL};

const gridio_method gridio_collective = {
    .name = "collective",
    .default_format = "mpiio",
    .needs = GRIDIO_TOGETHER,
    .settings = settings,
    .accessors = all_ranks,
    .write = write_slab,
    .read = read_slab,
};

const gridio_method gridio_independent = {
    .name = "independent",
    .default_format = "mpiio",
    .needs = GRIDIO_APART,
    .settings = settings,
    .accessors = all_ranks,
    .write = write_slab,
    .read = read_slab,
};
