/* The fingerprint of an array: the sum, modulo 2^64, over all elements of mix(bits + G (index +
 * 1)), where bits are the element's bytes as an unsigned little-endian number, index is the
 * element's place in the whole array in C order, G = 0x9E3779B97F4A7C15 and mix is the finalizer of
 * splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014, with
 * Stafford's variant 13 of the constants).
 *
 * A sum does not depend on the order of its terms, so every rank adds up its own blocks. One
 * element that is lost, doubled, swapped with a different one, or zero where it should not be,
 * changes it.
 */
#ifndef COMMON_FINGERPRINT_H
#define COMMON_FINGERPRINT_H

#include "gridio.h"

/* This rank's share of the fingerprint: of the blocks, which follow one another in data. */
uint64_t fingerprint_of_blocks(const gridio_variable *variable, int blocks,
                               const gridio_block *block, const void *data);

#endif
