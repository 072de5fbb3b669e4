/* tables.c: a hash table from MPI handles to something of ours. */
#include <stdlib.h>

#include "flavour.h"

enum { SLOT_BITS_FIRST = 8 };

static void lock(struct table *table)
{
    if (mpi_threads)
        while (atomic_flag_test_and_set_explicit(&table->lock, memory_order_acquire))
            ;
}

static void unlock(struct table *table)
{
    if (mpi_threads)
        atomic_flag_clear_explicit(&table->lock, memory_order_release);
}

static uint32_t slot_of(const struct table *table, uint64_t key)
{
    return (uint32_t)(key * 0x9e3779b97f4a7c15u >> (64 - table->slot_bits));
}

static uint32_t mask(const struct table *table)
{
    return ((uint32_t)1 << table->slot_bits) - 1;
}

/* The slot of a key, or the empty one where it would go. The table has slots. */
static uint32_t slot_find(const struct table *table, uint64_t key)
{
    uint32_t slot = slot_of(table, key);
    while (table->slots[slot] && table->entries[table->slots[slot]].key != key)
        slot = (slot + 1) & mask(table);
    return slot;
}

static bool grow_slots(struct table *table)
{
    struct table larger = *table;
    larger.slot_bits = table->slots ? table->slot_bits + 1 : SLOT_BITS_FIRST;
    larger.slots = calloc((size_t)1 << larger.slot_bits, sizeof *larger.slots);
    if (!larger.slots)
        return false;
    for (uint32_t slot = 0; table->slots && slot <= mask(table); slot++)
        if (table->slots[slot])
            larger.slots[slot_find(&larger, table->entries[table->slots[slot]].key)] =
                table->slots[slot];
    free(table->slots);
    *table = larger;
    return true;
}

static bool grow_entries(struct table *table)
{
    uint32_t room = table->entries_room ? 2 * table->entries_room : 128;
    struct entry *entries = realloc(table->entries, room * sizeof *entries);
    if (!entries)
        return false;
    table->entries = entries;
    table->entries_room = room;
    return true;
}

/* Index of a free entry, 0 without memory: entry 0 is never used. */
static uint32_t entry_new(struct table *table)
{
    uint32_t index = table->free;
    if (index) {
        table->free = table->entries[index].next;
        return index;
    }
    if (table->entries_count + 1 >= table->entries_room && !grow_entries(table))
        return 0;
    return ++table->entries_count;
}

static bool has_room(struct table *table)
{
    return table->slots && 2 * (table->used + 1) <= mask(table);
}

static void add(struct table *table, const struct entry *entry)
{
    if (!has_room(table) && !grow_slots(table))
        return;
    uint32_t index = entry_new(table);
    if (!index)
        return;
    uint32_t slot = slot_find(table, entry->key);
    table->used += table->slots[slot] == 0;
    table->entries[index] = *entry;
    table->entries[index].next = table->slots[slot];
    table->slots[slot] = index;
}

/* Empties a slot and moves up what probing would no longer find behind it. */
static void close_gap(struct table *table, uint32_t gap)
{
    table->slots[gap] = 0;
    table->used--;
    for (uint32_t slot = (gap + 1) & mask(table); table->slots[slot];
         slot = (slot + 1) & mask(table)) {
        uint32_t home = slot_of(table, table->entries[table->slots[slot]].key);
        if (((slot - home) & mask(table)) < ((slot - gap) & mask(table)))
            continue;
        table->slots[gap] = table->slots[slot];
        table->slots[slot] = 0;
        gap = slot;
    }
}

static bool find(struct table *table, uint64_t key, struct entry *found, bool take)
{
    if (!table->used)
        return false;
    uint32_t slot = slot_find(table, key), index = table->slots[slot];
    if (!index)
        return false;
    struct entry *entry = &table->entries[index];
    *found = *entry;
    if (!take)
        return true;
    table->slots[slot] = entry->next;
    if (!entry->next)
        close_gap(table, slot);
    entry->next = table->free;
    table->free = index;
    return true;
}

void table_add(struct table *table, const struct entry *entry)
{
    lock(table);
    add(table, entry);
    unlock(table);
}

bool table_find(struct table *table, uint64_t key, struct entry *found)
{
    lock(table);
    bool result = find(table, key, found, false);
    unlock(table);
    return result;
}

bool table_take(struct table *table, uint64_t key, struct entry *found)
{
    lock(table);
    bool result = find(table, key, found, true);
    unlock(table);
    return result;
}

void table_set_flags(struct table *table, uint64_t key, uint32_t flags)
{
    lock(table);
    if (table->used) {
        uint32_t index = table->slots[slot_find(table, key)];
        if (index)
            table->entries[index].flags = flags;
    }
    unlock(table);
}
