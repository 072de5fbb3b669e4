/* Method collective: all ranks have the file open and move their blocks together; the format's library decides which
 * of them touch the file. */
#include "internal.h"

static int write_slab(gridio_file *file, const gridio_slab *slab, const void *data)
{
    gridio_slab mine = *slab;
    const gridio_variable *variable = &file->variables[slab->number];
    if (!variable->tiled) {
        mine.block = gridio_whole(variable);
        mine.empty = file->rank != GRIDIO_ROOT;
    }
    return file->format->write(file, &mine, data);
}

static int read_slab(gridio_file *file, const gridio_slab *slab, void *data)
{
    gridio_slab mine = *slab;
    const gridio_variable *variable = &file->variables[slab->number];
    if (!variable->tiled)
        mine.block = gridio_whole(variable);
    return file->format->read(file, &mine, data);
}

const gridio_method gridio_collective = {
    .name = "collective",
    .usual_format = "mpiio",
    .shared = true,
    .write = write_slab,
    .read = read_slab,
};
