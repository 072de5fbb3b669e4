/* Format mpiio: the raw layout through MPI-IO. A slab is moved through a view of its own blocks: by
 * all ranks that have the file open together, or through a second handle that a rank has for
 * itself, as views are set collectively. */
#include "mpiio_view.h"
#include "raw_layout.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    raw_layout layout;
    MPI_File mpi; /* of all accessors */
    MPI_File own; /* of this rank alone; opened when first used */
    char *path;   /* while it is written, not its final one */
    bool root;    /* of the ranks that have it open: it writes the header */
    int64_t end;  /* of what this rank has written, in bytes */
    mpiio_view view[GRIDIO_VARIABLES_AT_MOST]; /* of this rank's blocks, once used */
} mpiio_handle;

static int check(gridio_file *file, int code, const char *what)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    if (code == MPI_SUCCESS)
        return 0;
    MPI_Error_string(code, text, &length);
    text[strcspn(text, ",\n")] = '\0'; /* MPICH appends a stack of its own functions */
    return gridio_fail(file, "cannot %s '%s': %s", what, file->path, text);
}

static int open_file(gridio_file *file, const char *path, int mode)
{
    mpiio_handle *handle = calloc(1, sizeof *handle);
    if (!handle || !(handle->path = strdup(path)))
        MPI_Abort(file->comm, 1); /* the others are about to wait for this rank inside MPI-IO */
    int rank;
    MPI_Comm_rank(file->accessors, &rank);
    handle->root = rank == GRIDIO_ROOT;
    handle->own = MPI_FILE_NULL;
    if (check(file, MPI_File_open(file->accessors, path, mode, file->info, &handle->mpi), "open") !=
        0) {
        free(handle->path);
        free(handle);
        return GRIDIO_FAILED;
    }
    file->handle = handle;
    return 0;
}

/* The handle through which this rank moves a slab by itself. */
static int open_own(gridio_file *file)
{
    mpiio_handle *handle = file->handle;
    const int mode = file->mode == GRIDIO_READ ? MPI_MODE_RDONLY : MPI_MODE_WRONLY;
    if (handle->own != MPI_FILE_NULL)
        return 0;
    return check(file, MPI_File_open(MPI_COMM_SELF, handle->path, mode, file->info, &handle->own),
                 "open");
}

static int open_own_if_used(gridio_file *file)
{
    return file->method->needs == GRIDIO_APART ? open_own(file) : 0;
}

static int open_to_write(gridio_file *file, const char *path)
{
    if (open_file(file, path, MPI_MODE_WRONLY | MPI_MODE_CREATE) != 0)
        return GRIDIO_FAILED;
    return open_own_if_used(file);
}

static int get_text(gridio_file *file, char *text, int64_t bytes)
{
    MPI_Status status;
    int got;
    if (check(file,
              MPI_File_read_at_all(((mpiio_handle *)file->handle)->mpi, 0, text, (int)bytes,
                                   MPI_CHAR, &status),
              "read") != 0)
        return GRIDIO_FAILED;
    MPI_Get_count(&status, MPI_CHAR, &got);
    return got == bytes ? 0 : gridio_fail(file, "'%s' is not a file that gridio wrote", file->path);
}

static int open_to_read(gridio_file *file, const char *path)
{
    if (open_file(file, path, MPI_MODE_RDONLY) != 0)
        return GRIDIO_FAILED;
    char page[RAW_PAGE_BYTES + 1] = "";
    int64_t bytes = get_text(file, page, RAW_PAGE_BYTES) == 0 ? raw_header_bytes(page) : 0;
    if (bytes == 0)
        return gridio_fail(file, "'%s' is not a file that gridio wrote", file->path);
    char *text = calloc(1, (size_t)bytes + 1);
    int status = text ? get_text(file, text, bytes) : gridio_fail(file, "no memory for a header");
    if (status == 0)
        status = raw_parse(file, text, &((mpiio_handle *)file->handle)->layout);
    free(text);
    return status == 0 ? open_own_if_used(file) : status;
}

