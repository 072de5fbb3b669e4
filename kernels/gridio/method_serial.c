/* Method serial: rank 0 gathers one variable at a time and moves it whole; the other ranks wait for it. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

enum { TAG = 1 };

/* Room for one whole variable on the root, kept for the next. */
static void *whole_buffer(gridio_file *file, const gridio_variable *variable)
{
    const size_t bytes = gridio_variable_bytes(variable);
    if (bytes <= file->gathered_bytes)
        return file->gathered;
    free(file->gathered);
    file->gathered = malloc(bytes);
    file->gathered_bytes = file->gathered ? bytes : 0;
    return file->gathered;
}

/* Where every rank's block lies, on the root (to be freed). */
static gridio_block *gather_blocks(gridio_file *file, const gridio_block *mine)
{
    const bool root = file->rank == GRIDIO_ROOT;
    int ranks;
    MPI_Comm_size(file->comm, &ranks);
    gridio_block *blocks = root ? malloc((size_t)ranks * sizeof *blocks) : NULL;
    MPI_Gather(mine, sizeof *mine, MPI_BYTE, blocks, sizeof *mine, MPI_BYTE, GRIDIO_ROOT, file->comm);
    return blocks;
}

typedef int transfer(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

/* Begins the root's side: every rank's block, straight from or to its place in the whole. Returns the number begun. */
static int begin_root(gridio_file *file, const gridio_variable *variable, const gridio_block *blocks, void *whole,
                      transfer *move, MPI_Request *requests)
{
    int ranks, begun = 0;
    MPI_Comm_size(file->comm, &ranks);
    for (int rank = 0; rank < ranks; rank++) {
        if (gridio_elements(&blocks[rank], variable->dimensions) == 0)
            continue;
        MPI_Datatype place = gridio_subarray(variable, &blocks[rank]);
        move(whole, 1, place, rank, TAG, file->comm, &requests[begun++]);
        MPI_Type_free(&place); /* MPI keeps it for as long as the transfer lasts */
    }
    return begun;
}

static void begin_own(gridio_file *file, const gridio_slab *slab, void *data, transfer *move, MPI_Request *request)
{
    const gridio_variable *variable = &file->variables[slab->number];
    *request = MPI_REQUEST_NULL;
    if (slab->empty)
        return;
    MPI_Datatype contiguous = gridio_contiguous(variable, &slab->block);
    move(data, 1, contiguous, GRIDIO_ROOT, TAG, file->comm, request);
    MPI_Type_free(&contiguous);
}

/* Moves all blocks between the ranks and the whole on the root. */
static int exchange(gridio_file *file, const gridio_slab *slab, void *data, void *whole, transfer *root_side,
                    transfer *rank_side)
{
    const gridio_variable *variable = &file->variables[slab->number];
    gridio_block *blocks = gather_blocks(file, &slab->block);
    int ranks, begun = 0;
    MPI_Comm_size(file->comm, &ranks);
    MPI_Request *requests = malloc((size_t)(ranks + 1) * sizeof *requests);
    if (blocks)
        begun = begin_root(file, variable, blocks, whole, root_side, requests);
    begin_own(file, slab, data, rank_side, &requests[begun]);
    int code = MPI_Waitall(begun + 1, requests, MPI_STATUSES_IGNORE);
    free(requests);
    free(blocks);
    return code == MPI_SUCCESS ? 0 : gridio_fail(file, "the blocks of %s could not be exchanged", variable->name);
}

static int no_room(gridio_file *file, const gridio_variable *variable)
{
    return gridio_fail(file, "rank 0 has no memory for the whole of %s, %zu bytes", variable->name,
                       gridio_variable_bytes(variable));
}

static gridio_slab whole_of(const gridio_file *file, const gridio_slab *slab)
{
    gridio_slab whole = *slab;
    whole.block = gridio_whole(&file->variables[slab->number]);
    whole.empty = false;
    return whole;
}

static int send_block(void *data, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm, MPI_Request *request)
{
    return MPI_Isend(data, count, type, rank, tag, comm, request);
}

/* All ranks learn whether the root has room before any of them sends to it. */
static int reserve(gridio_file *file, const gridio_variable *variable, void **whole)
{
    int room = 1;
    *whole = NULL;
    if (file->rank == GRIDIO_ROOT)
        room = (*whole = whole_buffer(file, variable)) != NULL;
    if (gridio_variable_bytes(variable) > file->gathered_known) {
        MPI_Bcast(&room, 1, MPI_INT, GRIDIO_ROOT, file->comm);
        if (room)
            file->gathered_known = gridio_variable_bytes(variable);
    }
    return room ? 0 : no_room(file, variable);
}

static int write_slab(gridio_file *file, const gridio_slab *slab, const void *data)
{
    const gridio_variable *variable = &file->variables[slab->number];
    const bool root = file->rank == GRIDIO_ROOT;
    const gridio_slab all = whole_of(file, slab);
    void *whole;
    if (!variable->tiled)
        return root ? file->format->write(file, &all, data) : 0;
    if (reserve(file, variable, &whole) != 0)
        return GRIDIO_FAILED;
    if (exchange(file, slab, (void *)(uintptr_t)data, whole, MPI_Irecv, send_block) != 0)
        return GRIDIO_FAILED;
    return root ? file->format->write(file, &all, whole) : 0;
}

/* Where the root's read fails the ranks still get their blocks, of whatever is in the buffer, and the failure with
 * them: nobody waits for ever. */
static int read_slab(gridio_file *file, const gridio_slab *slab, void *data)
{
    const gridio_variable *variable = &file->variables[slab->number];
    const gridio_slab all = whole_of(file, slab);
    void *whole;
    if (reserve(file, variable, &whole) != 0)
        return GRIDIO_FAILED;
    int status = file->rank == GRIDIO_ROOT ? file->format->read(file, &all, whole) : 0;
    MPI_Bcast(&status, 1, MPI_INT, GRIDIO_ROOT, file->comm);
    if (status != 0)
        return gridio_fail(file, "rank 0 could not read %s from '%s'", variable->name, file->path);
    if (variable->tiled)
        return exchange(file, slab, data, whole, send_block, MPI_Irecv);

    MPI_Datatype contiguous = gridio_contiguous(variable, &all.block);
    if (whole)
        memcpy(data, whole, gridio_variable_bytes(variable));
    MPI_Bcast(data, 1, contiguous, GRIDIO_ROOT, file->comm);
    MPI_Type_free(&contiguous);
    return 0;
}

const gridio_method gridio_serial = {
    .name = "serial",
    .usual_format = "posix",
    .shared = false,
    .write = write_slab,
    .read = read_slab,
};
