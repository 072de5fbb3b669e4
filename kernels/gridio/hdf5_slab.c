/* Slabs to and from HDF5's data sets. */
#include "hdf5_support.h"

hid_t hdf5_type(gridio_type type)
{
    switch (type) {
    case GRIDIO_FLOAT32: return H5T_NATIVE_FLOAT;
    case GRIDIO_INT32: return H5T_NATIVE_INT32;
    case GRIDIO_CHARACTER: return H5T_C_S1; /* a text of one character, as netCDF's */
    default: return H5T_NATIVE_DOUBLE;
    }
}

/* The number in the whole array of the block's first or last element. */
static int64_t corner(const gridio_variable *variable, const gridio_block *block, bool last)
{
    int64_t place = 0;
    for (int axis = 0; axis < variable->dimensions; axis++)
        place =
            place * variable->size[axis] + block->start[axis] + (last ? block->count[axis] - 1 : 0);
    return place;
}

/* Whether block after block is the order of the array too. HDF5 visits a selection in the order of
 * the array, whatever the order in which it was put together, and so only then can one call move
 * all blocks. */
static bool in_array_order(const gridio_variable *variable, const gridio_slab *slab)
{
    for (int i = 1; i < slab->blocks; i++)
        if (corner(variable, &slab->block[i - 1], true) >= corner(variable, &slab->block[i], false))
            return false;
    return true;
}

int hdf5_rounds(gridio_file *file, const gridio_slab *slab, int own)
{
    int most = own;
    if (slab->together)
        MPI_Allreduce(&own, &most, 1, MPI_INT, MPI_MAX, file->accessors);
    return most;
}

/* Adds blocks first … last-1 to the selection, which was none. */
static herr_t select_blocks(hid_t space, const hdf5_target *target, const gridio_variable *variable,
                            const gridio_slab *slab, int first, int last)
{
    herr_t status = 0;
    const int lead = target->has_steps;
    for (int i = first; i < last && status >= 0; i++) {
        hsize_t start[GRIDIO_DIMENSIONS + 1] = {(hsize_t)slab->step},
                                          count[GRIDIO_DIMENSIONS + 1] = {1};
        for (int axis = 0; axis < variable->dimensions; axis++) {
            start[lead + axis] = (hsize_t)slab->block[i].start[axis];
            count[lead + axis] = (hsize_t)slab->block[i].count[axis];
        }
        status = H5Sselect_hyperslab(space, i == first ? H5S_SELECT_SET : H5S_SELECT_OR, start,
                                     NULL, count, NULL);
    }
    return status;
}

/* The selections in the data set and in memory for blocks first … last-1, or none. A single number
 * is a scalar space, of which only all or none can be selected. */
static herr_t select_spaces(const hdf5_target *target, const gridio_variable *variable,
                            const gridio_slab *slab, int first, int last, hid_t *in_file,
                            hid_t *in_memory)
{
    hsize_t elements = 0;
    for (int i = first; i < last; i++)
        elements += (hsize_t)gridio_elements(&slab->block[i], variable->dimensions);
    *in_file = H5Dget_space(target->set);
    *in_memory = H5Screate_simple(1, &(hsize_t){elements ? elements : 1}, NULL);
    if (*in_file < 0 || *in_memory < 0)
        return -1;
    if (elements == 0)
        return H5Sselect_none(*in_file) < 0 ? -1 : H5Sselect_none(*in_memory);
    if (variable->dimensions == 0 && !target->has_steps)
        return H5Sselect_all(*in_file);
    return select_blocks(*in_file, target, variable, slab, first, last);
}

static hid_t transfer_properties(const gridio_file *file, bool together)
{
    hid_t list = H5Pcreate(H5P_DATASET_XFER);
    if (file->method->needs != GRIDIO_ALONE)
        H5Pset_dxpl_mpio(list, together ? H5FD_MPIO_COLLECTIVE : H5FD_MPIO_INDEPENDENT);
    return list;
}

/* One call. Where the selection fails here this rank still takes part, with none. */
static int move_blocks(gridio_file *file, const hdf5_target *target, const gridio_slab *slab,
                       int first, int last, char *data)
{
    const gridio_variable *variable = &file->variables[slab->number];
    char nothing = 0;
    hid_t in_file, in_memory, list = transfer_properties(file, slab->together);
    int status = 0;
    if (select_spaces(target, variable, slab, first, last, &in_file, &in_memory) < 0) {
        status = hdf5_fail(file, "select the blocks of");
        H5Sselect_none(in_file);
        H5Sselect_none(in_memory);
    }
    if (!data)
        data = &nothing; /* HDF5 takes no NULL */
    herr_t moved = target->writes
                       ? H5Dwrite(target->set, target->type, in_memory, in_file, list, data)
                       : H5Dread(target->set, target->type, in_memory, in_file, list, data);
    if (moved < 0)
        status = hdf5_fail(file, target->writes ? "write" : "read");
    H5Sclose(in_file);
    H5Sclose(in_memory);
    H5Pclose(list);
    return status;
}

int hdf5_move(gridio_file *file, const hdf5_target *target, const gridio_slab *slab, void *data)
{
    const gridio_variable *variable = &file->variables[slab->number];
    const int own = in_array_order(variable, slab) ? slab->blocks > 0 : slab->blocks;
    const int rounds = hdf5_rounds(file, slab, own);
    char *place = data;
    int status = 0;
    for (int round = 0; round < rounds; round++) {
        const int first = round < own ? round : slab->blocks;
        const int last = round >= own ? slab->blocks : own == 1 ? slab->blocks : round + 1;
        if (move_blocks(file, target, slab, first, last, place) != 0)
            status = GRIDIO_FAILED;
        if (round < own && own > 1)
            place += (size_t)gridio_elements(&slab->block[round], variable->dimensions) *
                     gridio_element_bytes(variable->type);
    }
    return status;
}
