/* Bases, zones, solutions and steps of a CGNS file. */
#include "cgns_zones.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ZONE_DIMENSIONS = 3, POINTER_BYTES = 32 };

static int fail(gridio_file *file)
{
    return gridio_fail(file, "cannot write '%s': %s", file->path, cgns_error());
}

/* --- names --- */

/* A flow solution holds numbers on a grid of two or three dimensions; all else is data of the
 * user's. (Bases of one dimension are allowed too, but cgnscheck refuses them.) */
static bool is_field(const gridio_variable *variable)
{
    return variable->tiled && variable->dimensions >= 2 &&
           variable->dimensions <= ZONE_DIMENSIONS && variable->type != GRIDIO_CHARACTER;
}

static void base_name(int dimensions, char *name)
{
    snprintf(name, CGNS_NAME_BYTES, "Base%d", dimensions);
}

static void zone_name(const gridio_variable *variable, char *name)
{
    int used = snprintf(name, CGNS_NAME_BYTES, "Zone");
    for (int axis = 0; axis < variable->dimensions && used < CGNS_NAME_BYTES; axis++)
        used += snprintf(name + used, CGNS_NAME_BYTES - (size_t)used, "%c%lld", axis ? 'x' : '_',
                         (long long)variable->size[axis]);
}

static void step_name(const gridio_variable *variable, int64_t step, char *name)
{
    if (variable->every_step)
        snprintf(name, CGNS_NAME_BYTES, "Step%08lld", (long long)step);
    else
        snprintf(name, CGNS_NAME_BYTES, "Once");
}

static const char *type_name(gridio_type type)
{
    static const char *const NAMES[] = {[GRIDIO_FLOAT64] = "R8",
                                        [GRIDIO_FLOAT32] = "R4",
                                        [GRIDIO_INT32] = "I4",
                                        [GRIDIO_CHARACTER] = "C1"};
    return NAMES[type];
}

/* --- coordinates --- */

/* A run of planes across the slowest dimension, and where in them the wanted dimension (of HDF5's
 * order) stands. */
typedef struct {
    int dimension, dimensions;
    hsize_t size[ZONE_DIMENSIONS]; /* the zone's vertices, in HDF5's order */
    hsize_t first, planes, plane_elements;
} plane_run;

static void fill_indices(const plane_run *run, float *values)
{
    hsize_t stride = 1;
    for (int axis = run->dimensions - 1; axis > run->dimension; axis--)
        stride *= run->size[axis];
    for (hsize_t i = 0; i < run->planes * run->plane_elements; i++) {
        const hsize_t index = i / stride;
        values[i] =
            (float)(run->dimension == 0 ? run->first + index : index % run->size[run->dimension]);
    }
}

/* All accessors at once; a rank without planes writes none. */
static int write_planes(gridio_file *file, hid_t set, const plane_run *run, const float *values)
{
    hsize_t start[ZONE_DIMENSIONS] = {run->first}, count[ZONE_DIMENSIONS],
            elements = run->planes * run->plane_elements;
    memcpy(count, run->size, sizeof count);
    count[0] = run->planes;
    hid_t in_file = H5Dget_space(set),
          in_memory = H5Screate_simple(1, &(hsize_t){elements ? elements : 1}, NULL);
    hid_t list = H5Pcreate(H5P_DATASET_XFER);
    if (file->method->needs != GRIDIO_ALONE)
        H5Pset_dxpl_mpio(list, H5FD_MPIO_COLLECTIVE);
    if (elements)
        H5Sselect_hyperslab(in_file, H5S_SELECT_SET, start, NULL, count, NULL);
    else
        H5Sselect_none(in_file), H5Sselect_none(in_memory);
    herr_t status = H5Dwrite(set, H5T_NATIVE_FLOAT, in_memory, in_file, list, values);
    H5Pclose(list);
    H5Sclose(in_memory);
    H5Sclose(in_file);
    return status < 0 ? gridio_fail(file, "cannot write the coordinates of '%s'", file->path) : 0;
}

/* Each accessor writes its share of the planes, about a MiB at a time. */
static int write_coordinate(gridio_file *file, hid_t set, plane_run run)
{
    int rank, ranks, status = 0;
    MPI_Comm_rank(file->accessors, &rank);
    MPI_Comm_size(file->accessors, &ranks);
    const hsize_t all = run.size[0], at_once = 1 + (UINT64_C(1) << 18) / run.plane_elements;
    const hsize_t share = (all + (hsize_t)ranks - 1) / (hsize_t)ranks;
    const hsize_t begin = share * (hsize_t)rank < all ? share * (hsize_t)rank : all;
    const hsize_t end = begin + share < all ? begin + share : all;
    float *values =
        malloc((at_once < share ? at_once : share) * run.plane_elements * sizeof *values);
    if (!values)
        status = gridio_fail(file, "there is no memory for the coordinates of '%s'", file->path);
    for (hsize_t done = 0; done < share; done += at_once) {
        run.first = begin + done < end ? begin + done : end;
        run.planes = values && end - run.first < at_once ? end - run.first : values ? at_once : 0;
        fill_indices(&run, values);
        const float nothing = 0;
        if (write_planes(file, set, &run, values ? values : &nothing) != 0)
            status = GRIDIO_FAILED;
    }
    free(values);
    return status;
}

