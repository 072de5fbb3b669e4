/* The public functions: what is common to all methods and formats. */
#include "core.h"
#include "allocation.h"

#include <stdlib.h>
#include <string.h>

/* --- open --- */

static gridio_file *new_file(const char *path, gridio_mode mode, const gridio_method *method,
                             const gridio_format *format, MPI_Comm comm)
{
    gridio_file *file = gridio_allocate(1, sizeof *file);
    file->path = strcpy(gridio_allocate(strlen(path) + 1, 1), path);
    file->mode = mode;
    file->method = method;
    file->format = format;
    file->accessors = MPI_COMM_NULL;
    MPI_Comm_dup(comm, &file->comm);
    MPI_Comm_rank(file->comm, &file->rank);
    MPI_Comm_size(file->comm, &file->ranks);
    return file;
}

static void free_file(gridio_file *file)
{
    if (file->method->release)
        file->method->release(file);
    gridio_free_variables(file);
    gridio_free_settings(file);
    if (file->accessors != MPI_COMM_NULL)
        MPI_Comm_free(&file->accessors);
    MPI_Comm_free(&file->comm);
    free(file->path);
    free(file);
}

static int open_here(gridio_file *file)
{
    if (file->accessors == MPI_COMM_NULL)
        return 0;
    char *path = gridio_path_to_open(file);
    if (!path)
        return GRIDIO_FAILED;
    const gridio_format *format = file->format;
    int status = file->mode == GRIDIO_READ ? format->open_to_read(file, path)
                                           : format->open_to_write(file, path);
    free(path);
    return status;
}

static int open_all(gridio_file *file, const gridio_options *options)
{
    gridio_set_settings(file, options->settings);
    gridio_set_hints(file, options->hints);
    file->accessors = file->method->accessors(file);
    gridio_make_place(file);
    if (gridio_agree(file) != 0 || gridio_avoid_locks(file) != 0)
        return GRIDIO_FAILED;
    open_here(file);
    return gridio_agree(file);
}

int gridio_open(gridio_file **out, const char *path, gridio_mode mode,
                const gridio_options *options, MPI_Comm comm)
{
    const gridio_options defaults = {0};
    if (!options)
        options = &defaults;
    *out = NULL;
    const gridio_method *method = gridio_find_method(options->method);
    const gridio_format *format = method ? gridio_find_format(options->format, method) : NULL;
    if (!format)
        return GRIDIO_FAILED;

    gridio_file *file = new_file(path, mode, method, format, comm);
    if (open_all(file, options) != 0) {
        if (file->handle)
            format->close(file);
        free_file(file);
        return GRIDIO_FAILED;
    }
    if (mode == GRIDIO_READ && method->splits)
        gridio_merge_parts(file);
    else if (mode == GRIDIO_READ)
        gridio_share_variables(file);
    *out = file;
    return 0;
}

int gridio_end_definitions(gridio_file *file)
{
    file->defined = true;
    if (gridio_agree(file) != 0)
        return GRIDIO_FAILED;
    if (file->method->splits)
        gridio_make_parts(file);
    if (gridio_count_bytes(file) != 0)
        return GRIDIO_FAILED;
    if (file->accessors != MPI_COMM_NULL)
        file->format->write_definitions(file);
    return gridio_agree(file);
}

/* --- write and read --- */

static gridio_slab slab_of(const gridio_file *file, int number, int64_t step)
{
    const int index = gridio_index(file, number);
    const gridio_share *share = &file->shares[index];
    const bool wanted = !share->is_part || file->mode == GRIDIO_WRITE || share->is_selected;
    return (gridio_slab){.number = index,
                         .step = step,
                         .blocks = wanted ? share->blocks : 0,
                         .block = share->block,
                         .elements = wanted ? share->elements : 0};
}

static bool addressable(gridio_file *file, int number, int64_t step)
{
    if (number >= 0 && number < file->variables_count && step >= 0)
        return true;
    gridio_fail(file, "'%s' has no variable %d at step %lld", file->path, number, (long long)step);
    return false;
}

