/* unwind_table.h: .eh_frame, the tables that say how to find a function's caller. Private to the
 * core. */
#ifndef TAILRACE_UNWIND_TABLE_H
#define TAILRACE_UNWIND_TABLE_H

#include <string.h>

#include "modules.h"

/* --- Bytes of the tables --- */

struct reader {
    const uint8_t *at, *end;
    bool failed;
};

static inline uint64_t fixed(struct reader *from, unsigned bytes)
{
    uint64_t value = 0;
    if ((size_t)(from->end - from->at) < bytes) {
        from->failed = true;
        return 0;
    }
    memcpy(&value, from->at, bytes);
    from->at += bytes;
    return value;
}

static inline int64_t fixed_signed(struct reader *from, unsigned bytes)
{
    uint64_t value = fixed(from, bytes);
    unsigned unused = 64 - 8 * bytes;
    return (int64_t)(value << unused) >> unused;
}

static inline uint64_t leb(struct reader *from, bool is_signed)
{
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;
    do {
        byte = (uint8_t)fixed(from, 1);
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80 && !from->failed);
    if (is_signed && byte & 0x40 && shift < 64)
        value |= ~(uint64_t)0 << shift;
    return value;
}

/* DW_EH_PE: the low four bits say how long, the next three relative to what. */
static inline uint64_t encoded(struct reader *from, uint8_t encoding)
{
    uint64_t here = (uintptr_t)from->at, value;
    switch (encoding & 15) {
    case 0:
    case 4: value = fixed(from, 8); break;
    case 1: value = leb(from, false); break;
    case 2: value = fixed(from, 2); break;
    case 3: value = fixed(from, 4); break;
    case 9: value = leb(from, true); break;
    case 10: value = (uint64_t)fixed_signed(from, 2); break;
    case 11: value = (uint64_t)fixed_signed(from, 4); break;
    case 12: value = fixed(from, 8); break;
    default: from->failed = true; return 0;
    }
    if ((encoding & 0x70) == 0x10)
        value += here;
    else if (encoding & 0x70)
        from->failed = true;
    return value;
}

/* --- Which entry is about an instruction --- */

struct entry {
    struct reader initial, program;
    uint64_t begin, end, code_factor;
    int64_t data_factor;
    uint64_t return_register;
    uint8_t encoding;
    bool has_augmentation, is_signal;
};

enum { RETURN_ADDRESS = 16 }; /* its column on x86-64 */

bool find_entry(const struct module *module, uint64_t instruction, struct entry *entry);

#endif
