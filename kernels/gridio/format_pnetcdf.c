/* Format pnetcdf: netCDF's classic formats through PnetCDF, by several ranks.
 *
 * PnetCDF's files are in collective or in independent data mode, and only all accessors together
 * can change it: they do before the first transfer of the other kind, which the contract lets all
 * of them make. With nonblocking=yes a write keeps a copy of the data and posts a request; sync and
 * close complete all requests in one collective call. */
#include "attributes.h"
#include "chunking.h"

#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "netcdf_types.h"

typedef struct {
    int id, step_dimension;
    bool is_open, is_independent, is_nonblocking;
    int variable[GRIDIO_VARIABLES_AT_MOST]; /* PnetCDF's number of each */
    int requests, room;                     /* those that pend, and how many the two arrays hold */
    int *request;
    void **copy; /* of the data of each */
} pnetcdf_handle;

static int check(gridio_file *file, int code, const char *what)
{
    return code == NC_NOERR
               ? 0
               : gridio_fail(file, "cannot %s '%s': %s", what, file->path, ncmpi_strerror(code));
}

#define NETCDF(function) ncmpi_##function
#define NETCDF_LENGTH MPI_Offset
#define NETCDF_ID(file) (((const pnetcdf_handle *)(file)->handle)->id)
#define NETCDF_CHECK check
#include "netcdf_attributes.h"

/* --- open --- */

static int creation_mode(gridio_file *file)
{
    static const char KINDS[] = "classic|64bit-offset|64bit-data";
    if (gridio_setting_is(file, "kind", KINDS, "64bit-data", "classic"))
        return NC_CLOBBER;
    return gridio_setting_is(file, "kind", KINDS, "64bit-data", "64bit-offset")
               ? NC_CLOBBER | NC_64BIT_OFFSET
               : NC_CLOBBER | NC_64BIT_DATA;
}

static pnetcdf_handle *new_handle(gridio_file *file)
{
    pnetcdf_handle *handle = calloc(1, sizeof *handle);
    if (handle)
        handle->is_nonblocking = gridio_setting_is(file, "nonblocking", "yes|no", "no", "yes");
    else
        gridio_fail(file, "there is no memory to open '%s'", file->path);
    file->handle = handle;
    return handle;
}

/* Alignment is a hint to PnetCDF, of the fixed-size variables and of the records. */
static void set_alignment(gridio_file *file)
{
    char text[32];
    const int64_t alignment = gridio_setting_number(file, "alignment_bytes", 0);
    if (alignment == 0)
        return;
    snprintf(text, sizeof text, "%lld", (long long)alignment);
    MPI_Info_set(file->info, "nc_var_align_size", text);
    MPI_Info_set(file->info, "nc_record_align_size", text);
}

static int open_to_write(gridio_file *file, const char *path)
{
    pnetcdf_handle *handle = new_handle(file);
    if (!handle)
        return GRIDIO_FAILED;
    set_alignment(file);
    int code = ncmpi_create(file->accessors, path, creation_mode(file), file->info, &handle->id);
    handle->is_open = code == NC_NOERR;
    return check(file, code, "create");
}

/* --- definitions --- */

static int dimension_of(gridio_file *file, const gridio_variable *variable, int axis,
                        int *dimension)
{
    const int id = ((pnetcdf_handle *)file->handle)->id;
    char name[GRIDIO_NAME_BYTES];
    MPI_Offset size;
    gridio_dimension_name(variable, axis, name);
    if (ncmpi_inq_dimid(id, name, dimension) != NC_NOERR)
        return check(file, ncmpi_def_dim(id, name, variable->size[axis], dimension),
                     "define a dimension of");
    ncmpi_inq_dimlen(id, *dimension, &size);
    if (size == variable->size[axis] && strcmp(name, STEP) != 0)
        return 0;
    return gridio_fail(file, "the dimension %s of %s has two sizes in '%s'", name, variable->name,
                       file->path);
}

static int define_variable(gridio_file *file, int number)
{
    pnetcdf_handle *handle = file->handle;
    const gridio_variable *variable = &file->variables[number];
    int dimensions[GRIDIO_DIMENSIONS + 1] = {handle->step_dimension};
    const int lead = variable->every_step;
    for (int axis = 0; axis < variable->dimensions; axis++)
        if (dimension_of(file, variable, axis, &dimensions[lead + axis]) != 0)
            return GRIDIO_FAILED;
    if (check(file,
              ncmpi_def_var(handle->id, variable->name, TYPES[variable->type],
                            lead + variable->dimensions, dimensions, &handle->variable[number]),
              "define a variable of") != 0)
        return GRIDIO_FAILED;
    return gridio_put_attributes(file, number, &ATTRIBUTES, handle->variable[number]);
}

