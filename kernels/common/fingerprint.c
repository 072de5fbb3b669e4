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

/* Elements `index`, index + 1, … of the whole array. One loop for each size, so that the compiler knows the width. */
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
    return element == 8 ? row_8(at, count, index) : element == 4 ? row_4(at, count, index) : row_1(at, count, index);
}

static size_t element_bytes(gridio_type type)
{
    return type == GRIDIO_FLOAT64 ? 8 : type == GRIDIO_CHARACTER ? 1 : 4;
}

/* Adds one block; dimensions are taken one by one, the last as a row. */
static uint64_t of_block(const gridio_variable *v, const gridio_block *b, int dimension, uint64_t index,
                         const unsigned char **at)
{
    const size_t element = element_bytes(v->type);
    uint64_t sum = 0;
    if (dimension >= v->dimensions - 1) {
        const int64_t count = v->dimensions > 0 ? b->count[dimension] : 1;
        const uint64_t start = v->dimensions > 0 ? (uint64_t)b->start[dimension] : 0;
        const uint64_t size = v->dimensions > 0 ? (uint64_t)v->size[dimension] : 1;
        sum = of_row(element, *at, count, index * size + start);
        *at += (size_t)count * element;
        return sum;
    }
    for (int64_t i = 0; i < b->count[dimension]; i++)
        sum += of_block(v, b, dimension + 1, index * (uint64_t)v->size[dimension] + (uint64_t)(b->start[dimension] + i),
                        at);
    return sum;
}

uint64_t fingerprint_of_blocks(const gridio_variable *variable, int blocks, const gridio_block *block, const void *data)
{
    const unsigned char *at = data;
    uint64_t sum = 0;
    for (int b = 0; b < blocks; b++)
        sum += of_block(variable, &block[b], 0, 0, &at);
    return sum;
}