static int make_coordinates(gridio_file *file, cgns_node *zone, const int64_t *vertices,
                            int dimensions)
{
    static const char *const NAMES[] = {"CoordinateX", "CoordinateY", "CoordinateZ"};
    plane_run run = {.dimensions = dimensions, .plane_elements = 1};
    cgns_node *grid = cgns_new(zone, "GridCoordinates", "GridCoordinates_t");
    for (int axis = 0; axis < dimensions; axis++)
        run.size[axis] = (hsize_t)vertices[dimensions - 1 - axis];
    for (int axis = 1; axis < dimensions; axis++)
        run.plane_elements *= run.size[axis];
    for (int axis = 0; axis < dimensions; axis++) {
        cgns_node *array =
            grid ? cgns_new_array(grid, NAMES[axis], "DataArray_t", "R4", dimensions, vertices)
                 : NULL;
        if (!array)
            return fail(file);
        run.dimension = dimensions - 1 - axis;
        if (write_coordinate(file, cgns_data(array), run) != 0)
            return GRIDIO_FAILED;
    }
    return 0;
}

/* --- bases and zones --- */

static cgns_node *base_of(cgns_tree *tree, int dimensions, bool make)
{
    char name[CGNS_NAME_BYTES];
    base_name(dimensions, name);
    cgns_node *base = cgns_child(tree->root, name);
    const int32_t numbers[2] = {dimensions, dimensions};
    if (base || !make)
        return base;
    return cgns_new_small(tree->root, name, "CGNSBase_t", "I4", 1, &(int64_t){2}, numbers);
}

/* Vertices, cells (one less, the variable's elements) and boundary vertices, each from the fastest
 * dimension on. */
static cgns_node *new_zone(cgns_node *base, const gridio_variable *variable, const char *name,
                           int64_t *vertices)
{
    const int dimensions = variable->dimensions;
    int32_t size[3 * ZONE_DIMENSIONS] = {0};
    for (int axis = 0; axis < dimensions; axis++) {
        size[dimensions + axis] = (int32_t)variable->size[dimensions - 1 - axis];
        vertices[axis] = size[axis] = size[dimensions + axis] + 1;
    }
    cgns_node *zone =
        cgns_new_small(base, name, "Zone_t", "I4", 2, (const int64_t[]){dimensions, 3}, size);
    return zone && cgns_new_text(zone, "ZoneType", "ZoneType_t", "Structured") ? zone : NULL;
}

static int make_zone(gridio_file *file, cgns_tree *tree, const gridio_variable *variable,
                     bool with_coordinates)
{
    char name[CGNS_NAME_BYTES];
    int64_t vertices[ZONE_DIMENSIONS];
    cgns_node *base = base_of(tree, variable->dimensions, true);
    zone_name(variable, name);
    if (base && cgns_child(base, name))
        return 0;
    for (int axis = 0; axis < variable->dimensions; axis++)
        if (variable->size[axis] == INT32_MAX)
            return gridio_fail(file, "%s is too large for a zone of '%s'", variable->name,
                               file->path);
    cgns_node *zone = base ? new_zone(base, variable, name, vertices) : NULL;
    if (!zone)
        return fail(file);
    return with_coordinates ? make_coordinates(file, zone, vertices, variable->dimensions) : 0;
}

int cgns_make_zones(gridio_file *file, cgns_tree *tree, bool with_coordinates)
{
    for (int number = 0; number < file->variables_count; number++)
        if (!file->shares[number].is_absent && is_field(&file->variables[number]) &&
            make_zone(file, tree, &file->variables[number], with_coordinates) != 0)
            return GRIDIO_FAILED;
    if (cgns_children_of_label(tree->root, "CGNSBase_t") == 0 &&
        !base_of(tree, ZONE_DIMENSIONS, true))
        return fail(file);
    return 0;
}

/* --- arrays --- */

