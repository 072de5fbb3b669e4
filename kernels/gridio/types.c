/* Sizes, and MPI's datatypes for blocks of variables. */
#include "internal.h"

MPI_Datatype gridio_mpi_type(gridio_type type)
{
    switch (type) {
    case GRIDIO_FLOAT32: return MPI_FLOAT;
    case GRIDIO_INT32: return MPI_INT32_T;
    case GRIDIO_CHARACTER: return MPI_CHAR;
    default: return MPI_DOUBLE;
    }
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
    for (int d = 0; d < dimensions; d++)
        elements *= block->count[d];
    return elements;
}

gridio_block gridio_whole(const gridio_variable *variable)
{
    gridio_block whole = {{0}, {0}};
    for (int d = 0; d < variable->dimensions; d++)
        whole.count[d] = variable->size[d];
    return whole;
}

size_t gridio_variable_bytes(const gridio_variable *variable)
{
    const gridio_block whole = gridio_whole(variable);
    return (size_t)gridio_elements(&whole, variable->dimensions) * gridio_element_bytes(variable->type);
}

/* A subarray of at least one dimension: MPI before 4 has none of zero. */
static MPI_Datatype subarray(const gridio_variable *variable, const int64_t *sizes, const int64_t *counts,
                             const int64_t *starts)
{
    int size[GRIDIO_DIMENSIONS] = {1}, count[GRIDIO_DIMENSIONS] = {1}, start[GRIDIO_DIMENSIONS] = {0};
    for (int d = 0; d < variable->dimensions; d++) {
        size[d] = (int)sizes[d];
        count[d] = (int)counts[d];
        start[d] = starts ? (int)starts[d] : 0;
    }
    MPI_Datatype type;
    MPI_Type_create_subarray(variable->dimensions ? variable->dimensions : 1, size, count, start, MPI_ORDER_C,
                             gridio_mpi_type(variable->type), &type);
    MPI_Type_commit(&type);
    return type;
}

MPI_Datatype gridio_subarray(const gridio_variable *variable, const gridio_block *block)
{
    return subarray(variable, variable->size, block->count, block->start);
}

MPI_Datatype gridio_contiguous(const gridio_variable *variable, const gridio_block *block)
{
    return subarray(variable, block->count, block->count, NULL);
}
