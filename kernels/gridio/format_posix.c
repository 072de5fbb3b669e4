/* Format posix: the raw layout through open, pwrite, pread and fsync, each rank that has the file
 * open by itself. */
#include "raw_layout.h"
#include "contiguous_runs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    raw_layout layout;
    int descriptor;
    bool root; /* of the ranks that have it open */
} posix_handle;

static int fail(gridio_file *file, const char *what)
{
    return gridio_fail(file, "cannot %s '%s': %s", what, file->path, strerror(errno));
}

static int open_file(gridio_file *file, const char *path, int flags)
{
    posix_handle *handle = calloc(1, sizeof *handle);
    if (!handle)
        return gridio_fail(file, "there is no memory to open '%s'", file->path);
    handle->descriptor = open(path, flags | O_CLOEXEC, 0666);
    if (handle->descriptor >= 0) {
        file->handle = handle;
        return 0;
    }
    free(handle);
    return fail(file, "open");
}

/* The root creates and truncates the file before any other rank opens it. */
static int open_to_write(gridio_file *file, const char *path)
{
    int rank, status = 0;
    MPI_Comm_rank(file->accessors, &rank);
    if (rank == GRIDIO_ROOT)
        status = open_file(file, path, O_WRONLY | O_CREAT | O_TRUNC);
    MPI_Bcast(&status, 1, MPI_INT, GRIDIO_ROOT, file->accessors);
    if (status != 0)
        return gridio_fail(file, "rank 0 could not create '%s'", file->path);
    if (rank != GRIDIO_ROOT)
        return open_file(file, path, O_WRONLY);
    ((posix_handle *)file->handle)->root = true;
    return 0;
}

/* A write may be cut short (a signal, a limit); the rest then says why. */
static int put(gridio_file *file, const char *data, size_t bytes, int64_t offset)
{
    const posix_handle *handle = file->handle;
    while (bytes > 0) {
        ssize_t done = pwrite(handle->descriptor, data, bytes, offset);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return fail(file, "write");
        data += done, offset += done, bytes -= (size_t)done;
    }
    return 0;
}

static int get(gridio_file *file, char *data, size_t bytes, int64_t offset)
{
    const posix_handle *handle = file->handle;
    while (bytes > 0) {
        ssize_t done = pread(handle->descriptor, data, bytes, offset);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return fail(file, "read");
        if (done == 0)
            return gridio_fail(file, "'%s' ends too early, at byte %lld", file->path,
                               (long long)offset);
        data += done, offset += done, bytes -= (size_t)done;
    }
    return 0;
}

static int read_header(gridio_file *file, posix_handle *handle)
{
    char page[RAW_PAGE_BYTES + 1] = "";
    int64_t bytes =
        pread(handle->descriptor, page, RAW_PAGE_BYTES, 0) > 0 ? raw_header_bytes(page) : 0;
    if (bytes == 0)
        return gridio_fail(file, "'%s' is not a file that gridio wrote", file->path);
    char *text = calloc(1, (size_t)bytes + 1);
    int status =
        text ? get(file, text, (size_t)bytes, 0) : gridio_fail(file, "no memory for a header");
    if (status == 0)
        status = raw_parse(file, text, &handle->layout);
    free(text);
    return status;
}

static int open_to_read(gridio_file *file, const char *path)
{
    if (open_file(file, path, O_RDONLY) != 0)
        return GRIDIO_FAILED;
    return read_header(file, file->handle);
}

static int write_definitions(gridio_file *file)
{
    posix_handle *handle = file->handle;
    char *text = raw_describe(file, &handle->layout);
    if (!text)
        return gridio_fail(file, "there is no memory for the header of '%s'", file->path);
    int status = handle->root ? put(file, text, (size_t)handle->layout.header_bytes, 0) : 0;
    free(text);
    return status;
}

/* Moves every run of the slab, each in one request. */
static int each_run(gridio_file *file, const gridio_slab *slab, char *data,
                    int (*move)(gridio_file *, char *, size_t, int64_t))
{
    const gridio_variable *variable = &file->variables[slab->number];
    const int64_t base =
        raw_offset(file, &((posix_handle *)file->handle)->layout, slab->number, slab->step);
    const int64_t element = (int64_t)gridio_element_bytes(variable->type);
    gridio_run run;
    for (gridio_run_walk walk = gridio_walk_runs(variable, slab); gridio_next_run(&walk, &run);)
        if (move(file, data + run.memory * element, (size_t)(run.count * element),
                 base + run.place * element) != 0)
            return GRIDIO_FAILED;
    return 0;
}

static int put_run(gridio_file *file, char *data, size_t bytes, int64_t offset)
{
    return put(file, data, bytes, offset);
}

static int write_slab(gridio_file *file, const gridio_slab *slab, const void *data)
{
    return each_run(file, slab, (char *)(uintptr_t)data, put_run);
}

static int read_slab(gridio_file *file, const gridio_slab *slab, void *data)
{
    return each_run(file, slab, data, get);
}

static int flush(gridio_file *file)
{
    return fsync(((posix_handle *)file->handle)->descriptor) == 0 ? 0 : fail(file, "sync");
}

static int mark_steps(gridio_file *file)
{
    char line[RAW_STEPS_BYTES + 1];
    if (!((posix_handle *)file->handle)->root)
        return 0;
    raw_steps_line(file->steps, line);
    return put(file, line, RAW_STEPS_BYTES, RAW_STEPS_OFFSET);
}

static int close_file(gridio_file *file)
{
    posix_handle *handle = file->handle;
    int status = close(handle->descriptor) == 0 ? 0 : fail(file, "close");
    free(handle);
    file->handle = NULL;
    return status;
}

const gridio_format gridio_posix = {
    .name = "posix",
    .can = GRIDIO_ALONE | GRIDIO_APART,
    .suffix = ".grid",
    .reports_full = true,
    .open_to_write = open_to_write,
    .open_to_read = open_to_read,
    .write_definitions = write_definitions,
    .write = write_slab,
    .read = read_slab,
    .flush = flush,
    .mark_steps = mark_steps,
    .close = close_file,
};
