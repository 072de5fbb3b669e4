/* places.h: from where in the program a call comes, as a number (a call path). Private to the core.
 *
 * The first time, the stack is unwound, which takes microseconds. What is kept of it are the
 * stack's words that hold the return addresses: as long as these words are what they were, the next
 * call of the same function with the same stack pointer comes the same way.
 */
#ifndef TAILRACE_PLACES_H
#define TAILRACE_PLACES_H

#include "python.h"
#include "stream.h"
#include "unwind.h"

enum {
    PLACES_MAX = 1 << 14,  /* of one stream */
    PLACE_FRAMES_MAX = 64, /* recorded of one path; a function that calls itself counts once */
    PLACE_CHECKED = 24,    /* compared at each call, from the innermost */
    PLACE_HEADS = 1024,
    PLACE_RECENT = 8, /* of a head */
    PLACE_ENTRIES = 1 << 14,
    PLACE_SLOTS = 1 << 18, /* 16 for each entry: memory that few paths need is never touched */
    PLACE_WAYS = 1 << 14,
    PLACE_STEPS = 1 << 13,
    PLACE_SCRIPTS = 1 << 12, /* functions of scripts */
    PLACE_NEAR = 4,          /* slots that an entry holds itself */
    PLACE_VALUE_BITS = 48,
};

/* A return address on the stack. */
struct place_slot {
    uintptr_t at, value;
};

/* A call compares one cache line, as a rule: the innermost slots are in it, too, as long as they fit
 * into eight bytes, of which the lower hold the value and the upper how many words above the frame
 * it stands. */
struct __attribute__((aligned(64))) place_entry {
    uintptr_t frame; /* of the wrapper */
    uint64_t script; /* python_hash() */
    uint32_t place;
    uint32_t first; /* of its slots */
    uint16_t function;
    uint16_t next; /* of the same hash of its way; 0 where none */
    uint8_t count, near;
    uint64_t slots[PLACE_NEAR];
};
_Static_assert(sizeof(struct place_entry) == 64, "one cache line");

/* How far above a return address on the stack the next one stands; 0 where that is not certain. */
struct place_step {
    uintptr_t value;
    uintptr_t distance;
};

struct place_known {
    uint64_t hash;
    uint32_t place;
};

struct place_frame {
    uint64_t address; /* in the module's file, or in memory where there is no module */
    uint32_t module;  /* in the list of modules; of a script PLACE_SCRIPT and its number */
};

#define PLACE_SCRIPT (1u << 31)

struct places {
    uint16_t heads[PLACE_HEADS][PLACE_RECENT]; /* the latest entries of a frame; 0: none */
    uint16_t ways[PLACE_WAYS];                 /* all entries, by the return addresses */
    struct place_step steps[PLACE_STEPS];
    struct place_entry entries[PLACE_ENTRIES];
    struct place_slot slots[PLACE_SLOTS];
    uint32_t entries_used, slots_used, steps_used;
    uint32_t count, modules; /* numbers given */
    uint64_t spent_ns;       /* in unwinding */
    uint64_t read_at;        /* ticks at which the mappings were last read */
    unsigned changes;        /* modules_changes then */
    struct place_known known[2 * PLACES_MAX];
    struct place_known scripts[PLACE_SCRIPTS];
    uint32_t scripts_count;
    struct python_line line;
    const void *python_frames[PYTHON_FRAMES];
    struct place_frame path[PLACE_FRAMES_MAX];
    struct unwinder unwinder;
};

static inline unsigned place_head(uintptr_t frame, unsigned function)
{
    uint64_t key = ((uint64_t)frame >> 3) + ((uint64_t)function << 40);
    return (unsigned)(key * 0x9e3779b97f4a7c15u >> 54);
}

/* The wrapper has not returned. */
static inline __attribute__((always_inline)) bool place_is(const struct places *places,
                                                           const struct place_entry *entry,
                                                           uintptr_t frame, unsigned function,
                                                           uint64_t script)
{
    if (UNLIKELY(entry->frame != frame || entry->function != function || entry->script != script))
        return false;
    for (unsigned i = 0; i < entry->near; i++) {
        uint64_t slot = entry->slots[i];
        uintptr_t at = frame + (slot >> PLACE_VALUE_BITS) * sizeof(uintptr_t);
        if (*(const volatile uintptr_t *)at != (slot & ((1ull << PLACE_VALUE_BITS) - 1)))
            return false;
    }
    const struct place_slot *slot = &places->slots[entry->first];
    for (unsigned i = entry->near; i < entry->count; i++)
        if (*(const volatile uintptr_t *)slot[i].at != slot[i].value)
            return false;
    return true;
}

/* The slow way: another entry, or the stack is unwound. */
/* Of a stream that another thread goes on with, whose stack lies elsewhere. */
void places_leave_stack(struct stream *stream);

uint32_t places_find(struct stream *stream, uintptr_t frame, unsigned function, uint64_t script);

/* The number of the path by which the wrapper with this frame was called, its definition written; 0
 * where it is not known. The wrapper has not returned, and the caller has set the stream busy. */
static inline __attribute__((always_inline)) uint32_t place_of(struct stream *stream,
                                                               uintptr_t frame, unsigned function)
{
    const struct places *places = stream->places;
    uint64_t script = UNLIKELY(python_known) ? python_hash() : 0;
    if (LIKELY(places != NULL)) {
        const struct place_entry *entry =
            &places->entries[places->heads[place_head(frame, function)][0]];
        if (LIKELY(place_is(places, entry, frame, function, script)))
            return entry->place;
    }
    return places_find(stream, frame, function, script);
}

#endif
