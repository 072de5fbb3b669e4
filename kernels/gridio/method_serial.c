/* Method serial: rank 0 gathers one variable at a time and moves it whole; the other ranks wait for
 * it. */
#include "internal.h"
#include "allocation.h"

#include <stdlib.h>
#include <string.h>

enum { TAG = 1 };

typedef struct {
    void *whole; /* one variable, on the root; kept for the next */
    size_t bytes;
    size_t bytes_known; /* what all ranks know the root has room for */
} serial_scratch;

/* Every rank's blocks, on the root, one rank's after another's. */
typedef struct {
    int *count;
    gridio_block *block;
} all_blocks;

static void *whole_buffer(serial_scratch *scratch, size_t bytes)
{
    if (bytes <= scratch->bytes)
        return scratch->whole;
    free(scratch->whole);
    scratch->whole = calloc(bytes, 1);
    scratch->bytes = scratch->whole ? bytes : 0;
    return scratch->whole;
}

static all_blocks gather_blocks(gridio_file *file, const gridio_slab *slab)
{
    const bool root = file->rank == GRIDIO_ROOT;
    all_blocks all = {NULL, NULL};
    int *bytes = NULL, *places = NULL;
    const int mine = slab->blocks * (int)sizeof(gridio_block);
    if (root)
        bytes = gridio_allocate(2 * (size_t)file->ranks, sizeof *bytes),
        places = bytes + file->ranks;
    MPI_Gather(&mine, 1, MPI_INT, bytes, 1, MPI_INT, GRIDIO_ROOT, file->comm);
    int total = 0;
    for (int rank = 0; root && rank < file->ranks; rank++)
        places[rank] = total, total += bytes[rank];
    if (root)
        all.block = gridio_allocate((size_t)total + 1, 1);
    MPI_Gatherv(slab->block, mine, MPI_BYTE, all.block, bytes, places, MPI_BYTE, GRIDIO_ROOT,
                file->comm);
    for (int rank = 0; root && rank < file->ranks; rank++)
        bytes[rank] /= (int)sizeof(gridio_block);
    all.count = bytes;
    return all;
}

