#include "aggregation.h"
#include "allocation.h"

#include "boxes.h"

#include <stdlib.h>
#include <string.h>

/* --- who has what --- */

static void gather_blocks(gridio_plan *plan, const gridio_slab *slab, MPI_Comm group)
{
    int members;
    MPI_Comm_size(group, &members);
    const int mine = slab->blocks * (int)sizeof(gridio_block);
    int *bytes = gridio_allocate(2 * (size_t)members, sizeof *bytes), *place = bytes + members,
        total = 0;
    MPI_Allgather(&mine, 1, MPI_INT, bytes, 1, MPI_INT, group);
    for (int member = 0; member < members; member++)
        place[member] = total, total += bytes[member];
    plan->block = gridio_allocate((size_t)total + 1, 1);
    MPI_Allgatherv(slab->block, mine, MPI_BYTE, plan->block, bytes, place, MPI_BYTE, group);
    for (int member = 0; member < members; member++)
        bytes[member] /= (int)sizeof(gridio_block);
    plan->count = bytes;
    plan->total = total / (int)sizeof(gridio_block);
}

static bool same_geometry(const gridio_variable *one, const gridio_variable *other)
{
    return one->type == other->type && one->dimensions == other->dimensions &&
           memcmp(one->size, other->size, sizeof one->size) == 0;
}

static bool same_plan(const gridio_plan *one, const gridio_plan *other, int members)
{
    return same_geometry(&one->geometry, &other->geometry) && one->total == other->total &&
           memcmp(one->count, other->count, (size_t)members * sizeof *one->count) == 0 &&
           memcmp(one->block, other->block, (size_t)one->total * sizeof *one->block) == 0;
}

/* --- batches --- */

static gridio_boxes pieces_of(const gridio_plan *plan, int64_t most)
{
    const int dimensions = plan->geometry.dimensions;
    gridio_boxes boxes = {0}, pieces = {0};
    for (int i = 0; i < plan->total; i++)
        gridio_add_box(&boxes, &plan->block[i]);
    gridio_merge_boxes(&boxes, dimensions);
    for (int i = 0; i < boxes.count; i++)
        gridio_cut_box(&boxes.box[i], dimensions, most, &pieces);
    free(boxes.box);
    return pieces;
}

/* The pieces from `first` on that fit the buffer together. */
static gridio_batch next_batch(const gridio_boxes *pieces, int first, int dimensions, int64_t most)
{
    gridio_batch batch = {.mine = MPI_DATATYPE_NULL};
    while (first + batch.blocks < pieces->count) {
        const int64_t more = gridio_elements(&pieces->box[first + batch.blocks], dimensions);
        if (batch.blocks > 0 && batch.elements + more > most)
            break;
        batch.elements += more;
        batch.blocks++;
    }
    batch.block = gridio_allocate((size_t)batch.blocks, sizeof *batch.block);
    memcpy(batch.block, &pieces->box[first], (size_t)batch.blocks * sizeof *batch.block);
    return batch;
}

/* --- messages --- */

typedef struct {
    int count, room;
    MPI_Datatype *part;
    MPI_Aint *displacement;
} type_list;

/* `common` as a part of `block`, which lies at `offset`, in elements. */
static void add_part(type_list *list, gridio_type type, int dimensions, const gridio_block *common,
                     const gridio_block *block, int64_t offset)
{
    gridio_variable alone = {.type = type, .dimensions = dimensions};
    gridio_block inside = *common;
    for (int axis = 0; axis < dimensions; axis++) {
        alone.size[axis] = block->count[axis];
        inside.start[axis] -= block->start[axis];
    }
    if (list->count == list->room) {
        list->room = list->room ? 2 * list->room : 4;
        list->part = gridio_enlarge(list->part, (size_t)list->room, sizeof *list->part);
        list->displacement =
            gridio_enlarge(list->displacement, (size_t)list->room, sizeof *list->displacement);
    }
    list->part[list->count] = gridio_places(&alone, 1, &inside);
    list->displacement[list->count++] = (MPI_Aint)(offset * (int64_t)gridio_element_bytes(type));
}