static cgns_node *parent_of(const gridio_variable *variable, cgns_tree *tree, int64_t step,
                            bool make)
{
    char zone[CGNS_NAME_BYTES], name[CGNS_NAME_BYTES];
    cgns_node *above = is_field(variable) ? base_of(tree, variable->dimensions, false)
                                          : cgns_child_of_label(tree->root, "CGNSBase_t", 1);
    zone_name(variable, zone);
    if (above && is_field(variable))
        above = cgns_child(above, zone);
    if (!above)
        return NULL;
    step_name(variable, step, name);
    cgns_node *parent = cgns_child(above, name);
    if (parent || !make)
        return parent;
    parent = cgns_new(above, name, is_field(variable) ? "FlowSolution_t" : "UserDefinedData_t");
    if (parent && is_field(variable) &&
        !cgns_new_text(parent, "GridLocation", "GridLocation_t", "CellCenter"))
        return NULL;
    return parent;
}

cgns_node *cgns_array_of(gridio_file *file, cgns_tree *tree, int number, int64_t step, bool make)
{
    const gridio_variable *variable = &file->variables[number];
    int64_t size[GRIDIO_DIMENSIONS] = {1};
    cgns_node *parent = parent_of(variable, tree, step, make);
    cgns_node *array = parent ? cgns_child(parent, variable->name) : NULL;
    if (parent && !array && make) {
        for (int axis = 0; axis < variable->dimensions; axis++)
            size[axis] = variable->size[variable->dimensions - 1 - axis];
        array = cgns_new_array(parent, variable->name, "DataArray_t", type_name(variable->type),
                               variable->dimensions ? variable->dimensions : 1, size);
    }
    if (array)
        return array;
    if (make)
        fail(file);
    else
        gridio_fail(file, "'%s' has no %s of step %lld", file->path, variable->name,
                    (long long)step);
    return NULL;
}

/* --- steps --- */

/* A node of few data, made or brought up to date. */
static int set_small(cgns_node *parent, const char *name, const char *label, const char *type,
                     int dimensions, const int64_t *size, const void *data)
{
    cgns_node *node = cgns_child(parent, name);
    if (node)
        return cgns_replace_small(node, dimensions, size, data);
    return cgns_new_small(parent, name, label, type, dimensions, size, data) ? 0 : GRIDIO_FAILED;
}

static int put_base_steps(cgns_node *base, int64_t steps)
{
    const int32_t count = (int32_t)steps;
    int32_t *numbers = malloc((size_t)steps * sizeof *numbers);
    if (!numbers)
        return cgns_fail("there is no memory");
    for (int32_t step = 0; step < count; step++)
        numbers[step] = step;
    int status =
        set_small(base, "BaseIterativeData", "BaseIterativeData_t", "I4", 1, &(int64_t){1}, &count);
    if (status == 0)
        status = set_small(cgns_child(base, "BaseIterativeData"), "IterationValues", "DataArray_t",
                           "I4", 1, &steps, numbers);
    free(numbers);
    return status;
}

/* Which solution belongs to which step: names filled up with blanks. A zone of which a step has
 * none says Null. */
static int put_zone_steps(cgns_node *zone, int64_t steps)
{
    const gridio_variable any = {.every_step = true};
    char name[CGNS_NAME_BYTES], *names = malloc((size_t)steps * POINTER_BYTES);
    int64_t found = 0;
    if (!names)
        return cgns_fail("there is no memory");
    memset(names, ' ', (size_t)steps * POINTER_BYTES);
    for (int64_t step = 0; step < steps; step++) {
        step_name(&any, step, name);
        const bool exists = cgns_child(zone, name) != NULL;
        memcpy(names + step * POINTER_BYTES, exists ? name : "Null", exists ? strlen(name) : 4);
        found += exists;
    }
    cgns_node *node = cgns_child(zone, "ZoneIterativeData");
    if (found > 0 && !node)
        node = cgns_new(zone, "ZoneIterativeData", "ZoneIterativeData_t");
    int status = found > 0 && !node ? GRIDIO_FAILED : 0;
    if (node)
        status = set_small(node, "FlowSolutionPointers", "DataArray_t", "C1", 2,
                           (const int64_t[]){POINTER_BYTES, steps}, names);
    free(names);
    return status;
}

int cgns_put_steps(gridio_file *file, cgns_tree *tree, int64_t steps)
{
    cgns_node *base, *zone;
    for (int i = 1; (base = cgns_child_of_label(tree->root, "CGNSBase_t", i)); i++) {
        if (put_base_steps(base, steps) != 0)
            return fail(file);
        for (int z = 1; (zone = cgns_child_of_label(base, "Zone_t", z)); z++)
            if (put_zone_steps(zone, steps) != 0)
                return fail(file);
    }
    return 0;
}

int64_t cgns_get_steps(const cgns_tree *tree)
{
    cgns_node *base = cgns_child_of_label(tree->root, "CGNSBase_t", 1);
    cgns_node *node = base ? cgns_child(base, "BaseIterativeData") : NULL;
    int32_t steps = 0;
    return node && cgns_get_small(node, "I4", &steps, sizeof steps) ? steps : 0;
}
