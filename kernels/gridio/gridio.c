/* The public functions: what is common to all methods and formats. */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char PARTIAL[] = ".partial";
enum { NAME_BYTES_AT_MOST = 255 };

/* --- open ----------------------------------------------------------------------------------------------------------
 */

static int set_hints(gridio_file *file, const char *const *hints)
{
    MPI_Info_create(&file->info);
    if (hints && *hints && !file->format->hints)
        return gridio_fail(file, "the format '%s' takes no hints, and was given '%s'", file->format->name, *hints);
    for (; hints && *hints; hints++) {
        const char *equals = strchr(*hints, '=');
        char key[MPI_MAX_INFO_KEY + 1];
        if (!equals || equals == *hints || equals - *hints > MPI_MAX_INFO_KEY)
            return gridio_fail(file, "the hint '%s' is not of the form key=value", *hints);
        snprintf(key, sizeof key, "%.*s", (int)(equals - *hints), *hints);
        MPI_Info_set(file->info, key, equals + 1);
    }
    return 0;
}

static MPI_Comm accessors(const gridio_file *file)
{
    MPI_Comm comm;
    const bool opens = file->method->shared || file->rank == GRIDIO_ROOT;
    MPI_Comm_split(file->comm, opens ? 0 : MPI_UNDEFINED, file->rank, &comm);
    return comm;
}

static gridio_file *new_file(const char *path, gridio_mode mode, const gridio_method *method,
                             const gridio_format *format, MPI_Comm comm)
{
    gridio_file *file = calloc(1, sizeof *file);
    if (!file || !(file->path = strdup(path)))
        MPI_Abort(comm, 1); /* without it the ranks cannot even agree */
    file->mode = mode;
    file->method = method;
    file->format = format;
    MPI_Comm_dup(comm, &file->comm);
    MPI_Comm_rank(file->comm, &file->rank);
    file->accessors = accessors(file);
    return file;
}

static void free_file(gridio_file *file)
{
    for (int i = 0; i < file->variables_count; i++) {
        free((char *)(uintptr_t)file->variables[i].name);
        free((char *)(uintptr_t)file->variables[i].units);
    }
    if (file->accessors != MPI_COMM_NULL)
        MPI_Comm_free(&file->accessors);
    if (file->info != MPI_INFO_NULL)
        MPI_Info_free(&file->info);
    MPI_Comm_free(&file->comm);
    free(file->gathered);
    free(file->path);
    free(file);
}

static char *partial_path(const gridio_file *file)
{
    char *path = malloc(strlen(file->path) + sizeof PARTIAL);
    if (path)
        sprintf(path, "%s%s", file->path, PARTIAL);
    return path;
}

static int open_here(gridio_file *file)
{
    if (file->accessors == MPI_COMM_NULL)
        return 0;
    if (file->mode == GRIDIO_READ)
        return file->format->open_to_read(file, file->path);
    char *partial = partial_path(file);
    int status = partial ? file->format->open_to_write(file, partial) : gridio_fail(file, "there is no memory");
    free(partial);
    return status;
}

static char *copy_name(const char *name)
{
    return name ? strdup(name) : NULL;
}

/* What rank 0 read in the header, to the ranks that do not have the file open. */
static void share_definitions(gridio_file *file)
{
    MPI_Bcast(&file->steps, 1, MPI_INT64_T, GRIDIO_ROOT, file->comm);
    MPI_Bcast(&file->variables_count, 1, MPI_INT, GRIDIO_ROOT, file->comm);
    for (int i = 0; i < file->variables_count; i++) {
        char names[2][NAME_BYTES_AT_MOST + 1] = {"", ""};
        gridio_variable *variable = &file->variables[i];
        if (file->accessors != MPI_COMM_NULL) {
            snprintf(names[0], sizeof names[0], "%s", variable->name);
            snprintf(names[1], sizeof names[1], "%s", variable->units);
        }
        gridio_variable shared = *variable;
        MPI_Bcast(&shared, sizeof shared, MPI_BYTE, GRIDIO_ROOT, file->comm);
        MPI_Bcast(names, sizeof names, MPI_BYTE, GRIDIO_ROOT, file->comm);
        if (file->accessors != MPI_COMM_NULL)
            continue;
        *variable = shared;
        variable->name = copy_name(names[0]);
        variable->units = copy_name(names[1]);
    }
}

