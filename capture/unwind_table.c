/* unwind_table.c: the entry of .eh_frame that is about an instruction. */
#include "unwind_table.h"

/* The part with its length in front; an empty one where it does not fit. */
static struct reader part_at(const struct module *module, const uint8_t *at)
{
    struct reader part = {at, module->high, at < module->low || at >= module->high};
    if (part.failed)
        return part;
    uint64_t bytes = fixed(&part, 4);
    if (bytes == 0xffffffff)
        bytes = fixed(&part, 8);
    if (!bytes || bytes > (uint64_t)(part.end - part.at))
        part.failed = true;
    else
        part.end = part.at + bytes;
    return part;
}

static bool augmentation(struct reader *from, const char *letters, struct entry *entry)
{
    if (*letters != 'z')
        return !*letters;
    uint64_t bytes = leb(from, false);
    if (from->failed || bytes > (uint64_t)(from->end - from->at))
        return false;
    struct reader data = {from->at, from->at + bytes, false};
    from->at += bytes;
    entry->has_augmentation = true;
    for (letters++; *letters; letters++) {
        if (*letters == 'R')
            entry->encoding = (uint8_t)fixed(&data, 1);
        else if (*letters == 'L')
            fixed(&data, 1);
        else if (*letters == 'S')
            entry->is_signal = true;
        else if (*letters == 'P') {
            uint8_t encoding = (uint8_t)fixed(&data, 1);
            encoded(&data, encoding & 0x7f & ~0x70);
        } else
            return false;
    }
    return !data.failed;
}

/* What all entries of one compiled unit share. */
static bool read_common(const struct module *module, const uint8_t *at, struct entry *entry)
{
    struct reader from = part_at(module, at);
    if (from.failed || fixed(&from, 4))
        return false;
    uint64_t version = fixed(&from, 1);
    const char *letters = (const char *)from.at;
    while (fixed(&from, 1) && !from.failed) {
    }
    if (from.failed || (version != 1 && version != 3))
        return false;
    entry->code_factor = leb(&from, false);
    entry->data_factor = (int64_t)leb(&from, true);
    entry->return_register = version == 1 ? fixed(&from, 1) : leb(&from, false);
    if (!augmentation(&from, letters, entry))
        return false;
    entry->initial = from;
    return !from.failed && entry->return_register == RETURN_ADDRESS;
}

static __attribute__((noinline)) bool read_entry(const struct module *module, const uint8_t *at,
                                                 struct entry *entry)
{
    struct reader from = part_at(module, at);
    if (from.failed)
        return false;
    const uint8_t *field = from.at;
    uint64_t back = fixed(&from, 4);
    memset(entry, 0, sizeof *entry);
    if (!back || !read_common(module, field - back, entry))
        return false;
    entry->begin = encoded(&from, entry->encoding);
    entry->end = entry->begin + encoded(&from, entry->encoding & 15);
    if (entry->has_augmentation) {
        uint64_t bytes = leb(&from, false);
        if (from.failed || bytes > (uint64_t)(from.end - from.at))
            return false;
        from.at += bytes;
    }
    entry->program = from;
    return !from.failed;
}

/* Where the entry is by the table of pairs (function, entry), sorted, each relative to the table's
 * header; NULL where there is no such table. */
static __attribute__((noinline)) const uint8_t *look_up(const struct module *module,
                                                        uint64_t instruction)
{
    enum { BY_PAIRS = 0x3b, COUNT_32 = 3, PAIR_BYTES = 8 };
    struct reader from = {module->frames, module->high, !module->frames};
    if (from.failed || fixed(&from, 1) != 1)
        return NULL;
    uint8_t encoding = (uint8_t)fixed(&from, 1);
    uint64_t counts = fixed(&from, 1), pairs = fixed(&from, 1);
    encoded(&from, encoding);
    if (from.failed || counts != COUNT_32 || pairs != BY_PAIRS)
        return NULL;
    uint64_t count = fixed(&from, 4), low = 0;
    if (from.failed || !count || count > (uint64_t)(from.end - from.at) / PAIR_BYTES)
        return NULL;
    int64_t wanted = (int64_t)(instruction - (uintptr_t)module->frames);
    int32_t pair[2];
    for (uint64_t high = count; high - low > 1;) {
        uint64_t middle = (low + high) / 2;
        memcpy(pair, from.at + middle * PAIR_BYTES, sizeof pair);
        if (pair[0] <= wanted)
            low = middle;
        else
            high = middle;
    }
    memcpy(pair, from.at + low * PAIR_BYTES, sizeof pair);
    return module->frames + pair[1];
}

bool find_entry(const struct module *module, uint64_t instruction, struct entry *entry)
{
    const uint8_t *at = look_up(module, instruction);
    return at && read_entry(module, at, entry) && entry->begin <= instruction &&
           instruction < entry->end;
}
