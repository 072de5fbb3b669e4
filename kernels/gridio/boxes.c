#include "boxes.h"
#include "allocation.h"

#include <stdlib.h>

void gridio_add_box(gridio_boxes *boxes, const gridio_block *box)
{
    if (boxes->count == boxes->room) {
        const int room = boxes->room ? 2 * boxes->room : 8;
        boxes->box = gridio_enlarge(boxes->box, (size_t)room, sizeof *boxes->box);
        boxes->room = room;
    }
    boxes->box[boxes->count++] = *box;
}

/* --- merging --- */

static int merged_dimension,
    merged_dimensions; /* qsort has no context; MPI programs call from one thread at a time */

static int compare_extent(const gridio_block *one, const gridio_block *other, int axis)
{
    if (one->start[axis] != other->start[axis])
        return one->start[axis] < other->start[axis] ? -1 : 1;
    return (one->count[axis] > other->count[axis]) - (one->count[axis] < other->count[axis]);
}

/* Boxes that agree in all dimensions but the one that is merged become neighbours. */
static int by_the_other_dimensions(const void *one, const void *other)
{
    for (int axis = 0; axis < merged_dimensions; axis++) {
        const int order = axis == merged_dimension ? 0 : compare_extent(one, other, axis);
        if (order != 0)
            return order;
    }
    return compare_extent(one, other, merged_dimension);
}

static bool side_by_side(const gridio_block *left, const gridio_block *right, int dimensions,
                         int dimension)
{
    for (int axis = 0; axis < dimensions; axis++)
        if (axis != dimension && compare_extent(left, right, axis) != 0)
            return false;
    return left->start[dimension] + left->count[dimension] == right->start[dimension];
}

static void merge_along(gridio_boxes *boxes, int dimensions, int dimension)
{
    int kept = 0;
    merged_dimension = dimension;
    merged_dimensions = dimensions;
    qsort(boxes->box, (size_t)boxes->count, sizeof *boxes->box, by_the_other_dimensions);
    for (int i = 1; i < boxes->count; i++) {
        if (side_by_side(&boxes->box[kept], &boxes->box[i], dimensions, dimension))
            boxes->box[kept].count[dimension] += boxes->box[i].count[dimension];
        else
            boxes->box[++kept] = boxes->box[i];
    }
    boxes->count = kept + 1;
}

static int by_place(const void *one, const void *other)
{
    int order = 0;
    for (int axis = 0; axis < merged_dimensions && order == 0; axis++)
        order = compare_extent(one, other, axis);
    return order;
}

void gridio_merge_boxes(gridio_boxes *boxes, int dimensions)
{
    int before = 0;
    while (boxes->count > 1 && boxes->count != before) {
        before = boxes->count;
        for (int axis = dimensions - 1; axis >= 0; axis--)
            merge_along(boxes, dimensions, axis);
    }
    merged_dimensions = dimensions;
    if (boxes->count > 1)
        qsort(boxes->box, (size_t)boxes->count, sizeof *boxes->box, by_place);
}

/* --- cutting --- */

/* The dimension that is cut: everything behind it fits whole. *inner: the elements behind it. */
static int dimension_to_cut(const gridio_block *box, int dimensions, int64_t most, int64_t *inner)
{
    int cut = dimensions - 1;
    *inner = 1;
    while (cut > 0 && *inner * box->count[cut] <= most)
        *inner *= box->count[cut--];
    return cut;
}

/* The next corner in the order of C: dimensions before `cut` in steps of one, `cut` in steps of
 * `step`. */
static bool advance(gridio_block *piece, const gridio_block *box, int cut, int64_t step)
{
    for (int axis = cut; axis >= 0; axis--) {
        piece->start[axis] += axis == cut ? step : 1;
        if (piece->start[axis] < box->start[axis] + box->count[axis])
            return true;
        piece->start[axis] = box->start[axis];
    }
    return false;
}

void gridio_cut_box(const gridio_block *box, int dimensions, int64_t most, gridio_boxes *pieces)
{
    int64_t inner;
    const int cut = dimension_to_cut(box, dimensions, most, &inner);
    const int64_t step = most / inner > 0 ? most / inner : 1;
    gridio_block piece = *box;
    for (int axis = 0; axis < cut; axis++)
        piece.count[axis] = 1;
    do {
        const int64_t left = box->start[cut] + box->count[cut] - piece.start[cut];
        piece.count[cut] = left < step ? left : step;
        gridio_add_box(pieces, &piece);
    } while (advance(&piece, box, cut, step));
}

bool gridio_intersect(const gridio_block *one, const gridio_block *other, int dimensions,
                      gridio_block *common)
{
    *common = (gridio_block){{0}, {0}};
    for (int axis = 0; axis < dimensions; axis++) {
        const int64_t ends[2] = {one->start[axis] + one->count[axis],
                                 other->start[axis] + other->count[axis]};
        common->start[axis] =
            one->start[axis] > other->start[axis] ? one->start[axis] : other->start[axis];
        common->count[axis] = (ends[0] < ends[1] ? ends[0] : ends[1]) - common->start[axis];
        if (common->count[axis] <= 0)
            return false;
    }
    return true;
}