/* All parts as one committed type; frees the list. MPI_DATATYPE_NULL: there are none. */
static MPI_Datatype finish(type_list *list)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;
    int *lengths = gridio_allocate((size_t)(list->count + 1), sizeof *lengths);
    for (int i = 0; i < list->count; i++)
        lengths[i] = 1;
    if (list->count > 0) {
        MPI_Type_create_struct(list->count, lengths, list->displacement, list->part, &type);
        MPI_Type_commit(&type);
    }
    for (int i = 0; i < list->count; i++)
        MPI_Type_free(&list->part[i]);
    free(lengths);
    free(list->part);
    free(list->displacement);
    return type;
}

/* What a member has of the batch: in the writer's buffer, or in its own data; in either the same
 * elements in the same order. */
static MPI_Datatype message_of(const gridio_plan *plan, const gridio_batch *batch,
                               const gridio_block *block, int blocks, bool in_buffer)
{
    const int dimensions = plan->geometry.dimensions;
    type_list list = {0};
    int64_t in_data = 0;
    for (int i = 0; i < blocks; in_data += gridio_elements(&block[i++], dimensions)) {
        int64_t place = 0;
        for (int j = 0; j < batch->blocks;
             place += gridio_elements(&batch->block[j++], dimensions)) {
            gridio_block common;
            if (!gridio_intersect(&block[i], &batch->block[j], dimensions, &common))
                continue;
            if (in_buffer)
                add_part(&list, plan->geometry.type, dimensions, &common, &batch->block[j], place);
            else
                add_part(&list, plan->geometry.type, dimensions, &common, &block[i], in_data);
        }
    }
    return finish(&list);
}

static void add_messages(const gridio_plan *plan, gridio_batch *batch, int members)
{
    const gridio_block *block = plan->block;
    batch->member = gridio_allocate((size_t)members, sizeof *batch->member);
    batch->message = gridio_allocate((size_t)members, sizeof *batch->message);
    for (int member = 0; member < members; block += plan->count[member++]) {
        MPI_Datatype message = message_of(plan, batch, block, plan->count[member], true);
        if (message == MPI_DATATYPE_NULL)
            continue;
        batch->member[batch->messages] = member;
        batch->message[batch->messages++] = message;
    }
}

static void add_batches(gridio_plan *plan, const gridio_slab *slab, MPI_Comm group, int64_t most)
{
    const int dimensions = plan->geometry.dimensions;
    const gridio_boxes pieces = pieces_of(plan, most);
    int member, members;
    MPI_Comm_rank(group, &member);
    MPI_Comm_size(group, &members);
    plan->batch = gridio_allocate((size_t)pieces.count + 1, sizeof *plan->batch);
    for (int first = 0; first < pieces.count; first += plan->batch[plan->batches++].blocks) {
        gridio_batch batch = next_batch(&pieces, first, dimensions, most);
        if (member == 0)
            add_messages(plan, &batch, members);
        batch.mine = message_of(plan, &batch, slab->block, slab->blocks, false);
        plan->batch[plan->batches] = batch;
    }
    free(pieces.box);
}

/* --- plans --- */

gridio_plan *gridio_make_plan(const gridio_variable *variable, const gridio_slab *slab,
                              MPI_Comm group, int64_t buffer_bytes, gridio_plan *const *plans,
                              int plans_count)
{
    const int64_t fitting = buffer_bytes / (int64_t)gridio_element_bytes(variable->type);
    gridio_plan *plan = gridio_allocate(1, sizeof *plan);
    int members;
    MPI_Comm_size(group, &members);
    plan->geometry = *variable;
    gather_blocks(plan, slab, group);
    for (int i = 0; i < plans_count; i++)
        if (same_plan(plan, plans[i], members)) {
            gridio_free_plan(plan);
            return plans[i];
        }
    add_batches(plan, slab, group, fitting > 0 ? fitting : 1);
    return plan;
}

static void free_batch(gridio_batch *batch)
{
    for (int i = 0; i < batch->messages; i++)
        MPI_Type_free(&batch->message[i]);
    if (batch->mine != MPI_DATATYPE_NULL)
        MPI_Type_free(&batch->mine);
    free(batch->block);
    free(batch->member);
    free(batch->message);
}

void gridio_free_plan(gridio_plan *plan)
{
    for (int i = 0; i < plan->batches; i++)
        free_batch(&plan->batch[i]);
    free(plan->batch);
    free(plan->count);
    free(plan->block);
    free(plan);
}
