/* Method aggregated: some ranks have the file open; each gathers what its group has, consecutive
 * ranks of one node, into one buffer, and moves that in as few and as large pieces as the group's
 * blocks allow. */
#include "aggregation.h"
#include "allocation.h"
#include "untiled.h"

#include <stdlib.h>

enum { TAG = 2 };
static const int64_t DEFAULT_BUFFER_BYTES = 16 << 20;

typedef struct {
    MPI_Comm group; /* its rank 0 is the writer */
    int members;
    bool is_writer;
    void *buffer; /* the writer's */
    int64_t buffer_bytes;
    MPI_Request *requests;
    gridio_plan *plan[GRIDIO_VARIABLES_AT_MOST];  /* of each variable; several may share one */
    int selection[GRIDIO_VARIABLES_AT_MOST];      /* the share's, that a plan is of */
    gridio_plan *plans[GRIDIO_VARIABLES_AT_MOST]; /* every one once */
    int plans_count;
} aggregated_scratch;

/* --- groups --- */

/* The ranks of one node, in order; *node and *nodes: which one it is of how many, by the order of
 * their first ranks. */
static MPI_Comm ranks_of_node(const gridio_file *file, int *node, int *nodes)
{
    MPI_Comm here, firsts;
    int first, numbers[2] = {0, 0};
    MPI_Comm_split_type(file->comm, MPI_COMM_TYPE_SHARED, file->rank, MPI_INFO_NULL, &here);
    MPI_Comm_rank(here, &first);
    MPI_Comm_split(file->comm, first == 0 ? 0 : MPI_UNDEFINED, file->rank, &firsts);
    if (first == 0) {
        MPI_Comm_rank(firsts, &numbers[0]);
        MPI_Comm_size(firsts, &numbers[1]);
        MPI_Comm_free(&firsts);
    }
    MPI_Bcast(numbers, 2, MPI_INT, 0, here);
    *node = numbers[0];
    *nodes = numbers[1];
    return here;
}

/* How many writers this rank's node has. */
static int64_t writers_here(gridio_file *file, int node, int nodes)
{
    const int64_t each = gridio_setting_number(file, "writers_per_node", 1);
    const int64_t all = gridio_setting_number(file, "writers", nodes);
    if (gridio_setting(file, "writers") && gridio_setting(file, "writers_per_node"))
        gridio_fail(file, "the settings writers and writers_per_node exclude each other");
    if (each == 0 || all == 0)
        gridio_fail(file, "the aggregated method has at least one writer");
    return gridio_setting(file, "writers") ? all / nodes + (node < all % nodes) : each;
}

/* Even groups of consecutive ranks of `here`, as many as it is to have writers. */
static MPI_Comm split_evenly(MPI_Comm here, int64_t writers)
{
    MPI_Comm group;
    int rank, ranks;
    MPI_Comm_rank(here, &rank);
    MPI_Comm_size(here, &ranks);
    const int64_t groups = writers < 1 ? 1 : writers < ranks ? writers : ranks;
    MPI_Comm_split(here, (int)(rank * groups / ranks), rank, &group);
    return group;
}

/* Where there are to be fewer writers than nodes, groups are of consecutive ranks of any node. */
static MPI_Comm make_group(gridio_file *file)
{
    int node, nodes;
    MPI_Comm group, here = ranks_of_node(file, &node, &nodes);
    const int64_t writers = writers_here(file, node, nodes);
    const int64_t all = gridio_setting_number(file, "writers", nodes);
    group = all < nodes ? split_evenly(file->comm, all) : split_evenly(here, writers);
    MPI_Comm_free(&here);
    return group;
}

