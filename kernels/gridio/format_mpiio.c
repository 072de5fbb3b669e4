/* Format mpiio: the raw layout through MPI-IO. A slab is moved by all ranks that have the file open together, each
 * through a view of its own block. */
#include "raw_layout.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    raw_layout layout;
    MPI_File mpi;
    bool root; /* rank 0 of those that have it open */
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
    if (!handle)
        return gridio_fail(file, "there is no memory to open '%s'", file->path);
    int rank;
    MPI_Comm_rank(file->accessors, &rank);
    handle->root = rank == 0;
    if (check(file, MPI_File_open(file->accessors, path, mode, file->info, &handle->mpi), "open") != 0) {
        free(handle);
        return GRIDIO_FAILED;
    }
    file->handle = handle;
    return 0;
}

static int open_to_write(gridio_file *file, const char *path)
{
    if (open_file(file, path, MPI_MODE_WRONLY | MPI_MODE_CREATE) != 0)
        return GRIDIO_FAILED;
    return check(file, MPI_File_set_size(((mpiio_handle *)file->handle)->mpi, 0), "truncate");
}

static int get_text(gridio_file *file, char *text, int64_t bytes)
{
    MPI_Status status;
    int got;
    if (check(file, MPI_File_read_at_all(((mpiio_handle *)file->handle)->mpi, 0, text, (int)bytes, MPI_CHAR, &status),
              "read") != 0)
        return GRIDIO_FAILED;
    MPI_Get_count(&status, MPI_CHAR, &got);
    return got == bytes ? 0 : gridio_fail(file, "'%s' is no file that gridio wrote", file->path);
}

static int open_to_read(gridio_file *file, const char *path)
{
    if (open_file(file, path, MPI_MODE_RDONLY) != 0)
        return GRIDIO_FAILED;
    char page[RAW_PAGE_BYTES + 1] = "";
    int64_t bytes = get_text(file, page, RAW_PAGE_BYTES) == 0 ? raw_header_bytes(page) : 0;
    if (bytes == 0)
        return gridio_fail(file, "'%s' is no file that gridio wrote", file->path);
    char *text = calloc(1, (size_t)bytes + 1);
    int status = text ? get_text(file, text, bytes) : gridio_fail(file, "no memory for a header");
    if (status == 0)
        status = raw_parse(file, text, &((mpiio_handle *)file->handle)->layout);
    free(text);
    return status;
}

/* The root's own piece of the header, independently of the others. */
static int put_text(gridio_file *file, const char *text, int64_t bytes, int64_t offset)
{
    mpiio_handle *handle = file->handle;
    MPI_File_set_view(handle->mpi, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
    if (!handle->root)
        return 0;
    return check(file, MPI_File_write_at(handle->mpi, offset, text, (int)bytes, MPI_CHAR, MPI_STATUS_IGNORE), "write");
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

/* A view of the block, and the type that holds it in memory; MPI_DATATYPE_NULL for an empty block. */
static int view_block(gridio_file *file, const gridio_slab *slab, MPI_Datatype *memory)
{
    mpiio_handle *handle = file->handle;
    const gridio_variable *variable = &file->variables[slab->number];
    MPI_Datatype element = gridio_mpi_type(variable->type);
    MPI_Datatype place = slab->empty ? element : gridio_subarray(variable, &slab->block);
    MPI_Offset start = raw_offset(file, &handle->layout, slab->number, slab->step);
    int code = MPI_File_set_view(handle->mpi, start, element, place, "native", file->info);
    if (!slab->empty)
        MPI_Type_free(&place);
    *memory = slab->empty ? MPI_DATATYPE_NULL : gridio_contiguous(variable, &slab->block);
    return check(file, code, "set the view of");
}

/* Goes through all of its collective calls even where one fails here, lest the others wait for ever. */
static int write_slab(gridio_file *file, const gridio_slab *slab, const void *data)
{
    MPI_Datatype memory;
    int viewed = view_block(file, slab, &memory);
    int code = MPI_File_write_all(((mpiio_handle *)file->handle)->mpi, data, !slab->empty,
                                  slab->empty ? MPI_BYTE : memory, MPI_STATUS_IGNORE);
    if (!slab->empty)
        MPI_Type_free(&memory);
    return check(file, code, "write") == 0 ? viewed : GRIDIO_FAILED;
}

static int read_slab(gridio_file *file, const gridio_slab *slab, void *data)
{
    MPI_Datatype memory;
    MPI_Status status;
    MPI_Count got = 0;
    int viewed = view_block(file, slab, &memory);
    int code = MPI_File_read_all(((mpiio_handle *)file->handle)->mpi, data, !slab->empty,
                                 slab->empty ? MPI_BYTE : memory, &status);
    if (!slab->empty)
        MPI_Type_free(&memory);
    if (check(file, code, "read") != 0 || viewed != 0)
        return GRIDIO_FAILED;

    const gridio_variable *variable = &file->variables[slab->number];
    MPI_Get_elements_x(&status, gridio_mpi_type(variable->type), &got);
    if (slab->empty || got == gridio_elements(&slab->block, variable->dimensions))
        return 0;
    return gridio_fail(file, "'%s' ends too early, in variable %s", file->path, variable->name);
}

static int flush(gridio_file *file)
{
    return check(file, MPI_File_sync(((mpiio_handle *)file->handle)->mpi), "sync");
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
    int status = check(file, MPI_File_close(&handle->mpi), "close");
    free(handle);
    file->handle = NULL;
    return status;
}

static void hints(gridio_file *file, void (*visit)(const char *, const char *, void *), void *context)
{
    MPI_Info info;
    int keys = 0;
    if (MPI_File_get_info(((mpiio_handle *)file->handle)->mpi, &info) != MPI_SUCCESS)
        return;
    MPI_Info_get_nkeys(info, &keys);
    for (int i = 0; i < keys; i++) {
        char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1];
        int set = 0;
        MPI_Info_get_nthkey(info, i, key);
        MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &set);
        if (set)
            visit(key, value, context);
    }
    MPI_Info_free(&info);
}

const gridio_format gridio_mpiio = {
    .name = "mpiio",
    .shared = true,
    .open_to_write = open_to_write,
    .open_to_read = open_to_read,
    .write_definitions = write_definitions,
    .write = write_slab,
    .read = read_slab,
    .flush = flush,
    .mark_steps = mark_steps,
    .close = close_file,
    .hints = hints,
};
