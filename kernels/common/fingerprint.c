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

static int64_t rows_of(const gridio_variable *v, const gridio_block *b)
{
    int64_t rows = 1;
    for (int d = 0; d < v->dimensions - 1; d++)
        rows *= b->count[d];
    return rows;
}

/* Where the first element of a block's row lies in the whole array. */
static uint64_t place_of(const gridio_variable *v, const gridio_block *b, int64_t row)
{
    const int last = v->dimensions - 1;
    uint64_t index = (uint64_t)b->start[last], scale = (uint64_t)v->size[last];
    for (int d = last - 1; d >= 0; d--) {
        index += scale * (uint64_t)(b->start[d] + row % b->count[d]);
        scale *= (uint64_t)v->size[d];
        row /= b->count[d];
    }
    return index;
}

static uint64_t of_block(const gridio_variable *v, const gridio_block *b, const unsigned char **at)
{
    const size_t element = element_bytes(v->type);
    const int64_t rows = rows_of(v, b), cells = v->dimensions > 0 ? b->count[v->dimensions - 1] : 1;
    uint64_t sum = 0;
    for (int64_t row = 0; row < rows; row++) {
        sum += of_row(element, *at, cells, v->dimensions > 0 ? place_of(v, b, row) : 0);
        *at += (size_t)cells * element;
    }
    return sum;
}

uint64_t fingerprint_of_blocks(const gridio_variable *variable, int blocks, const gridio_block *block, const void *data)
{
    const unsigned char *at = data;
    uint64_t sum = 0;
    for (int b = 0; b < blocks; b++)
        sum += of_block(variable, &block[b], &at);
    return sum;
}