typedef int transfer(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

/* Begins the root's side: every rank's blocks, straight from or to their places in the whole.
 * Returns how many. */
static int begin_root(gridio_file *file, const gridio_variable *variable, const all_blocks *all,
                      void *whole, transfer *move, MPI_Request *requests)
{
    const gridio_block *block = all->block;
    int begun = 0;
    for (int rank = 0; rank < file->ranks; block += all->count[rank++]) {
        if (all->count[rank] == 0)
            continue;
        MPI_Datatype places = gridio_places(variable, all->count[rank], block);
        move(whole, 1, places, rank, TAG, file->comm, &requests[begun++]);
        MPI_Type_free(&places); /* MPI keeps it for as long as the transfer lasts */
    }
    return begun;
}

static void begin_own(gridio_file *file, const gridio_slab *slab, void *data, transfer *move,
                      MPI_Request *request)
{
    *request = MPI_REQUEST_NULL;
    if (slab->blocks == 0)
        return;
    MPI_Datatype row = gridio_row(file->variables[slab->number].type, slab->elements);
    move(data, 1, row, GRIDIO_ROOT, TAG, file->comm, request);
    MPI_Type_free(&row);
}

/* Moves all blocks between the ranks and the whole on the root. */
static int exchange(gridio_file *file, const gridio_slab *slab, void *data, void *whole,
                    transfer *root_side, transfer *rank_side)
{
    const gridio_variable *variable = &file->variables[slab->number];
    all_blocks all = gather_blocks(file, slab);
    MPI_Request *requests = gridio_allocate((size_t)(file->ranks + 1), sizeof *requests);
    int begun = 0;
    if (file->rank == GRIDIO_ROOT)
        begun = begin_root(file, variable, &all, whole, root_side, requests);
    begin_own(file, slab, data, rank_side, &requests[begun]);
    int code = MPI_Waitall(begun + 1, requests, MPI_STATUSES_IGNORE);
    free(requests);
    free(all.block);
    free(all.count);
    return code == MPI_SUCCESS
               ? 0
               : gridio_fail(file, "the blocks of %s could not be exchanged", variable->name);
}

static int send_blocks(void *data, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm,
                       MPI_Request *request)
{
    return MPI_Isend(data, count, type, rank, tag, comm, request);
}

/* All ranks learn whether the root has room before any of them sends to it. */
static int reserve(gridio_file *file, const gridio_variable *variable, void **whole)
{
    serial_scratch *scratch = file->scratch;
    const size_t bytes = gridio_variable_bytes(variable);
    int room = 1;
    *whole = NULL;
    if (file->rank == GRIDIO_ROOT)
        room = (*whole = whole_buffer(scratch, bytes)) != NULL;
    if (bytes > scratch->bytes_known) {
        MPI_Bcast(&room, 1, MPI_INT, GRIDIO_ROOT, file->comm);
        if (room)
            scratch->bytes_known = bytes;
    }
    return room ? 0
                : gridio_fail(file, "rank 0 has no memory for the whole of %s, %zu bytes",
                              variable->name, bytes);
}

static int move_whole(gridio_file *file, const gridio_slab *slab, void *whole)
{
    const gridio_variable *variable = &file->variables[slab->number];
    const gridio_block block = gridio_whole(variable);
    const gridio_slab all = {.number = slab->number,
                             .step = slab->step,
                             .blocks = 1,
                             .block = &block,
                             .elements = gridio_elements(&block, variable->dimensions)};
    return file->mode == GRIDIO_WRITE ? file->format->write(file, &all, whole)
                                      : file->format->read(file, &all, whole);
}

static int write_slab(gridio_file *file, const gridio_slab *slab, const void *data)
{
    const gridio_variable *variable = &file->variables[slab->number];
    const bool root = file->rank == GRIDIO_ROOT;
    void *whole, *mine = (void *)(uintptr_t)data;
    if (!variable->tiled)
        return root ? move_whole(file, slab, mine) : 0;
    if (reserve(file, variable, &whole) != 0)
        return GRIDIO_FAILED;
    if (exchange(file, slab, mine, whole, MPI_Irecv, send_blocks) != 0)
        return GRIDIO_FAILED;
    return root ? move_whole(file, slab, whole) : 0;
}

static void broadcast(gridio_file *file, const gridio_slab *slab, void *data)
{
    MPI_Datatype row = gridio_row(file->variables[slab->number].type, slab->elements);
    MPI_Bcast(data, 1, row, GRIDIO_ROOT, file->comm);
    MPI_Type_free(&row);
}

/* Where the root's read fails all ranks hear of it before they wait for their blocks. */
static int read_slab(gridio_file *file, const gridio_slab *slab, void *data)
{
    const gridio_variable *variable = &file->variables[slab->number];
    void *whole = data;
    if (variable->tiled && reserve(file, variable, &whole) != 0)
        return GRIDIO_FAILED;
    int status = file->rank == GRIDIO_ROOT ? move_whole(file, slab, whole) : 0;
    MPI_Bcast(&status, 1, MPI_INT, GRIDIO_ROOT, file->comm);
    if (status != 0)
        return gridio_fail(file, "rank 0 could not read %s from '%s'", variable->name, file->path);
    if (variable->tiled)
        return exchange(file, slab, data, whole, send_blocks, MPI_Irecv);
    broadcast(file, slab, data);
    return 0;
}

static MPI_Comm master(gridio_file *file)
{
    MPI_Comm comm;
    file->scratch = calloc(1, sizeof(serial_scratch));
    if (!file->scratch)
        gridio_fail(file, "there is no memory to open '%s'", file->path);
    MPI_Comm_split(file->comm, file->rank == GRIDIO_ROOT ? 0 : MPI_UNDEFINED, 0, &comm);
    return comm;
}

static void release(gridio_file *file)
{
    serial_scratch *scratch = file->scratch;
    if (scratch)
        free(scratch->whole);
    free(scratch);
}

const gridio_method gridio_serial = {
    .name = "serial",
    .default_format = "posix",
    .needs = GRIDIO_ALONE,
    .accessors = master,
    .write = write_slab,
    .read = read_slab,
    .release = release,
};