static int write_definitions(gridio_file *file)
{
    pnetcdf_handle *handle = file->handle;
    const int64_t fixed_steps = gridio_fixed_steps(file);
    if (check(file,
              ncmpi_def_dim(handle->id, STEP, fixed_steps ? fixed_steps : NC_UNLIMITED,
                            &handle->step_dimension),
              "define a dimension of") != 0 ||
        put_numbers(file, NC_GLOBAL, "gridio_steps", 1, &(int32_t){0}) != 0)
        return GRIDIO_FAILED;
    for (int number = 0; number < file->variables_count; number++)
        if (define_variable(file, number) != 0)
            return GRIDIO_FAILED;
    return check(file, ncmpi_enddef(handle->id), "write the header of");
}

/* --- descriptions --- */

static int add_variable(gridio_file *file, int number)
{
    pnetcdf_handle *handle = file->handle;
    char name[NC_MAX_NAME + 1], names[GRIDIO_DIMENSIONS + 1][NC_MAX_NAME + 1];
    int dimensions[GRIDIO_DIMENSIONS + 1], count;
    gridio_variable variable = {.name = name};
    nc_type type;
    if (ncmpi_inq_varndims(handle->id, number, &count) != NC_NOERR ||
        count > GRIDIO_DIMENSIONS + 1 ||
        ncmpi_inq_var(handle->id, number, name, &type, &count, dimensions, NULL) != NC_NOERR ||
        !netcdf_type_of(type, &variable.type))
        return 0; /* of a type or shape that gridio has not: left alone */
    variable.every_step = count > 0 && dimensions[0] == handle->step_dimension;
    variable.dimensions = count - variable.every_step;
    if (variable.dimensions > GRIDIO_DIMENSIONS)
        return 0;
    for (int axis = 0; axis < variable.dimensions; axis++) {
        MPI_Offset size = 0;
        ncmpi_inq_dim(handle->id, dimensions[variable.every_step + axis], names[axis], &size);
        variable.size[axis] = size;
        variable.dimension_name[axis] = names[axis];
    }
    handle->variable[file->variables_count] = number;
    return gridio_add_with_attributes(file, &variable, &ATTRIBUTES, number);
}

static int describe(gridio_file *file)
{
    pnetcdf_handle *handle = file->handle;
    int variables;
    MPI_Offset steps = 0;
    if ((ncmpi_inq_unlimdim(handle->id, &handle->step_dimension) != NC_NOERR ||
         handle->step_dimension < 0) &&
        ncmpi_inq_dimid(handle->id, STEP, &handle->step_dimension) != NC_NOERR)
        handle->step_dimension = -1;
    if (handle->step_dimension >= 0)
        ncmpi_inq_dimlen(handle->id, handle->step_dimension, &steps);
    file->steps = gridio_get_number(file, &ATTRIBUTES, NC_GLOBAL, "gridio_steps", (int32_t)steps);
    if (check(file, ncmpi_inq_nvars(handle->id, &variables), "read the header of") != 0)
        return GRIDIO_FAILED;
    for (int number = 0; number < variables && number < GRIDIO_VARIABLES_AT_MOST; number++)
        if (add_variable(file, number) != 0)
            return GRIDIO_FAILED;
    return 0;
}

static int open_to_read(gridio_file *file, const char *path)
{
    pnetcdf_handle *handle = new_handle(file);
    if (!handle)
        return GRIDIO_FAILED;
    int code = ncmpi_open(file->accessors, path, NC_NOWRITE, file->info, &handle->id);
    handle->is_open = code == NC_NOERR;
    return check(file, code, "open") == 0 ? describe(file) : GRIDIO_FAILED;
}

/* --- slabs --- */

static int set_mode(gridio_file *file, bool independent)
{
    pnetcdf_handle *handle = file->handle;
    if (handle->is_independent == independent)
        return 0;
    handle->is_independent = independent;
    return check(
        file, independent ? ncmpi_begin_indep_data(handle->id) : ncmpi_end_indep_data(handle->id),
        "change the access to");
}

/* The blocks' places as PnetCDF wants them: a row of pointers to starts and one to counts, and the
 * numbers behind. One piece of memory, to be freed by its first member. */
typedef struct {
    MPI_Offset **starts, **counts;
} pnetcdf_places;

