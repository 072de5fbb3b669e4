/* Arrays: coordinates and fields, created by all ranks and then filled by each. */
#include "files.h"
#include "hdf5_reason.h"

#include <string.h>

/* --- types --- */

static const char *const TYPES[] = {[Integer] = "I4",
                                    [RealSingle] = "R4",
                                    [RealDouble] = "R8",
                                    [Character] = "C1",
                                    [LongInteger] = "I8"};

static const char *type_name(DataType_t type)
{
    if (type >= Integer && type <= LongInteger)
        return TYPES[type];
    cgns_fail("%d is no type of data", (int)type);
    return NULL;
}

static DataType_t type_of(const char *name)
{
    for (int type = Integer; type <= LongInteger; type++)
        if (strcmp(TYPES[type], name) == 0)
            return (DataType_t)type;
    return DataTypeUserDefined;
}

static int describe(const cgns_node *array, DataType_t *type, char *name)
{
    if (!array)
        return CG_ERROR;
    *type = type_of(array->type);
    strcpy(name, array->name);
    return CG_OK;
}

/* --- creation --- */

static int new_array(cgns_node *parent, const char *name, DataType_t type, int dimensions,
                     const int64_t *size, int *number)
{
    const char *type_text = type_name(type);
    if (!type_text || dimensions == 0)
        return CG_ERROR;
    for (int d = 0; d < dimensions; d++)
        if (size[d] < 1) {
            cgns_fail("the array %s would be empty in '%s'", name, parent->name);
            return CG_ERROR;
        }
    return cgns_made(
        parent, cgns_new_array(parent, name, "DataArray_t", type_text, dimensions, size), number);
}

int cgp_coord_write(int fn, int B, int Z, DataType_t type, const char *coordname, int *C)
{
    cgns_node *zone = cgns_zone_of(cgns_root_to_write(fn), B, Z);
    int64_t vertices[3], cells[3];
    const int dimensions = zone ? cgns_zone_size(zone, vertices, cells) : 0;
    if (dimensions == 0)
        return CG_ERROR;
    cgns_node *grid = cgns_child(zone, "GridCoordinates");
    if (!grid)
        grid = cgns_new(zone, "GridCoordinates", "GridCoordinates_t");
    return grid ? new_array(grid, coordname, type, dimensions, vertices, C) : CG_ERROR;
}

/* Vertices where the location is on them in that dimension, cells otherwise. */
static void size_at(GridLocation_t location, int dimensions, const int64_t *vertices,
                    const int64_t *cells, int64_t *size)
{
    for (int d = 0; d < dimensions; d++)
        size[d] =
            location == Vertex || (int)location == (int)IFaceCenter + d ? vertices[d] : cells[d];
}

int cgp_field_write(int fn, int B, int Z, int S, DataType_t type, const char *fieldname, int *F)
{
    cgns_node *root = cgns_root_to_write(fn);
    cgns_node *zone = cgns_zone_of(root, B, Z),
              *solution = zone ? cgns_solution_of(root, B, Z, S) : NULL;
    int64_t vertices[3], cells[3], size[3];
    const int dimensions = solution ? cgns_zone_size(zone, vertices, cells) : 0;
    if (dimensions == 0)
        return CG_ERROR;
    size_at(cgns_location_of(solution), dimensions, vertices, cells, size);
    return new_array(solution, fieldname, type, dimensions, size, F);
}

/* --- data --- */

/* Selects first … last in the data set and as many elements in memory; with no data, none. */
static int select_range(const cgns_node *array, const cgsize_t *first, const cgsize_t *last,
                        hid_t in_file, hid_t *in_memory)
{
    hsize_t start[CGNS_DIMENSIONS], size[CGNS_DIMENSIONS], elements = 1;
    for (int d = 0; d < array->dimensions && first; d++) {
        const int reversed = array->dimensions - 1 - d;
        if (first[d] < 1 || last[d] < first[d] || last[d] > array->size[d])
            first = NULL;
        else {
            start[reversed] = (hsize_t)(first[d] - 1);
            size[reversed] = (hsize_t)(last[d] - first[d] + 1);
            elements *= size[reversed];
        }
    }
    *in_memory = H5Screate_simple(1, &elements, NULL);
    if (first && H5Sselect_hyperslab(in_file, H5S_SELECT_SET, start, NULL, size, NULL) >= 0)
        return 0;
    H5Sselect_none(in_file);
    H5Sselect_none(*in_memory);
    return -1;
}

