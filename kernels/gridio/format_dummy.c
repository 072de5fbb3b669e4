/* Format dummy: the posix format with delays that are asked for, and with faults planted, so that
 * what is above and beside a format can be tested: who waits for whom, and whether a verification
 * notices. */
#include "internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

extern const gridio_format gridio_posix;

/* --- delays --- */

/* Of a number of seconds with decimals; what is none is a failure. */
static double setting_seconds(gridio_file *file, const char *name)
{
    const char *text = gridio_setting(file, name);
    char *end;
    if (!text)
        return 0;
    const double seconds = strtod(text, &end);
    if (end != text && *end == '\0' && seconds >= 0 && seconds <= 3600)
        return seconds;
    gridio_fail(file, "the setting %s is a number of seconds, at most 3600, not '%s'", name, text);
    return 0;
}

static bool is_this_rank(gridio_file *file, const char *name)
{
    return gridio_setting_number(file, name, file->rank) == file->rank;
}

static void delay(gridio_file *file, const char *name)
{
    const double seconds = setting_seconds(file, name);
    struct timespec left = {.tv_sec = (time_t)seconds,
                            .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
    if (!is_this_rank(file, "delayed_rank"))
        return;
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        continue;
}

/* --- faults --- */

/* Where it is planted: in this rank's transfers of one variable at one step. */
static bool is_place(gridio_file *file, const gridio_slab *slab)
{
    const char *wanted = gridio_setting(file, "fault_variable");
    const gridio_variable *variable = &file->variables[slab->number];
    const int64_t step = gridio_setting_number(file, "fault_step", 0);
    return gridio_setting_number(file, "fault_rank", GRIDIO_ROOT) == file->rank &&
           slab->step == step && (wanted ? strcmp(wanted, variable->name) == 0 : variable->tiled);
}

static void swap_elements(char *one, char *other, size_t bytes)
{
    char kept[sizeof(double)];
    memcpy(kept, one, bytes);
    memcpy(one, other, bytes);
    memcpy(other, kept, bytes);
}

/* In a copy of the data, of `bytes` an element. */
static void plant(gridio_file *file, const gridio_slab *slab, char *data, size_t bytes)
{
    const int64_t none = slab->elements;
    const int64_t lost = gridio_setting_number(file, "lose_element", none);
    const int64_t swapped = gridio_setting_number(file, "swap_elements", none);
    const int64_t zero = gridio_setting_number(file, "zero_element", none);
    if (lost < none) /* those behind it move up */
        memmove(data + lost * bytes, data + (lost + 1) * bytes, (size_t)(none - lost - 1) * bytes);
    if (swapped < none - 1)
        swap_elements(data + swapped * bytes, data + (swapped + 1) * bytes, bytes);
    if (zero < none)
        memset(data + zero * bytes, 0, bytes);
}

/* What is to be written instead (to be freed); NULL: what was given. */
static char *spoilt(gridio_file *file, const gridio_slab *slab, const void *data)
{
    const size_t bytes = gridio_element_bytes(file->variables[slab->number].type);
    const size_t size = (size_t)slab->elements * bytes;
    if (slab->elements == 0 || !is_place(file, slab))
        return NULL;
    char *copy = malloc(size);
    if (!copy)
        return NULL;
    memcpy(copy, data, size);
    plant(file, slab, copy, bytes);
    return copy;
}

/* --- the format --- */

static int open_to_write(gridio_file *file, const char *path)
{
    delay(file, "open_s");
    return gridio_posix.open_to_write(file, path);
}

static int open_to_read(gridio_file *file, const char *path)
{
    delay(file, "open_s");
    return gridio_posix.open_to_read(file, path);
}

static int write_definitions(gridio_file *file)
{
    delay(file, "define_s");
    return gridio_posix.write_definitions(file);
}

static bool fails_here(gridio_file *file, const gridio_slab *slab)
{
    return gridio_setting(file, "fail_write_step") &&
           gridio_setting_number(file, "fail_write_step", 0) == slab->step &&
           gridio_setting_number(file, "fault_rank", GRIDIO_ROOT) == file->rank;
}

static int write_slab(gridio_file *file, const gridio_slab *slab, const void *data)
{
    delay(file, "write_s");
    if (fails_here(file, slab))
        return gridio_fail(file, "cannot write '%s': rank %d was told to fail", file->path,
                           file->rank);
    char *instead = spoilt(file, slab, data);
    int status = gridio_posix.write(file, slab, instead ? instead : data);
    free(instead);
    return status;
}

static int read_slab(gridio_file *file, const gridio_slab *slab, void *data)
{
    delay(file, "read_s");
    return gridio_posix.read(file, slab, data);
}

static int flush(gridio_file *file)
{
    delay(file, "sync_s");
    return gridio_posix.flush(file);
}

static int mark_steps(gridio_file *file)
{
    return gridio_posix.mark_steps(file);
}

static int close_file(gridio_file *file)
{
    delay(file, "close_s");
    return gridio_posix.close(file);
}

static const char *const settings[] = {
    "open_s: seconds that an open takes longer",
    "define_s: seconds that the definitions take longer",
    "write_s: seconds that every write takes longer",
    "read_s: seconds that every read takes longer",
    "sync_s: seconds that every sync takes longer",
    "close_s: seconds that a close takes longer",
    "delayed_rank: the only rank that is delayed; default: all",
    "lose_element: the number of an element that is left out, those behind it moving up",
    "swap_elements: the number of an element that changes places with the next",
    "zero_element: the number of an element that becomes zero",
    "fault_variable: where these three happen; default: all tiled variables",
    "fault_step: at which step; default: 0",
    "fault_rank: by which rank that writes; default: 0",
    "fail_write_step: the step at which fault_rank's writes fail",
    NULL};

const gridio_format gridio_dummy = {
    .name = "dummy",
    .for_tests = true,
    .can = GRIDIO_ALONE | GRIDIO_TOGETHER | GRIDIO_APART,
    .suffix = ".grid",
    .reports_full = true,
    .settings = settings,
    .open_to_write = open_to_write,
    .open_to_read = open_to_read,
    .write_definitions = write_definitions,
    .write = write_slab,
    .read = read_slab,
    .flush = flush,
    .mark_steps = mark_steps,
    .close = close_file,
};