/* A piece of the header, through the root's own handle: on the one of all, its view would have to
 * be set by all. */
static int put_text(gridio_file *file, const char *text, int64_t bytes, int64_t offset)
{
    mpiio_handle *handle = file->handle;
    if (!handle->root)
        return 0;
    if (open_own(file) != 0)
        return GRIDIO_FAILED;
    MPI_File_set_view(handle->own, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
    return check(
        file, MPI_File_write_at(handle->own, offset, text, (int)bytes, MPI_CHAR, MPI_STATUS_IGNORE),
        "write");
}

static int write_definitions(gridio_file *file)
{
    mpiio_handle *handle = file->handle;
    char *text = raw_describe(file, &handle->layout);
    if (!text)
        return gridio_fail(file, "there is no memory for the header of '%s'", file->path);
    int status = put_text(file, text, handle->layout.header_bytes, 0);
    free(text);
    return status;
}

/* The view of the slab: kept where it is of this rank's own blocks, as it serves again at the next
 * step. */
static int view_of(gridio_file *file, const gridio_slab *slab, mpiio_view *view)
{
    mpiio_view *kept = &((mpiio_handle *)file->handle)->view[slab->number];
    const gridio_share *share = &file->shares[slab->number];
    const bool is_own =
        slab->block == share->block && slab->blocks == share->blocks && share->blocks > 0;
    if (is_own && kept->is_made && kept->selection == share->selection) {
        *view = *kept;
        return 0;
    }
    if (mpiio_make_view(file, slab, view) != 0)
        return GRIDIO_FAILED;
    if (is_own) {
        mpiio_free_view(kept);
        view->is_kept = true;
        view->selection = share->selection;
        *kept = *view;
    }
    return 0;
}

/* Sets the view of the slab on the handle it is to be moved through. */
static int show(gridio_file *file, const gridio_slab *slab, const mpiio_view *view, MPI_File *mpi)
{
    mpiio_handle *handle = file->handle;
    const MPI_Offset start = raw_offset(file, &handle->layout, slab->number, slab->step);
    const MPI_Datatype element = gridio_mpi_type(file->variables[slab->number].type);
    if (!slab->together && open_own(file) != 0)
        return GRIDIO_FAILED;
    *mpi = slab->together ? handle->mpi : handle->own;
    return check(file,
                 MPI_File_set_view(*mpi, start, element, view->places, "native", MPI_INFO_NULL),
                 "set the view of");
}

static int move(MPI_File mpi, bool together, bool writing, void *data, const mpiio_view *view,
                MPI_Status *status)
{
    const int count = view->memory_count;
    if (writing)
        return (together ? MPI_File_write_all : MPI_File_write)(mpi, data, count, view->memory,
                                                                status);
    return (together ? MPI_File_read_all : MPI_File_read)(mpi, data, count, view->memory, status);
}

/* Open MPI's own MPI-IO returns success from a write to a full disk: the count tells where a rank
 * wrote itself, and elsewhere the file's size, see check_size. */
static int check_moved(gridio_file *file, const gridio_slab *slab, const MPI_Status *status)
{
    const gridio_variable *variable = &file->variables[slab->number];
    MPI_Count moved = 0;
    MPI_Get_elements_x(status, gridio_mpi_type(variable->type), &moved);
    if (moved == slab->elements)
        return 0;
    if (file->mode == GRIDIO_READ)
        return gridio_fail(file, "'%s' ends too early, in variable %s", file->path, variable->name);
    return gridio_fail(file, "cannot write '%s': of %s only %lld elements of %lld were written",
                       file->path, variable->name, (long long)moved, (long long)slab->elements);
}

/* The file reaches at least this far once the slab is in it. */
static void note_end(gridio_file *file, const gridio_slab *slab)
{
    mpiio_handle *handle = file->handle;
    const gridio_variable *variable = &file->variables[slab->number];
    const int64_t start = raw_offset(file, &handle->layout, slab->number, slab->step);
    for (int i = 0; i < slab->blocks; i++) {
        const int64_t last = mpiio_place(variable, &slab->block[i], true) + 1;
        const int64_t end = start + last * (int64_t)gridio_element_bytes(variable->type);
        handle->end = end > handle->end ? end : handle->end;
    }
}

/* After all ranks are done, as another may have written for this one. */
static int check_size(gridio_file *file)
{
    mpiio_handle *handle = file->handle;
    MPI_Offset size;
    if (file->mode == GRIDIO_READ)
        return 0;
    if (check(file, MPI_File_get_size(handle->mpi, &size), "tell the size of") != 0)
        return GRIDIO_FAILED;
    if (size >= handle->end)
        return 0;
    return gridio_fail(file,
                       "cannot write '%s': it ends at byte %lld, and what was written at %lld",
                       file->path, (long long)size, (long long)handle->end);
}

/* Goes through all collective calls even where one fails here, lest the others wait for ever. */
static int move_slab(gridio_file *file, const gridio_slab *slab, void *data)
{
    const bool writing = file->mode == GRIDIO_WRITE;
    mpiio_view view = mpiio_empty_view(file, slab->number);
    MPI_Status status;
    MPI_File mpi = MPI_FILE_NULL;
    if (!slab->together && slab->blocks == 0)
        return 0;
    int code = MPI_SUCCESS, viewed = slab->blocks > 0 ? view_of(file, slab, &view) : 0;
    if (show(file, slab, &view, &mpi) != 0 && !slab->together)
        viewed = GRIDIO_FAILED;
    else
        code = move(mpi, slab->together, writing, data, &view, &status);
    if (!view.is_kept)
        mpiio_free_view(&view);
    if (check(file, code, writing ? "write" : "read") != 0 || viewed != 0 || file->failed)
        return GRIDIO_FAILED;
    if (writing)
        note_end(file, slab);
    return slab->blocks == 0 ? 0 : check_moved(file, slab, &status);
}

static int write_slab(gridio_file *file, const gridio_slab *slab, const void *data)
{
    return move_slab(file, slab, (void *)(uintptr_t)data);
}

static int flush(gridio_file *file)
{
    mpiio_handle *handle = file->handle;
    if (handle->own != MPI_FILE_NULL)
        check(file, MPI_File_sync(handle->own), "sync");
    check(file, MPI_File_sync(handle->mpi), "sync");
    MPI_Barrier(file->accessors);
    return check_size(file);
}

static int mark_steps(gridio_file *file)
{
    char line[RAW_STEPS_BYTES + 1];
    raw_steps_line(file->steps, line);
    return put_text(file, line, RAW_STEPS_BYTES, RAW_STEPS_OFFSET);
}

static int close_file(gridio_file *file)
{
    mpiio_handle *handle = file->handle;
    if (handle->own != MPI_FILE_NULL)
        check(file, MPI_File_close(&handle->own), "close");
    check_size(file);
    int status = check(file, MPI_File_close(&handle->mpi), "close");
    for (int i = 0; i < GRIDIO_VARIABLES_AT_MOST; i++)
        mpiio_free_view(&handle->view[i]);
    free(handle->path);
    free(handle);
    file->handle = NULL;
    return status;
}

static void hints(gridio_file *file, void (*visit)(const char *, const char *, void *),
                  void *context)
{
    const mpiio_handle *handle = file->handle;
    MPI_Info info;
    const bool apart = file->method->needs == GRIDIO_APART && handle->own != MPI_FILE_NULL;
    if (MPI_File_get_info(apart ? handle->own : handle->mpi, &info) != MPI_SUCCESS)
        return;
    gridio_visit_hints(info, visit, context);
}

const gridio_format gridio_mpiio = {
    .name = "mpiio",
    .can = GRIDIO_ALONE | GRIDIO_TOGETHER | GRIDIO_APART,
    .suffix = ".grid",
    .reports_full = true,
    .open_to_write = open_to_write,
    .open_to_read = open_to_read,
    .write_definitions = write_definitions,
    .write = write_slab,
    .read = move_slab,
    .flush = flush,
    .mark_steps = mark_steps,
    .close = close_file,
    .hints = hints,
};
