/* Bases, zones and flow solutions: the nodes that hold arrays. */
#include "files.h"

#include <stdio.h>
#include <string.h>

static const char *const LOCATIONS[] = {"Null",        "UserDefined", "Vertex",
                                        "CellCenter",  "FaceCenter",  "IFaceCenter",
                                        "JFaceCenter", "KFaceCenter", "EdgeCenter"};
enum { DIMENSIONS_AT_MOST = 3 };

static int count(cgns_node *parent, const char *label, int *number)
{
    if (!parent)
        return CG_ERROR;
    *number = cgns_children_of_label(parent, label);
    return CG_OK;
}

/* --- bases --- */

int cg_base_write(int fn, const char *basename, int cell_dim, int phys_dim, int *B)
{
    cgns_node *root = cgns_root_to_write(fn);
    const int32_t dimensions[2] = {cell_dim, phys_dim};
    if (!root)
        return CG_ERROR;
    if (cell_dim < 1 || cell_dim > DIMENSIONS_AT_MOST || phys_dim < cell_dim ||
        phys_dim > DIMENSIONS_AT_MOST) {
        cgns_fail("the base %s has cells of %d dimensions in a space of %d", basename, cell_dim,
                  phys_dim);
        return CG_ERROR;
    }
    return cgns_made(
        root, cgns_new_small(root, basename, "CGNSBase_t", "I4", 1, &(int64_t){2}, dimensions), B);
}

int cg_nbases(int fn, int *nbases)
{
    return count(cgns_root_of(fn), "CGNSBase_t", nbases);
}

int cg_base_read(int fn, int B, char *basename, int *cell_dim, int *phys_dim)
{
    cgns_node *base = cgns_base_of(cgns_root_of(fn), B);
    int32_t dimensions[2];
    if (!base || !cgns_get_small(base, "I4", dimensions, sizeof dimensions))
        return CG_ERROR;
    strcpy(basename, base->name);
    *cell_dim = dimensions[0];
    *phys_dim = dimensions[1];
    return CG_OK;
}

/* --- zones --- */

static bool is_zone_size(const cgsize_t *size, int dimensions)
{
    for (int d = 0; d < dimensions; d++)
        if (size[d] < 1 || size[dimensions + d] != size[d] - 1)
            return false;
    return true;
}

/* Sizes are written as 4-byte integers where they fit, which libraries of either width read. */
static cgns_node *new_zone(cgns_node *base, const char *name, const cgsize_t *size, int dimensions)
{
    const int64_t shape[2] = {dimensions, 3};
    int32_t narrow[3 * DIMENSIONS_AT_MOST];
    int64_t wide[3 * DIMENSIONS_AT_MOST];
    bool fits = true;
    for (int i = 0; i < 3 * dimensions; i++) {
        wide[i] = size[i];
        narrow[i] = (int32_t)size[i];
        fits = fits && narrow[i] == wide[i];
    }
    return fits ? cgns_new_small(base, name, "Zone_t", "I4", 2, shape, narrow)
                : cgns_new_small(base, name, "Zone_t", "I8", 2, shape, wide);
}

int cg_zone_write(int fn, int B, const char *zonename, const cgsize_t *size, ZoneType_t type,
                  int *Z)
{
    cgns_node *base = cgns_base_of(cgns_root_to_write(fn), B);
    int32_t dimensions[2];
    if (!base || !cgns_get_small(base, "I4", dimensions, sizeof dimensions))
        return CG_ERROR;
    if (type != Structured || !is_zone_size(size, dimensions[0])) {
        cgns_fail("the zone %s is not Structured with one cell less than vertices in each of %d "
                  "dimensions",
                  zonename, dimensions[0]);
        return CG_ERROR;
    }
    cgns_node *zone = new_zone(base, zonename, size, dimensions[0]);
    if (!zone || !cgns_new_text(zone, "ZoneType", "ZoneType_t", "Structured"))
        return CG_ERROR;
    return cgns_made(base, zone, Z);
}

int cg_nzones(int fn, int B, int *nzones)
{
    return count(cgns_base_of(cgns_root_of(fn), B), "Zone_t", nzones);
}