static void get_ready(gridio_file *file, aggregated_scratch *scratch)
{
    int member;
    scratch->group = make_group(file);
    MPI_Comm_rank(scratch->group, &member);
    MPI_Comm_size(scratch->group, &scratch->members);
    scratch->is_writer = member == 0;
    scratch->buffer_bytes = gridio_setting_number(file, "buffer_bytes", DEFAULT_BUFFER_BYTES);
    if (scratch->buffer_bytes < (int64_t)sizeof(double))
        scratch->buffer_bytes = sizeof(double);
    scratch->requests = gridio_allocate((size_t)scratch->members + 1, sizeof *scratch->requests);
    if (scratch->is_writer && !(scratch->buffer = malloc((size_t)scratch->buffer_bytes)))
        gridio_fail(file, "rank %d has no memory for a buffer of %lld bytes", file->rank,
                    (long long)scratch->buffer_bytes);
}

static MPI_Comm writers(gridio_file *file)
{
    MPI_Comm comm;
    aggregated_scratch *scratch = gridio_allocate(1, sizeof *scratch);
    file->scratch = scratch;
    gridio_check_untiled(file);
    get_ready(file, scratch);
    MPI_Comm_split(file->comm, scratch->is_writer ? 0 : MPI_UNDEFINED, file->rank, &comm);
    return comm;
}

/* --- transfers --- */

static bool is_used(const aggregated_scratch *scratch, const gridio_plan *plan)
{
    for (int i = 0; i < GRIDIO_VARIABLES_AT_MOST; i++)
        if (scratch->plan[i] == plan)
            return true;
    return false;
}

/* Gives a variable its plan, and back the one that no variable has any more. */
static void replace_plan(aggregated_scratch *scratch, int number, gridio_plan *plan)
{
    gridio_plan *old = scratch->plan[number];
    int kept = 0;
    const bool is_new = !is_used(scratch, plan);
    scratch->plan[number] = plan;
    for (int i = 0; i < scratch->plans_count; i++)
        if (scratch->plans[i] != old || is_used(scratch, old))
            scratch->plans[kept++] = scratch->plans[i];
    scratch->plans_count = kept;
    if (is_new)
        scratch->plans[scratch->plans_count++] = plan;
    if (old && !is_used(scratch, old))
        gridio_free_plan(old);
}

/* Made when a variable is first moved, and again when other blocks were selected. A rank cannot
 * tell by itself that another's are the same as before, so while reading all of the group ask each
 * other. */
static const gridio_plan *plan_of(gridio_file *file, const gridio_slab *slab)
{
    aggregated_scratch *scratch = file->scratch;
    const int number = slab->number;
    int stale =
        !scratch->plan[number] || scratch->selection[number] != file->shares[number].selection;
    if (file->mode == GRIDIO_READ)
        MPI_Allreduce(MPI_IN_PLACE, &stale, 1, MPI_INT, MPI_MAX, scratch->group);
    if (!stale)
        return scratch->plan[number];
    gridio_plan *plan =
        gridio_make_plan(&file->variables[number], slab, scratch->group, scratch->buffer_bytes,
                         scratch->plans, scratch->plans_count);
    replace_plan(scratch, number, plan);
    scratch->selection[number] = file->shares[number].selection;
    return plan;
}

static gridio_slab batch_slab(const gridio_slab *slab, const gridio_batch *batch)
{
    return (gridio_slab){.number = slab->number,
                         .step = slab->step,
                         .blocks = batch->blocks,
                         .block = batch->block,
                         .elements = batch->elements};
}

/* Begins the messages of a batch between the writer's buffer and the members' data; gives the
 * number begun. */
static int begin(aggregated_scratch *scratch, const gridio_batch *batch, void *data, bool to_writer)
{
    int begun = 0;
    for (int i = 0; i < batch->messages; i++)
        (to_writer ? MPI_Irecv(scratch->buffer, 1, batch->message[i], batch->member[i], TAG,
                               scratch->group, &scratch->requests[begun++])
                   : MPI_Isend(scratch->buffer, 1, batch->message[i], batch->member[i], TAG,
                               scratch->group, &scratch->requests[begun++]));
    if (batch->mine == MPI_DATATYPE_NULL)
        return begun;
    if (to_writer)
        MPI_Isend(data, 1, batch->mine, 0, TAG, scratch->group, &scratch->requests[begun++]);
    else
        MPI_Irecv(data, 1, batch->mine, 0, TAG, scratch->group, &scratch->requests[begun++]);
    return begun;
}