int gridio_open(gridio_file **out, const char *path, gridio_mode mode, const gridio_options *options, MPI_Comm comm)
{
    const gridio_options usual = {0};
    if (!options)
        options = &usual;
    *out = NULL;
    const gridio_method *method = gridio_find_method(options->method);
    const gridio_format *format = method ? gridio_find_format(options->format, method) : NULL;
    if (!format)
        return GRIDIO_FAILED;

    gridio_file *file = new_file(path, mode, method, format, comm);
    set_hints(file, options->hints);
    if (gridio_agree(file) == 0)
        open_here(file);
    if (gridio_agree(file) != 0) {
        if (file->handle)
            file->format->close(file);
        free_file(file);
        return GRIDIO_FAILED;
    }
    if (mode == GRIDIO_READ)
        share_definitions(file);
    *out = file;
    return 0;
}

/* --- variables -----------------------------------------------------------------------------------------------------
 */

static bool is_word(const char *text)
{
    if (!text || !*text || strlen(text) > NAME_BYTES_AT_MOST)
        return false;
    for (; *text; text++)
        if ((unsigned char)*text <= ' ')
            return false;
    return true;
}

static int check_variable(gridio_file *file, const gridio_variable *variable)
{
    if (!is_word(variable->name) || !is_word(variable->units))
        return gridio_fail(file, "a variable's name and units are words without blanks of at most %d bytes",
                           NAME_BYTES_AT_MOST);
    if (variable->dimensions < 0 || variable->dimensions > GRIDIO_DIMENSIONS)
        return gridio_fail(file, "%s has %d dimensions, more than %d", variable->name, variable->dimensions,
                           GRIDIO_DIMENSIONS);
    for (int d = 0; d < variable->dimensions; d++)
        if (variable->size[d] < 1 || variable->size[d] > INT32_MAX)
            return gridio_fail(file, "%s has the size %lld in dimension %d", variable->name,
                               (long long)variable->size[d], d);
    if (variable->tiled && variable->dimensions == 0)
        return gridio_fail(file, "%s is a single number and cannot be tiled", variable->name);
    return 0;
}

int gridio_define(gridio_file *file, const gridio_variable *variable, int *number)
{
    if (file->mode == GRIDIO_READ || file->defined)
        return gridio_fail(file, "'%s' takes no more variables", file->path);
    if (check_variable(file, variable) != 0)
        return GRIDIO_FAILED;
    if (file->variables_count == GRIDIO_VARIABLES_AT_MOST)
        return gridio_fail(file, "'%s' has %d variables, as many as fit", file->path, GRIDIO_VARIABLES_AT_MOST);
    *number = file->variables_count++;
    file->variables[*number] = *variable;
    file->variables[*number].name = copy_name(variable->name);
    file->variables[*number].units = copy_name(variable->units);
    return 0;
}

int gridio_end_definitions(gridio_file *file)
{
    file->defined = true;
    if (gridio_agree(file) != 0)
        return GRIDIO_FAILED;
    if (file->accessors != MPI_COMM_NULL)
        file->format->write_definitions(file);
    return gridio_agree(file);
}

int64_t gridio_steps(const gridio_file *file)
{
    return file->steps;
}

int gridio_variables(const gridio_file *file)
{
    return file->variables_count;
}

const gridio_variable *gridio_describe(const gridio_file *file, int number)
{
    return number >= 0 && number < file->variables_count ? &file->variables[number] : NULL;
}

/* --- blocks --------------------------------------------------------------------------------------------------------
 */

static bool block_fits(const gridio_variable *variable, const gridio_block *block)
{
    for (int d = 0; d < variable->dimensions; d++)
        if (block->start[d] < 0 || block->count[d] < 0 || block->start[d] + block->count[d] > variable->size[d])
            return false;
    return true;
}

