/* places.c: call paths that were not seen before: unwound, numbered, and written to the stream. */
#include <string.h>

#include "bytes.h"
#include "places.h"
#include "process.h"
#include "record.h"
#include "system.h"

#ifndef MADV_DONTFORK
#define MADV_DONTFORK 10
#endif

enum {
    /* Unwinding may take so much of the thread's time: a 64th, and 20 ms at first. */
    SHARE_SPENT = 64,
    FREE_PER_S = 50,
    READ_AGAIN_PER_S = 10, /* the mappings: libraries come and go */
    VARINT_MAX = 10,
    STEPS_MAX = 1000, /* of a recursion that counts once */
};

static bool may_spend(const struct stream *stream, const struct places *places, uint64_t now)
{
    uint64_t passed = now - stream->header->start;
    return places->spent < clock_ticks_per_s() / FREE_PER_S + passed / SHARE_SPENT;
}

static struct places *places_ready(struct stream *stream)
{
    if (!stream->places && !stream->places_failed && UNWIND_POSSIBLE) {
        stream->places = system_map_memory(sizeof *stream->places);
        stream->places_bytes = sizeof *stream->places;
        if (stream->places)
            system_advise(stream->places, stream->places_bytes, MADV_DONTFORK);
        else
            stream->places_failed = true;
    }
    return stream->places;
}

/* --- What is written --- */

static bool write_module(struct stream *stream, struct places *places, struct module *module)
{
    uint8_t payload[5 + BUILD_ID_MAX];
    uint32_t number = places->modules + 1;
    memcpy(payload, &number, 4);
    payload[4] = module->build_id_bytes;
    memcpy(payload + 5, module->build_id, module->build_id_bytes);
    if (!encode_record(stream, HEAD_MODULE, payload, 5u + module->build_id_bytes, module->name,
                       strlen(module->name)))
        return false;
    module->number = places->modules = number;
    return true;
}

static bool write_modules(struct stream *stream, struct places *places, unsigned frames)
{
    for (unsigned i = 0; i < frames; i++) {
        struct module *module = &places->unwinder.modules.modules[places->path[i].module];
        if (places->path[i].module && !module->number && !write_module(stream, places, module))
            return false;
    }
    return true;
}

static bool write_place(struct stream *stream, struct places *places, unsigned frames, bool cut)
{
    if (!write_modules(stream, places, frames))
        return false;
    uint8_t *at = encode_begin(stream, 5 + (size_t)frames * 2 * VARINT_MAX);
    if (!at)
        return false;
    uint32_t number = ++places->count;
    memcpy(at, &number, 4);
    at[4] = cut;
    at += 5;
    for (unsigned i = 0; i < frames; i++) {
        const struct place_frame *frame = &places->path[i];
        at = put_varint(at, places->unwinder.modules.modules[frame->module].number);
        at = put_varint(at, frame->address);
    }
    encode_publish(stream, HEAD_PLACE, at);
    return true;
}

/* --- The same path gets the same number, however its frames lie --- */

static uint64_t hash_of(const struct places *places, unsigned frames)
{
    uint64_t hash = frames;
    for (unsigned i = 0; i < frames; i++) {
        hash = (hash ^ places->path[i].address) * 0x9e3779b97f4a7c15u;
        hash = (hash ^ hash >> 29 ^ places->path[i].module) * 0xc2b2ae3d27d4eb4fu;
    }
    return hash | 1;
}

static uint32_t number_of(struct stream *stream, struct places *places, unsigned frames, bool cut)
{
    uint64_t hash = hash_of(places, frames);
    unsigned slots = sizeof places->known / sizeof *places->known;
    struct place_known *known = &places->known[hash >> 32 & (slots - 1)];
    while (known->hash && known->hash != hash)
        known = known + 1 == places->known + slots ? places->known : known + 1;
    if (known->hash)
        return known->place;
    if (places->count >= PLACES_MAX || !write_place(stream, places, frames, cut))
        return 0;
    known->place = places->count;
    known->hash = hash;
    return known->place;
}

/* --- The way up --- */

