/* What the files of this library share with each other: open files by number, and the nodes that
 * numbers mean. */
#ifndef CGNS_FILES_H
#define CGNS_FILES_H

#include "node.h"
#include "pcgnslib.h"

/* NULL: there is none, and cgns_error() says which. */
cgns_node *cgns_root_of(int fn);
cgns_node *cgns_root_to_write(int fn);
cgns_node *cgns_base_of(cgns_node *root, int B);
cgns_node *cgns_zone_of(cgns_node *root, int B, int Z);
cgns_node *cgns_solution_of(cgns_node *root, int B, int Z, int S);
cgns_node *cgns_nth(cgns_node *parent, const char *label, int n);

/* The zone's vertices and cells in each dimension; how many dimensions (0: the node is damaged). */
int cgns_zone_size(cgns_node *zone, int64_t *vertices, int64_t *cells);

GridLocation_t cgns_location_of(const cgns_node *solution);

/* CG_OK or CG_ERROR for a node that was made or not; its number among its parent's children of that
 * label. */
int cgns_made(const cgns_node *parent, const cgns_node *node, int *number);

PIOmode_t cgns_pio_mode(void);

#endif
