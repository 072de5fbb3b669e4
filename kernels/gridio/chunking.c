/* Chunk shapes from the setting `chunk`, and the number of steps from `steps`. */
#include "chunking.h"

#include <stdlib.h>
#include <string.h>

static const int64_t CHUNK_BYTES_AT_MOST = INT64_C(1) << 31;

static void largest_block(gridio_file *file, int number, int64_t *chunk)
{
    const gridio_variable *variable = &file->variables[number];
    const gridio_share *share = &file->shares[number];
    int64_t mine[GRIDIO_DIMENSIONS] = {0};
    for (int axis = 0; axis < variable->dimensions && share->blocks > 0; axis++)
        mine[axis] = share->is_part ? variable->size[axis] : share->block[0].count[axis];
    MPI_Allreduce(mine, chunk, GRIDIO_DIMENSIONS, MPI_INT64_T, MPI_MAX, file->accessors);
    for (int axis = 0; axis < variable->dimensions; axis++)
        if (chunk[axis] == 0)
            chunk[axis] = variable->size[axis];
}

/* "AxBxC" for the last dimensions of a variable; those before them, if any, get 1. */
static bool parse_shape(const char *text, const gridio_variable *variable, int64_t *chunk)
{
    int64_t numbers[GRIDIO_DIMENSIONS + 1];
    int count = 0;
    for (char *end; count <= GRIDIO_DIMENSIONS; text = end + 1) {
        numbers[count++] = strtoll(text, &end, 10);
        if (end == text || numbers[count - 1] < 1 || (*end != 'x' && *end != '\0'))
            return false;
        if (*end == '\0')
            break;
    }
    for (int axis = 0; axis < variable->dimensions; axis++) {
        const int from = axis - variable->dimensions + count;
        chunk[axis] = from >= 0 ? numbers[from] : 1;
        if (chunk[axis] > variable->size[axis])
            chunk[axis] = variable->size[axis];
    }
    return count <= GRIDIO_DIMENSIONS;
}

static int64_t bytes(const gridio_variable *variable, const int64_t *chunk)
{
    int64_t product = (int64_t)gridio_element_bytes(variable->type);
    for (int axis = 0; axis < variable->dimensions; axis++)
        product *= chunk[axis];
    return product;
}

/* Halves the first dimension that can be. */
static void cut_to_limit(const gridio_variable *variable, int64_t *chunk)
{
    while (bytes(variable, chunk) > CHUNK_BYTES_AT_MOST) {
        int axis = 0;
        while (chunk[axis] == 1)
            axis++;
        chunk[axis] = (chunk[axis] + 1) / 2;
    }
}

bool gridio_chunk(gridio_file *file, int number, int64_t *chunk, bool *whole)
{
    const gridio_variable *variable = &file->variables[number];
    const char *setting = gridio_setting(file, "chunk");
    for (int axis = 0; axis < variable->dimensions; axis++)
        chunk[axis] = variable->size[axis];
    if (setting && strcmp(setting, "block") == 0)
        largest_block(file, number, chunk);
    else if (setting && strcmp(setting, "contiguous") != 0 &&
             !parse_shape(setting, variable, chunk)) {
        gridio_fail(file,
                    "the setting chunk is contiguous, block or numbers such as 1x64x64, not '%s'",
                    setting);
        return false;
    }
    *whole = !setting || strcmp(setting, "contiguous") == 0;
    cut_to_limit(variable, chunk);
    return true;
}

int64_t gridio_fixed_steps(gridio_file *file)
{
    const char *setting = gridio_setting(file, "steps");
    if (!setting || strcmp(setting, "unlimited") == 0)
        return 0;
    const int64_t steps = gridio_setting_number(file, "steps", 0);
    if (steps == 0 && !file->failed)
        gridio_fail(file, "the setting steps is 'unlimited' or a number of at least 1, not '%s'",
                    setting);
    return steps;
}

int gridio_check_step(gridio_file *file, int64_t step)
{
    const int64_t steps = gridio_fixed_steps(file);
    if (step >= INT32_MAX)
        return gridio_fail(file, "the format '%s' counts no further than %d steps",
                           file->format->name, INT32_MAX);
    if (steps == 0 || step < steps)
        return 0;
    return gridio_fail(
        file, "'%s' has room for %lld steps, as the setting steps says, and so no step %lld",
        file->path, (long long)steps, (long long)step);
}