/* A rank with no data, or with a range that makes no sense, takes part all the same, with no
 * elements: in the collective mode the others wait for it. */
static int move(cgns_node *array, const cgsize_t *first, const cgsize_t *last, void *data,
                bool writes)
{
    char nothing = 0;
    hid_t set = cgns_data(array);
    if (set < 0)
        return cgns_fail("the array %s has no data", array->name);
    hid_t in_memory, in_file = H5Dget_space(set), list = H5Pcreate(H5P_DATASET_XFER),
                     type = cgns_type(array->type);
    const bool selected = select_range(array, data ? first : NULL, last, in_file, &in_memory) == 0;
    H5Pset_dxpl_mpio(list, cgns_pio_mode() == CGP_COLLECTIVE ? H5FD_MPIO_COLLECTIVE
                                                             : H5FD_MPIO_INDEPENDENT);
    void *place = selected ? data : &nothing;
    herr_t moved = writes ? H5Dwrite(set, type, in_memory, in_file, list, place)
                          : H5Dread(set, type, in_memory, in_file, list, place);
    H5Pclose(list);
    H5Sclose(in_memory);
    H5Sclose(in_file);
    if (moved < 0)
        return cgns_fail("the array %s cannot be %s: %s", array->name, writes ? "written" : "read",
                         hdf5_reason());
    return selected || !data ? 0
                             : cgns_fail("the range given lies outside the array %s", array->name);
}

static cgns_node *coordinate_of(cgns_node *root, int B, int Z, int C)
{
    cgns_node *zone = cgns_zone_of(root, B, Z);
    return cgns_nth(zone ? cgns_nth(zone, "GridCoordinates_t", 1) : NULL, "DataArray_t", C);
}

static cgns_node *field_of(cgns_node *root, int B, int Z, int S, int F)
{
    return cgns_nth(cgns_solution_of(root, B, Z, S), "DataArray_t", F);
}

static int finish(cgns_node *array, const cgsize_t *first, const cgsize_t *last, void *data,
                  bool writes)
{
    return array && move(array, first, last, data, writes) == 0 ? CG_OK : CG_ERROR;
}

int cgp_coord_write_data(int fn, int B, int Z, int C, const cgsize_t *first, const cgsize_t *last,
                         const void *data)
{
    return finish(coordinate_of(cgns_root_to_write(fn), B, Z, C), first, last,
                  (void *)(uintptr_t)data, true);
}

int cgp_coord_read_data(int fn, int B, int Z, int C, const cgsize_t *first, const cgsize_t *last,
                        void *data)
{
    return finish(coordinate_of(cgns_root_of(fn), B, Z, C), first, last, data, false);
}

int cgp_field_write_data(int fn, int B, int Z, int S, int F, const cgsize_t *first,
                         const cgsize_t *last, const void *data)
{
    return finish(field_of(cgns_root_to_write(fn), B, Z, S, F), first, last,
                  (void *)(uintptr_t)data, true);
}

int cgp_field_read_data(int fn, int B, int Z, int S, int F, const cgsize_t *first,
                        const cgsize_t *last, void *data)
{
    return finish(field_of(cgns_root_of(fn), B, Z, S, F), first, last, data, false);
}

int cg_coord_info(int fn, int B, int Z, int C, DataType_t *type, char *coordname)
{
    return describe(coordinate_of(cgns_root_of(fn), B, Z, C), type, coordname);
}

int cg_field_info(int fn, int B, int Z, int S, int F, DataType_t *type, char *fieldname)
{
    return describe(field_of(cgns_root_of(fn), B, Z, S, F), type, fieldname);
}
