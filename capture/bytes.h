/* bytes.h: how numbers stand in a raw stream, and the store that makes a record exist. */
#ifndef TAILRACE_BYTES_H
#define TAILRACE_BYTES_H

#include <stdint.h>
#include <string.h>

enum { HEAD_BYTES = 2 };

/* x86-64 keeps the order of stores; elsewhere the release does. The compiler is bound by both. */
static inline void publish(uint8_t *at, unsigned head, unsigned lengths)
{
    uint16_t value = (uint16_t)(head | lengths << 8);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    memcpy(at, &value, sizeof value);
}

static inline void store(uint8_t *at, uint64_t value)
{
    memcpy(at, &value, sizeof value);
}

static inline unsigned octets_of(uint64_t value)
{
    return (71u - (unsigned)__builtin_clzll(value | 1)) >> 3;
}

static inline uint8_t *put_varint(uint8_t *at, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *at++ = (uint8_t)(value | 0x80);
    *at++ = (uint8_t)value;
    return at;
}

static inline uint8_t *put_words(uint8_t *at, const int64_t *words, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        at = put_varint(at, (uint64_t)words[i] << 1 ^ (uint64_t)(words[i] >> 63));
    return at;
}

static inline uint8_t *put_u16(uint8_t *at, unsigned value)
{
    *at++ = (uint8_t)value;
    *at++ = (uint8_t)(value >> 8);
    return at;
}

/* In decimal, without snprintf and its kilobytes of stack; returns where the text ends. */
static inline char *put_decimal(char *at, unsigned number)
{
    char digits[12], *first = digits + sizeof digits;
    do
        *--first = (char)('0' + number % 10);
    while (number /= 10);
    size_t count = (size_t)(digits + sizeof digits - first);
    memcpy(at, first, count);
    at[count] = 0;
    return at + count;
}

#endif