/* A writer that has failed goes on exchanging, lest its members wait for ever. */
static void move_batch(gridio_file *file, const gridio_slab *slab, const gridio_batch *batch,
                       void *data)
{
    aggregated_scratch *scratch = file->scratch;
    const gridio_slab piece = batch_slab(slab, batch);
    const bool writing = file->mode == GRIDIO_WRITE;
    if (scratch->is_writer && !writing && !file->failed)
        file->format->read(file, &piece, scratch->buffer);
    MPI_Waitall(begin(scratch, batch, data, writing), scratch->requests, MPI_STATUSES_IGNORE);
    if (scratch->is_writer && writing && !file->failed)
        file->format->write(file, &piece, scratch->buffer);
}

/* A writer of which no member has anything makes its one call all the same. */
static int move_nothing(gridio_file *file, const gridio_slab *slab)
{
    const gridio_slab nothing = {.number = slab->number, .step = slab->step, .block = slab->block};
    aggregated_scratch *scratch = file->scratch;
    if (!scratch->is_writer)
        return 0;
    return file->mode == GRIDIO_WRITE ? file->format->write(file, &nothing, scratch->buffer)
                                      : file->format->read(file, &nothing, scratch->buffer);
}

static int move_tiles(gridio_file *file, const gridio_slab *slab, void *data)
{
    const gridio_plan *plan = plan_of(file, slab);
    for (int i = 0; i < plan->batches; i++)
        move_batch(file, slab, &plan->batch[i], data);
    return plan->batches > 0 ? 0 : move_nothing(file, slab);
}

static int write_slab(gridio_file *file, const gridio_slab *slab, const void *data)
{
    const aggregated_scratch *scratch = file->scratch;
    if (file->variables[slab->number].tiled)
        return move_tiles(file, slab, (void *)(uintptr_t)data);
    if (!scratch->is_writer)
        return 0;
    const gridio_slab whole = gridio_untiled_slab(file, slab);
    return file->format->write(file, &whole, data);
}

static int read_slab(gridio_file *file, const gridio_slab *slab, void *data)
{
    const aggregated_scratch *scratch = file->scratch;
    const gridio_variable *variable = &file->variables[slab->number];
    if (variable->tiled)
        return move_tiles(file, slab, data);
    if (scratch->is_writer) {
        const gridio_slab whole = gridio_untiled_slab(file, slab);
        file->format->read(file, &whole, data);
    }
    MPI_Datatype row = gridio_row(variable->type, slab->elements);
    MPI_Bcast(data, 1, row, 0, scratch->group);
    MPI_Type_free(&row);
    return 0;
}

static void release(gridio_file *file)
{
    aggregated_scratch *scratch = file->scratch;
    if (!scratch)
        return;
    for (int i = 0; i < scratch->plans_count; i++)
        gridio_free_plan(scratch->plans[i]);
    MPI_Comm_free(&scratch->group);
    free(scratch->requests);
    free(scratch->buffer);
    free(scratch);
}

static const char *const settings[] = {
    "writers: how many ranks write, over all nodes; default: one per node",
    "writers_per_node: how many ranks of every node write; default: 1",
    "buffer_bytes: of a writer's one buffer; default: 16777216", GRIDIO_UNTILED_SETTINGS, NULL};

const gridio_method gridio_aggregated = {
    .name = "aggregated",
    .default_format = "mpiio",
    .needs = GRIDIO_APART,
    .settings = settings,
    .accessors = writers,
    .write = write_slab,
    .read = read_slab,
    .release = release,
};
