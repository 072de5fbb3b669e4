/* hash.h: identities that all ranks compute alike, each for itself. */
#ifndef TAILRACE_HASH_H
#define TAILRACE_HASH_H

#include <stdint.h>

/* MurmurHash3's finalizer; the sum before it has no fixed point at small numbers, which sizes and
 * ranks are. */
static inline uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = hash * 0x9e3779b97f4a7c15u + value + 0x632be59bd9b4e019u;
    hash = (hash ^ hash >> 33) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
    hash *= 0xc4ceb9fe1a85ec53u;
    return hash ^ hash >> 29;
}

static inline uint64_t salt_of_string(const char *text)
{
    uint64_t hash = 1;
    while (text && *text)
        hash = mix(hash, (unsigned char)*text++);
    return hash;
}

#endif