int gridio_select(gridio_file *file, int number, int blocks, const gridio_block *block)
{
    if (file->failed_everywhere)
        return GRIDIO_FAILED;
    if (file->mode == GRIDIO_WRITE || number < 0 || number >= file->variables_count)
        return gridio_fail(file, "'%s' has no variable %d to be read", file->path, number);
    if (file->shares[gridio_index(file, number)].is_part)
        gridio_select_part(file, gridio_index(file, number), blocks, block);
    else
        gridio_set_blocks(file, gridio_index(file, number), blocks, block);
    return 0;
}

int gridio_write(gridio_file *file, int number, int64_t step, const void *data)
{
    if (file->failed_everywhere)
        return GRIDIO_FAILED;
    if (file->mode == GRIDIO_READ || !file->defined)
        return gridio_fail(file, "'%s' is not ready to be written", file->path);
    if (!addressable(file, number, step))
        return GRIDIO_FAILED;
    const gridio_slab slab = slab_of(file, number, step);
    if (gridio_describe(file, number)->every_step && step >= file->steps_written) {
        if (step > 0 && !file->format->reports_full && gridio_check_disk_space(file, step) != 0)
            return GRIDIO_FAILED;
        file->steps_written = step + 1;
    }
    file->method->write(file, &slab, data);
    return 0; /* the next agreement tells: ranks that saw no failure go on as well */
}

int gridio_read(gridio_file *file, int number, int64_t step, void *data)
{
    if (file->failed_everywhere)
        return GRIDIO_FAILED;
    if (file->mode == GRIDIO_WRITE)
        return gridio_fail(file, "'%s' is open for writing", file->path);
    if (!addressable(file, number, step))
        return GRIDIO_FAILED;
    if (gridio_describe(file, number)->every_step && step >= file->steps)
        return gridio_fail(file, "'%s' has %lld whole steps, and so no step %lld", file->path,
                           (long long)file->steps, (long long)step);
    const gridio_slab slab = slab_of(file, number, step);
    file->method->read(file, &slab, data);
    return gridio_agree(file);
}

/* --- sync and close --- */

static int mark_steps(gridio_file *file)
{
    if (gridio_agree(file) != 0)
        return GRIDIO_FAILED;
    file->steps = file->steps_written;
    return file->accessors == MPI_COMM_NULL ? 0 : file->format->mark_steps(file);
}

int gridio_sync(gridio_file *file)
{
    if (file->failed_everywhere)
        return GRIDIO_FAILED;
    if (file->mode == GRIDIO_READ || !file->defined)
        return gridio_fail(file, "'%s' is not ready to be written", file->path);
    if (file->accessors != MPI_COMM_NULL)
        file->format->flush(file);
    return mark_steps(file) == 0 || !file->failed_everywhere ? 0 : GRIDIO_FAILED;
}

int gridio_close(gridio_file **out)
{
    gridio_file *file = *out;
    *out = NULL;
    const bool wrote = file->mode == GRIDIO_WRITE;
    if (wrote && !file->defined)
        gridio_fail(file, "'%s' was closed before its definitions ended", file->path);
    if (wrote)
        mark_steps(file);
    if (file->handle)
        file->format->close(file);
    if (gridio_agree(file) == 0 && wrote)
        gridio_publish(file);
    int status = gridio_agree(file);
    free_file(file);
    return status;
}

void gridio_abandon(gridio_file **out)
{
    gridio_fail(*out, "'%s' was abandoned", (*out)->path);
    gridio_close(out);
}

/* --- what is in use --- */

void gridio_hints(gridio_file *file, void (*visit)(const char *, const char *, void *),
                  void *context)
{
    if (file->handle && file->format->hints)
        file->format->hints(file, visit, context);
}

const char *gridio_method_name(const gridio_file *file)
{
    return file->method->name;
}

const char *gridio_format_name(const gridio_file *file)
{
    return file->format->name;
}