static void know_memory(struct places *places, uintptr_t frame)
{
    struct modules *modules = &places->unwinder.modules;
    uint64_t now = clock_now();
    if (frame >= modules->stack_low && frame < modules->stack_high &&
        now - places->read_at < clock_ticks_per_s() / READ_AGAIN_PER_S)
        return;
    modules_read(modules, frame);
    places->read_at = now;
}

struct walked {
    unsigned frames, slots; /* of the path, where a recursion counts once; return addresses */
    bool cut;
};

/* Notes the frame that the unwinder has come to; false where the path is full. */
static bool note_frame(struct places *places, struct place_slot *slots, struct walked *walked)
{
    struct unwinder *unwinder = &places->unwinder;
    uint64_t address = unwinder->value[16];
    const struct region *region = modules_region(&unwinder->modules, address - 1);
    struct module *module = region ? modules_examined(&unwinder->modules, region->module) : NULL;
    if (module && module->own)
        return true;
    if (walked->slots < PLACE_CHECKED)
        slots[walked->slots++] = (struct place_slot){unwinder->slot, (uintptr_t)address};
    uint32_t number = module ? region->module : 0;
    struct place_frame frame = {number ? address - module->bias : address, number};
    struct place_frame *last = &places->path[walked->frames];
    if (walked->frames && last[-1].address == frame.address && last[-1].module == number)
        return true;
    if (walked->frames == PLACE_FRAMES_MAX)
        return false;
    *last = frame;
    walked->frames++;
    return true;
}

/* The frames above `frame`, from the innermost. */
static struct walked walk(struct places *places, uintptr_t frame, struct place_slot *slots)
{
    struct unwinder *unwinder = &places->unwinder;
    struct walked walked = {0};
    UNWIND_HERE(unwinder);
    for (unsigned i = 0; i < STEPS_MAX && !walked.cut && unwind_step(unwinder); i++)
        walked.cut = unwinder->slot > frame && !note_frame(places, slots, &walked);
    return walked;
}

/* --- What is kept --- */

static void forget_all(struct places *places)
{
    memset(places->heads, 0, sizeof places->heads);
    places->entries_used = places->slots_used = 0;
}

static void keep(struct places *places, uintptr_t frame, unsigned function, uint32_t place,
                 unsigned count)
{
    struct place_entry *entry = &places->entries[++places->entries_used];
    uint16_t *head = &places->heads[place_head(frame, function)];
    *entry = (struct place_entry){
        frame, place, (uint16_t)function, (uint16_t)count, places->slots_used, *head};
    places->slots_used += count;
    *head = (uint16_t)places->entries_used;
}

/* An entry behind the head's first comes to the front. */
static uint32_t find_kept(struct places *places, uintptr_t frame, unsigned function)
{
    uint16_t *head = &places->heads[place_head(frame, function)];
    for (uint16_t *link = head; *link; link = &places->entries[*link].next) {
        struct place_entry *entry = &places->entries[*link];
        if (entry->frame != frame || entry->function != function || !place_holds(places, entry))
            continue;
        uint16_t found = *link;
        *link = entry->next;
        entry->next = *head;
        *head = found;
        return found;
    }
    return 0;
}

static uint32_t unwind(struct stream *stream, struct places *places, uintptr_t frame,
                       unsigned function)
{
    if (places->entries_used + 1 >= PLACE_ENTRIES ||
        places->slots_used + PLACE_CHECKED > PLACE_SLOTS)
        forget_all(places);
    know_memory(places, frame);
    struct walked walked = walk(places, frame, &places->slots[places->slots_used]);
    uint32_t place = walked.frames ? number_of(stream, places, walked.frames, walked.cut) : 0;
    keep(places, frame, function, place, walked.slots);
    return place;
}

uint32_t places_find(struct stream *stream, uintptr_t frame, unsigned function)
{
    struct places *places = places_ready(stream);
    if (!places)
        return 0;
    uint32_t kept = find_kept(places, frame, function);
    if (kept)
        return places->entries[kept].place;
    uint64_t begin = clock_now();
    if (tailrace_calls_forbidden || !may_spend(stream, places, begin))
        return 0;
    uint32_t place = unwind(stream, places, frame, function);
    places->spent += clock_now() - begin;
    return place;
}
