/* Geometry of blocks: lists of boxes that grow and are merged, cut and intersected. */
#ifndef GRIDIO_BOXES_H
#define GRIDIO_BOXES_H

#include "internal.h"

typedef struct {
    gridio_block *box;
    int count, room;
} gridio_boxes;

void gridio_add_box(gridio_boxes *boxes, const gridio_block *box);

/* Makes one of two boxes that are side by side in one dimension and agree in the others, for as
 * long as there are such: the tiles of a box become that box. */
void gridio_merge_boxes(gridio_boxes *boxes, int dimensions);

/* Cuts a box into pieces of at most `most` elements (at least one), in the order of C, and adds
 * them. */
void gridio_cut_box(const gridio_block *box, int dimensions, int64_t most, gridio_boxes *pieces);

/* What two boxes have in common; false: nothing. */
bool gridio_intersect(const gridio_block *one, const gridio_block *other, int dimensions,
                      gridio_block *common);

#endif
