#include "fingerprint.h"

#include <string.h>

#define GOLDEN UINT64_C(0x9E3779B97F4A7C15)

static inline uint64_t mix(uint64_t x)
{
    x ^= x >> 30;
    x *= UINT64_C(0xBF58476D1CE4E5B9);
    x ^= x >> 27;
    x *= UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

/* Elements `index`, index + 1, … of the whole array. One loop for each size, so that the compiler
 * knows the width. */
static uint64_t row_8(const unsigned char *at, int64_t count, uint64_t index)
{
    uint64_t sum = 0, bits;
    for (int64_t i = 0; i < count; i++) {
        memcpy(&bits, at + 8 * i, 8);
        sum += mix(bits + GOLDEN * (index + (uint64_t)i + 1));
    }
    return sum;
}

static uint64_t row_4(const unsigned char *at, int64_t count, uint64_t index)
{
    uint64_t sum = 0;
    uint32_t bits;
    for (int64_t i = 0; i < count; i++) {
        memcpy(&bits, at + 4 * i, 4);
        sum += mix(bits + GOLDEN * (index + (uint64_t)i + 1));
    }
    return sum;
}

static uint64_t row_1(const unsigned char *at, int64_t count, uint64_t index)
{
    uint64_t sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += mix(at[i] + GOLDEN * (index + (uint64_t)i + 1));
    return sum;
}

static uint64_t of_row(size_t element, const unsigned char *at, int64_t count, uint64_t index)
{
    return element == 8   ? row_8(at, count, index)
           : element == 4 ? row_4(at, count, index)
                          : row_1(at, count, index);
}

static size_t element_bytes(gridio_type type)
{
    return type == GRIDIO_FLOAT64 ? 8 : type == GRIDIO_CHARACTER ? 1 : 4;
}

static int64_t rows_of(const gridio_variable *variable, const gridio_block *block)
{
    int64_t rows = 1;
    for (int axis = 0; axis < variable->dimensions - 1; axis++)
        rows *= block->count[axis];
    return rows;
}

/* Where the first element of a block's row lies in the whole array. */
static uint64_t place_of(const gridio_variable *variable, const gridio_block *block, int64_t row)
{
    const int last = variable->dimensions - 1;
    uint64_t index = (uint64_t)block->start[last], scale = (uint64_t)variable->size[last];
    for (int axis = last - 1; axis >= 0; axis--) {
        index += scale * (uint64_t)(block->start[axis] + row % block->count[axis]);
        scale *= (uint64_t)variable->size[axis];
        row /= block->count[axis];
    }
    return index;
}

static uint64_t of_block(const gridio_variable *variable, const gridio_block *block,
                         const unsigned char **at)
{
    const size_t element = element_bytes(variable->type);
    const int64_t rows = rows_of(variable, block),
                  cells = variable->dimensions > 0 ? block->count[variable->dimensions - 1] : 1;
    uint64_t sum = 0;
    for (int64_t row = 0; row < rows; row++) {
        sum += of_row(element, *at, cells,
                      variable->dimensions > 0 ? place_of(variable, block, row) : 0);
        *at += (size_t)cells * element;
    }
    return sum;
}

uint64_t fingerprint_of_blocks(const gridio_variable *variable, int blocks,
                               const gridio_block *block, const void *data)
{
    const unsigned char *at = data;
    uint64_t sum = 0;
    for (int i = 0; i < blocks; i++)
        sum += of_block(variable, &block[i], &at);
    return sum;
}