/* All of the zone's numbers; how many dimensions. */
static int read_zone(cgns_node *zone, int64_t *size)
{
    int32_t narrow[3 * DIMENSIONS_AT_MOST];
    const int dimensions = zone->dimensions == 2 && zone->size[1] == 3 ? (int)zone->size[0] : 0;
    if (dimensions < 1 || dimensions > DIMENSIONS_AT_MOST)
        return 0;
    if (cgns_get_small(zone, "I8", size, sizeof(int64_t) * 3 * DIMENSIONS_AT_MOST))
        return dimensions;
    if (!cgns_get_small(zone, "I4", narrow, sizeof narrow))
        return 0;
    for (int i = 0; i < 3 * dimensions; i++)
        size[i] = narrow[i];
    return dimensions;
}

int cgns_zone_size(cgns_node *zone, int64_t *vertices, int64_t *cells)
{
    int64_t size[3 * DIMENSIONS_AT_MOST];
    const int dimensions = read_zone(zone, size);
    for (int d = 0; d < dimensions; d++) {
        vertices[d] = size[d];
        cells[d] = size[dimensions + d];
    }
    if (dimensions == 0)
        cgns_fail("the zone %s is damaged or unstructured", zone->name);
    return dimensions;
}

int cg_zone_read(int fn, int B, int Z, char *zonename, cgsize_t *size)
{
    cgns_node *zone = cgns_zone_of(cgns_root_of(fn), B, Z);
    int64_t wide[3 * DIMENSIONS_AT_MOST];
    const int dimensions = zone ? read_zone(zone, wide) : 0;
    if (dimensions == 0)
        return CG_ERROR;
    for (int i = 0; i < 3 * dimensions; i++)
        size[i] = wide[i];
    strcpy(zonename, zone->name);
    return CG_OK;
}

int cg_zone_type(int fn, int B, int Z, ZoneType_t *type)
{
    cgns_node *zone = cgns_zone_of(cgns_root_of(fn), B, Z);
    cgns_node *node = zone ? cgns_child(zone, "ZoneType") : NULL;
    char text[CGNS_NAME_BYTES] = "";
    if (!zone)
        return CG_ERROR;
    if (node)
        cgns_get_text(node, text, sizeof text);
    *type = strcmp(text, "Structured") == 0     ? Structured
            : strcmp(text, "Unstructured") == 0 ? Unstructured
                                                : ZoneTypeNull;
    return CG_OK;
}

/* --- flow solutions --- */

int cg_sol_write(int fn, int B, int Z, const char *solname, GridLocation_t location, int *S)
{
    cgns_node *zone = cgns_zone_of(cgns_root_to_write(fn), B, Z);
    if (!zone)
        return CG_ERROR;
    if (location < Vertex || location > KFaceCenter || location == FaceCenter) {
        cgns_fail("the solution %s has no grid location of a structured zone", solname);
        return CG_ERROR;
    }
    cgns_node *solution = cgns_new(zone, solname, "FlowSolution_t");
    if (!solution || (location != Vertex && !cgns_new_text(solution, "GridLocation",
                                                           "GridLocation_t", LOCATIONS[location])))
        return CG_ERROR;
    return cgns_made(zone, solution, S);
}

int cg_nsols(int fn, int B, int Z, int *nsols)
{
    return count(cgns_zone_of(cgns_root_of(fn), B, Z), "FlowSolution_t", nsols);
}

GridLocation_t cgns_location_of(const cgns_node *solution)
{
    cgns_node *node = cgns_child_of_label(solution, "GridLocation_t", 1);
    char text[CGNS_NAME_BYTES] = "";
    if (!node || !cgns_get_text(node, text, sizeof text))
        return Vertex; /* the standard's default */
    for (int location = GridLocationNull; location <= EdgeCenter; location++)
        if (strcmp(text, LOCATIONS[location]) == 0)
            return (GridLocation_t)location;
    return GridLocationUserDefined;
}

int cg_sol_info(int fn, int B, int Z, int S, char *solname, GridLocation_t *location)
{
    cgns_node *solution = cgns_solution_of(cgns_root_of(fn), B, Z, S);
    if (!solution)
        return CG_ERROR;
    strcpy(solname, solution->name);
    *location = cgns_location_of(solution);
    return CG_OK;
}

int cg_nfields(int fn, int B, int Z, int S, int *nfields)
{
    return count(cgns_solution_of(cgns_root_of(fn), B, Z, S), "DataArray_t", nfields);
}

int cg_ncoords(int fn, int B, int Z, int *ncoords)
{
    cgns_node *zone = cgns_zone_of(cgns_root_of(fn), B, Z);
    cgns_node *grid = zone ? cgns_child(zone, "GridCoordinates") : NULL;
    *ncoords = grid ? cgns_children_of_label(grid, "DataArray_t") : 0;
    return zone ? CG_OK : CG_ERROR;
}