static pnetcdf_places places_of(gridio_file *file, const gridio_slab *slab)
{
    enum { NUMBERS = GRIDIO_DIMENSIONS + 1 };
    const gridio_variable *variable = &file->variables[slab->number];
    const size_t blocks = (size_t)slab->blocks + 1; /* one more than none */
    const int lead = variable->every_step;
    MPI_Offset **rows = calloc(1, 2 * blocks * (sizeof *rows + NUMBERS * sizeof **rows));
    if (!rows)
        return (pnetcdf_places){NULL, NULL};
    MPI_Offset *numbers = (MPI_Offset *)(rows + 2 * blocks);
    for (size_t i = 0; i < (size_t)slab->blocks; i++, numbers += (ptrdiff_t)2 * NUMBERS) {
        rows[i] = numbers;
        rows[blocks + i] = numbers + NUMBERS;
        rows[i][0] = slab->step;
        rows[blocks + i][0] = 1;
        for (int axis = 0; axis < variable->dimensions; axis++) {
            rows[i][lead + axis] = slab->block[i].start[axis];
            rows[blocks + i][lead + axis] = slab->block[i].count[axis];
        }
    }
    return (pnetcdf_places){rows, rows + blocks};
}

/* Room for one more request and its copy of the data. */
static bool reserve_request(pnetcdf_handle *handle)
{
    if (handle->requests < handle->room)
        return true;
    const int room = 2 * handle->room + 16;
    int *request = realloc(handle->request, (size_t)room * sizeof *request);
    if (request)
        handle->request = request;
    void **copy = realloc(handle->copy, (size_t)room * sizeof *copy);
    if (copy)
        handle->copy = copy;
    if (request && copy)
        handle->room = room;
    return request && copy;
}

/* The caller may use its data again at once, and so the request gets a copy. */
static int post(gridio_file *file, const gridio_slab *slab, const pnetcdf_places *places,
                const void *data)
{
    pnetcdf_handle *handle = file->handle;
    const size_t bytes =
        (size_t)slab->elements * gridio_element_bytes(file->variables[slab->number].type);
    if (slab->blocks == 0)
        return 0;
    void *copy = reserve_request(handle) ? malloc(bytes) : NULL;
    if (!copy)
        return gridio_fail(file, "there is no memory for %zu bytes that wait to be written to '%s'",
                           bytes, file->path);
    memcpy(copy, data, bytes);
    int code = ncmpi_iput_varn(handle->id, handle->variable[slab->number], slab->blocks,
                               places->starts, places->counts, copy, 0, MPI_DATATYPE_NULL,
                               &handle->request[handle->requests]);
    if (code != NC_NOERR) {
        free(copy);
        return check(file, code, "write");
    }
    handle->copy[handle->requests++] = copy;
    return 0;
}

/* All that pend, in one collective call; a rank without any takes part. */
static int complete(gridio_file *file)
{
    pnetcdf_handle *handle = file->handle;
    if (!handle->is_nonblocking || file->mode == GRIDIO_READ)
        return 0;
    int *status = calloc((size_t)handle->requests + 1, sizeof *status);
    int code = ncmpi_wait_all(handle->id, handle->requests, handle->request, status);
    for (int row = 0; row < handle->requests; row++) {
        free(handle->copy[row]);
        if (code == NC_NOERR && status)
            code = status[row];
    }
    handle->requests = 0;
    free(status);
    return check(file, code, "write");
}

/* A single number in one file. Of PnetCDF's collective calls those for it hang where ranks pass
 * none of it; a request and the wait for it do not. */
static int move_single(gridio_file *file, const gridio_slab *slab, const pnetcdf_places *places,
                       void *data, bool writes)
{
    const pnetcdf_handle *handle = file->handle;
    const int variable = handle->variable[slab->number];
    int request, state = NC_NOERR, code = NC_NOERR;
    if (slab->blocks > 0)
        code = writes ? ncmpi_iput_varn(handle->id, variable, 1, places->starts, places->counts,
                                        data, 0, MPI_DATATYPE_NULL, &request)
                      : ncmpi_iget_varn(handle->id, variable, 1, places->starts, places->counts,
                                        data, 0, MPI_DATATYPE_NULL, &request);
    const int waited =
        ncmpi_wait_all(handle->id, slab->blocks > 0 && code == NC_NOERR, &request, &state);
    return check(file,
                 code != NC_NOERR     ? code
                 : waited != NC_NOERR ? waited
                                      : state,
                 writes ? "write" : "read");
}

