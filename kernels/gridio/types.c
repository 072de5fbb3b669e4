/* Sizes, and MPI's datatypes for blocks of variables. */
#include "internal.h"
#include "allocation.h"

#include <limits.h>
#include <stdlib.h>

MPI_Datatype gridio_mpi_type(gridio_type type)
{
    switch (type) {
    case GRIDIO_FLOAT32: return MPI_FLOAT;
    case GRIDIO_INT32: return MPI_INT32_T;
    case GRIDIO_CHARACTER: return MPI_CHAR;
    default: return MPI_DOUBLE;
    }
}

const char *gridio_type_name(gridio_type type)
{
    static const char *const names[] = {[GRIDIO_FLOAT64] = "float64",
                                        [GRIDIO_FLOAT32] = "float32",
                                        [GRIDIO_INT32] = "int32",
                                        [GRIDIO_CHARACTER] = "character"};
    return names[type];
}

size_t gridio_element_bytes(gridio_type type)
{
    static const size_t bytes[] = {
        [GRIDIO_FLOAT64] = 8, [GRIDIO_FLOAT32] = 4, [GRIDIO_INT32] = 4, [GRIDIO_CHARACTER] = 1};
    return bytes[type];
}

int64_t gridio_elements(const gridio_block *block, int dimensions)
{
    int64_t elements = 1;
    for (int axis = 0; axis < dimensions; axis++)
        elements *= block->count[axis];
    return elements;
}

gridio_block gridio_whole(const gridio_variable *variable)
{
    gridio_block whole = {{0}, {0}};
    for (int axis = 0; axis < variable->dimensions; axis++)
        whole.count[axis] = variable->size[axis];
    return whole;
}

size_t gridio_variable_bytes(const gridio_variable *variable)
{
    const gridio_block whole = gridio_whole(variable);
    return (size_t)gridio_elements(&whole, variable->dimensions) *
           gridio_element_bytes(variable->type);
}

bool gridio_same_block(const gridio_block *one, const gridio_block *other, int dimensions)
{
    for (int axis = 0; axis < dimensions; axis++)
        if (one->start[axis] != other->start[axis] || one->count[axis] != other->count[axis])
            return false;
    return true;
}

/* A subarray of at least one dimension: MPI before 4 has none of zero. */
static MPI_Datatype subarray(const gridio_variable *variable, const gridio_block *block)
{
    int size[GRIDIO_DIMENSIONS] = {1}, count[GRIDIO_DIMENSIONS] = {1},
        start[GRIDIO_DIMENSIONS] = {0};
    for (int axis = 0; axis < variable->dimensions; axis++) {
        size[axis] = (int)variable->size[axis];
        count[axis] = (int)block->count[axis];
        start[axis] = (int)block->start[axis];
    }
    MPI_Datatype type;
    MPI_Type_create_subarray(variable->dimensions ? variable->dimensions : 1, size, count, start,
                             MPI_ORDER_C, gridio_mpi_type(variable->type), &type);
    return type;
}

static MPI_Datatype one_after_the_other(int count, MPI_Datatype *parts)
{
    int *lengths = gridio_allocate((size_t)count, sizeof *lengths);
    MPI_Aint *displacements = gridio_allocate((size_t)count, sizeof *displacements);
    MPI_Datatype type;
    for (int i = 0; i < count; i++)
        lengths[i] = 1;
    MPI_Type_create_struct(count, lengths, displacements, parts, &type);
    free(lengths);
    free(displacements);
    return type;
}

MPI_Datatype gridio_places(const gridio_variable *variable, int blocks, const gridio_block *block)
{
    if (blocks <= 1) {
        MPI_Datatype only = subarray(variable, block);
        MPI_Type_commit(&only);
        return only;
    }
    MPI_Datatype type, *parts = gridio_allocate((size_t)blocks, sizeof *parts);
    for (int i = 0; i < blocks; i++)
        parts[i] = subarray(variable, &block[i]);
    type = one_after_the_other(blocks, parts);
    for (int i = 0; i < blocks; i++)
        MPI_Type_free(&parts[i]);
    MPI_Type_commit(&type);
    free(parts);
    return type;
}

MPI_Datatype gridio_row(gridio_type kind, int64_t elements)
{
    enum { PIECE = 1 << 30 }; /* MPI counts in int */
    const MPI_Datatype element = gridio_mpi_type(kind);
    MPI_Datatype row;
    if (elements <= INT_MAX) {
        MPI_Type_contiguous((int)elements, element, &row);
    } else {
        MPI_Datatype piece, types[2];
        int lengths[2] = {(int)(elements / PIECE), (int)(elements % PIECE)};
        MPI_Aint displacements[2] = {
            0, (MPI_Aint)(elements / PIECE * PIECE * (int64_t)gridio_element_bytes(kind))};
        MPI_Type_contiguous(PIECE, element, &piece);
        types[0] = piece, types[1] = element;
        MPI_Type_create_struct(2, lengths, displacements, types, &row);
        MPI_Type_free(&piece);
    }
    MPI_Type_commit(&row);
    return row;
}
