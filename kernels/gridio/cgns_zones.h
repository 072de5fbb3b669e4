/* Where in a CGNS file a variable's arrays stand. */
#ifndef GRIDIO_CGNS_ZONES_H
#define GRIDIO_CGNS_ZONES_H

#include "internal.h"
#include "node.h"

/* A base for every number of dimensions of tiled variables, in it a zone for every shape: its cells
 * are the elements. with_coordinates: each zone's vertices get their indices as coordinates.
 * Collective over the accessors. */
int cgns_make_zones(gridio_file *file, cgns_tree *tree, bool with_coordinates);

/* The array of a variable at a step, or NULL. make: creates what is missing, over all accessors. */
cgns_node *cgns_array_of(gridio_file *file, cgns_tree *tree, int number, int64_t step, bool make);

/* Brings the iterative data of bases and zones to the given number of steps, at least one. */
int cgns_put_steps(gridio_file *file, cgns_tree *tree, int64_t steps);
int64_t cgns_get_steps(const cgns_tree *tree);

#endif