static int put(gridio_file *file, const gridio_slab *slab, const pnetcdf_places *places,
               const void *data)
{
    const pnetcdf_handle *handle = file->handle;
    const int variable = handle->variable[slab->number];
    return check(file,
                 slab->together
                     ? ncmpi_put_varn_all(handle->id, variable, slab->blocks, places->starts,
                                          places->counts, data, 0, MPI_DATATYPE_NULL)
                     : ncmpi_put_varn(handle->id, variable, slab->blocks, places->starts,
                                      places->counts, data, 0, MPI_DATATYPE_NULL),
                 "write");
}

static int get(gridio_file *file, const gridio_slab *slab, const pnetcdf_places *places, void *data)
{
    const pnetcdf_handle *handle = file->handle;
    const int variable = handle->variable[slab->number];
    return check(file,
                 slab->together
                     ? ncmpi_get_varn_all(handle->id, variable, slab->blocks, places->starts,
                                          places->counts, data, 0, MPI_DATATYPE_NULL)
                     : ncmpi_get_varn(handle->id, variable, slab->blocks, places->starts,
                                      places->counts, data, 0, MPI_DATATYPE_NULL),
                 "read");
}

static int move_blocks(gridio_file *file, const gridio_slab *slab, const pnetcdf_places *places,
                       void *data, bool writes)
{
    const gridio_variable *variable = &file->variables[slab->number];
    char nothing = 0;
    if (!data)
        data = &nothing;
    if (writes && ((pnetcdf_handle *)file->handle)->is_nonblocking)
        return post(file, slab, places, data);
    if (slab->together && variable->dimensions == 0)
        return move_single(file, slab, places, data, writes);
    return writes ? put(file, slab, places, data) : get(file, slab, places, data);
}

/* A rank without memory for the places takes part with none. */
static int move(gridio_file *file, const gridio_slab *slab, void *data, bool writes)
{
    gridio_slab mine = *slab;
    int status = set_mode(file, !slab->together);
    pnetcdf_places places = places_of(file, slab);
    if (!places.starts) {
        mine.blocks = 0;
        status = gridio_fail(file, "there is no memory for the blocks of '%s'", file->path);
    }
    if (move_blocks(file, &mine, &places, data, writes) != 0)
        status = GRIDIO_FAILED;
    free(places.starts);
    return status;
}

static int write_slab(gridio_file *file, const gridio_slab *slab, const void *data)
{
    if (file->variables[slab->number].every_step && gridio_check_step(file, slab->step) != 0)
        return GRIDIO_FAILED;
    return move(file, slab, (void *)(uintptr_t)data, true);
}

static int read_slab(gridio_file *file, const gridio_slab *slab, void *data)
{
    return move(file, slab, data, false);
}

/* --- the end --- */

static int flush(gridio_file *file)
{
    const pnetcdf_handle *handle = file->handle;
    int status = set_mode(file, false);
    if (complete(file) != 0)
        status = GRIDIO_FAILED;
    return check(file, ncmpi_sync(handle->id), "sync") == 0 ? status : GRIDIO_FAILED;
}

static int mark_steps(gridio_file *file)
{
    set_mode(file, false);
    return put_numbers(file, NC_GLOBAL, "gridio_steps", 1, &(int32_t){(int32_t)file->steps});
}

static int close_file(gridio_file *file)
{
    pnetcdf_handle *handle = file->handle;
    int status = 0;
    if (handle->is_open) {
        status = set_mode(file, false);
        if (complete(file) != 0)
            status = GRIDIO_FAILED;
        if (check(file, ncmpi_close(handle->id), "close") != 0)
            status = GRIDIO_FAILED;
    }
    free(handle->request);
    free(handle->copy);
    free(handle);
    file->handle = NULL;
    return status;
}

static void hints(gridio_file *file, void (*visit)(const char *, const char *, void *),
                  void *context)
{
    MPI_Info info;
    if (ncmpi_inq_file_info(((pnetcdf_handle *)file->handle)->id, &info) != NC_NOERR)
        return;
    gridio_visit_hints(info, visit, context);
}

static const char *const SETTINGS[] = {
    "kind: classic, 64bit-offset or 64bit-data (CDF-5); default: 64bit-data",
    "nonblocking: yes (requests, completed by sync and close; a rank keeps a copy of what pends) "
    "or no; default: no",
    "steps: unlimited (the record dimension), or how many there will be at most; default: "
    "unlimited",
    "alignment_bytes: where variables and records begin; default: as PnetCDF chooses",
    NULL,
};

const gridio_format gridio_pnetcdf = {
    .name = "pnetcdf",
    .can = GRIDIO_TOGETHER | GRIDIO_APART,
    .suffix = ".nc",
    .settings = SETTINGS,
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