/* A block that makes no sense becomes an empty one and a failure, so that this rank still takes part. */
static gridio_slab slab_of(gridio_file *file, int number, int64_t step, const gridio_block *block)
{
    const gridio_variable *variable = &file->variables[number];
    gridio_slab slab = {.number = number, .step = step, .block = gridio_whole(variable)};
    if (!variable->tiled)
        return slab;
    slab.block = block ? *block : (gridio_block){{0}, {0}};
    if (!block_fits(variable, &slab.block)) {
        gridio_fail(file, "rank %d gave a block that lies outside %s", file->rank, variable->name);
        slab.block = (gridio_block){{0}, {0}};
    }
    slab.empty = gridio_elements(&slab.block, variable->dimensions) == 0;
    return slab;
}

static bool addressable(gridio_file *file, int number, int64_t step)
{
    if (number >= 0 && number < file->variables_count && step >= 0)
        return true;
    gridio_fail(file, "'%s' has no variable %d at step %lld", file->path, number, (long long)step);
    return false;
}

int gridio_write(gridio_file *file, int number, int64_t step, const gridio_block *block, const void *data)
{
    if (file->failed_everywhere)
        return GRIDIO_FAILED;
    if (file->mode == GRIDIO_READ || !file->defined)
        return gridio_fail(file, "'%s' is not ready to be written", file->path);
    if (!addressable(file, number, step))
        return GRIDIO_FAILED;
    const gridio_slab slab = slab_of(file, number, step, block);
    if (file->variables[number].every_step && step >= file->steps_written)
        file->steps_written = step + 1;
    file->method->write(file, &slab, data);
    return 0; /* the next agreement tells: ranks that saw no failure go on as well */
}

int gridio_read(gridio_file *file, int number, int64_t step, const gridio_block *block, void *data)
{
    if (file->failed_everywhere)
        return GRIDIO_FAILED;
    if (file->mode == GRIDIO_WRITE)
        return gridio_fail(file, "'%s' is open for writing", file->path);
    if (!addressable(file, number, step))
        return GRIDIO_FAILED;
    const gridio_slab slab = slab_of(file, number, step, block);
    file->method->read(file, &slab, data);
    return gridio_agree(file);
}

int gridio_sync(gridio_file *file)
{
    if (file->failed_everywhere)
        return GRIDIO_FAILED;
    if (file->accessors != MPI_COMM_NULL)
        file->format->flush(file);
    if (gridio_agree(file) != 0)
        return GRIDIO_FAILED;
    file->steps = file->steps_written;
    if (file->accessors != MPI_COMM_NULL)
        file->format->mark_steps(file);
    return 0;
}

/* --- close ---------------------------------------------------------------------------------------------------------
 */

static void publish(gridio_file *file)
{
    char *partial = file->rank == GRIDIO_ROOT ? partial_path(file) : NULL;
    if (partial && rename(partial, file->path) != 0)
        gridio_fail(file, "'%s' could not be given its final name '%s'", partial, file->path);
    free(partial);
}

static int finish_writing(gridio_file *file)
{
    if (gridio_agree(file) != 0)
        return GRIDIO_FAILED;
    file->steps = file->steps_written;
    if (file->accessors != MPI_COMM_NULL)
        file->format->mark_steps(file);
    return 0;
}

int gridio_close(gridio_file **out)
{
    gridio_file *file = *out;
    *out = NULL;
    if (file->mode == GRIDIO_WRITE)
        finish_writing(file);
    if (file->handle)
        file->format->close(file);
    if (gridio_agree(file) == 0 && file->mode == GRIDIO_WRITE)
        publish(file);
    int status = gridio_agree(file);
    free_file(file);
    return status;
}

/* --- what is in use ------------------------------------------------------------------------------------------------
 */

void gridio_hints(gridio_file *file, void (*visit)(const char *, const char *, void *), void *context)
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
