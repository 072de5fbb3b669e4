/* places.c: call paths that were not seen before: unwound, numbered, and written to the stream. */
#include <string.h>
#include <time.h>

#include "bytes.h"
#include "places.h"
#include "process.h"
#include "record.h"
#include "system.h"
#include "text.h"

#ifndef MADV_DONTFORK
#define MADV_DONTFORK 10
#endif

enum {
    /* Unwinding may take so much of the thread's time: a 64th, and 25 ms at first. */
    SHARE_SPENT = 64,
    FREE_NS = 25000000,
    NS_PER_S = 1000000000,
    /* The mappings are read again, as libraries come and go: soon where the loader's list was seen
     * to have changed, and sooner where an address is in none. */
    READ_AGAIN_S = 2,
    CHANGED_PER_S = 10,
    LOST_PER_S = 1000,
    VARINT_MAX = 10,
    STEPS_MAX = 1000, /* of a recursion that counts once */
    WAYS_TRIED = 64,  /* of one hash */
};

/* Of the processor, by this thread: that others wait for it is no cost of unwinding. */
static __attribute__((noinline)) uint64_t spent_ns(void)
{
    struct timespec now = {0};
    system_call(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, (long)&now, 0, 0, 0, 0);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static __attribute__((noinline)) bool may_spend(const struct stream *stream,
                                                const struct places *places)
{
    double passed = (double)(clock_now() - stream->header->start) / (double)clock_ticks_per_s();
    return (double)places->spent_ns < FREE_NS + passed * NS_PER_S / SHARE_SPENT;
}

/* None where they are not looked for: to compare words of the stack, whether or not the program has
 * written them, makes valgrind complain. */
static struct places *places_ready(struct stream *stream)
{
    if (!stream->places && !stream->places_failed && UNWIND_POSSIBLE) {
        if (!runs_under_valgrind())
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
        if (places->path[i].module & PLACE_SCRIPT)
            continue;
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
        at = put_varint(at, frame->module & PLACE_SCRIPT
                                ? frame->module & ~PLACE_SCRIPT
                                : places->unwinder.modules.modules[frame->module].number);
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

static __attribute__((noinline)) uint32_t number_of(struct stream *stream, struct places *places,
                                                    unsigned frames, bool cut)
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

/* False where they were read so short a time ago that they are not read again. `lost`: an address
 * is in none of them. */
static __attribute__((noinline)) bool know_memory(struct places *places, uintptr_t frame, bool lost)
{
    struct modules *modules = &places->unwinder.modules;
    uint64_t now = clock_now(), second = clock_ticks_per_s();
    unsigned changes = atomic_load_explicit(&modules_changes, memory_order_relaxed);
    uint64_t pause = lost                         ? second / LOST_PER_S
                     : changes != places->changes ? second / CHANGED_PER_S
                                                  : second * READ_AGAIN_S;
    modules->walk++;
    if (frame >= modules->stack_low && frame < modules->stack_high && now - places->read_at < pause)
        return false;
    places->changes = changes;
    modules_read(modules, frame);
    places->read_at = now;
    return true;
}

struct walked {
    unsigned frames, slots; /* of the path, where a recursion counts once; return addresses */
    unsigned above_script;  /* frames inside the interpreter's innermost, if there is one */
    unsigned slots_above;   /* likewise, and that one */
    bool cut, script;
    bool lines; /* of the script, in place of the interpreter's frames */
    bool lost;  /* a frame is in no mapping that is known: a library that has just come, code that
                  was made while the program runs, or what lies where a library was closed */
};

static bool is_python(const char *path)
{
    const char *name = text_file_name(path);
    return !strncmp(name, "python", 6) || !strncmp(name, "libpython", 9);
}

static bool holds(const struct module *module, const void *address)
{
    return module->base <= (uintptr_t)address && (uintptr_t)address < module->end;
}

/* This library, and the MPI part, which registered the names of its functions. */
static bool is_own(const struct module *module)
{
    bool own = holds(module, (const void *)&process);
    for (unsigned i = 0; i < process.function_ranges; i++)
        own |= holds(module, process.functions[i].names);
    return own;
}

static void judge(struct module *module)
{
    if (module->judged)
        return;
    module->judged = true;
    module->own = is_own(module);
    module->python = is_python(module->name);
}

/* Notes the frame that the unwinder has come to; false where the path is full. */
static bool note_frame(struct places *places, struct place_slot *slots, struct walked *walked)
{
    struct unwinder *unwinder = &places->unwinder;
    uint64_t address = unwinder->value[16];
    const struct region *region = modules_region(&unwinder->modules, address - 1);
    struct module *module = region ? modules_examined(&unwinder->modules, region->module) : NULL;
    walked->lost |= !region || (region->module && !module);
    if (module)
        judge(module);
    if (module && module->own)
        return true;
    if (module && !walked->script && module->python) {
        walked->script = true;
        walked->above_script = walked->frames;
        walked->slots_above = walked->slots + 1;
    }
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
static __attribute__((noinline)) struct walked walk(struct places *places, uintptr_t frame,
                                                    struct place_slot *slots)
{
    struct unwinder *unwinder = &places->unwinder;
    struct walked walked = {0};
    UNWIND_HERE(unwinder);
    for (unsigned i = 0; i < STEPS_MAX && !walked.cut && unwind_step(unwinder); i++)
        walked.cut = unwinder->slot > frame && !note_frame(places, slots, &walked);
    return walked;
}

/* --- Scripts --- */

/* A function of a script stands where a module does: its file, a zero byte, its name. */
static uint32_t script_number(struct stream *stream, struct places *places)
{
    const struct python_line *line = &places->line;
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < line->bytes; i++)
        hash = (hash ^ (uint8_t)line->text[i]) * 0x100000001b3u;
    hash |= 1;
    struct place_known *known = &places->scripts[hash >> 32 & (PLACE_SCRIPTS - 1)];
    while (known->hash && known->hash != hash)
        known = known + 1 == places->scripts + PLACE_SCRIPTS ? places->scripts : known + 1;
    if (known->hash)
        return known->place;
    uint8_t payload[5] = {0};
    uint32_t number = places->modules + 1;
    memcpy(payload, &number, 4);
    if (places->scripts_count >= PLACE_SCRIPTS / 2 ||
        !encode_record(stream, HEAD_MODULE, payload, sizeof payload, line->text, line->bytes))
        return 0;
    known->hash = hash;
    places->scripts_count++;
    return known->place = places->modules = number;
}

/* The lines of the script take the place of the interpreter's frames. */
static __attribute__((noinline)) void add_script(struct stream *stream, struct places *places,
                                                 struct walked *walked)
{
    const void **frames = places->python_frames;
    if (!walked->script)
        return;
    python_look();
    unsigned count = python_known ? python_frames(frames) : 0;
    unsigned at = walked->above_script;
    for (unsigned i = 0; i < count && at < PLACE_FRAMES_MAX; i++) {
        uint32_t number = python_line(frames[i], &places->line) ? script_number(stream, places) : 0;
        if (number)
            places->path[at++] = (struct place_frame){places->line.line, PLACE_SCRIPT | number};
    }
    if (at > walked->above_script) {
        walked->frames = at;
        walked->cut = count == PYTHON_FRAMES;
        walked->lines = true;
    }
}

/* --- What is kept --- */

static struct place_step *step_from(struct places *places, uintptr_t value)
{
    uint64_t hash = value * 0x9e3779b97f4a7c15u;
    struct place_step *step = &places->steps[hash >> 32 & (PLACE_STEPS - 1)];
    while (step->value && step->value != value)
        step = step + 1 == places->steps + PLACE_STEPS ? places->steps : step + 1;
    return step;
}

/* A function of variable frame shows by two distances: from then on none is certain. */
static void learn_step(struct places *places, uintptr_t value, uintptr_t distance)
{
    struct place_step *step = step_from(places, value);
    if (step->value && step->distance != distance)
        step->distance = 0;
    if (step->value || places->steps_used >= PLACE_STEPS / 2)
        return;
    *step = (struct place_step){value, distance};
    places->steps_used++;
}

/* The way's first step is the wrapper's: from its frame to what it was called from. */
static uintptr_t first_step(unsigned function)
{
    return function + 1;
}

static void learn_steps(struct places *places, const struct place_entry *entry, bool ends)
{
    const struct place_slot *slot = &places->slots[entry->first];
    uintptr_t value = first_step(entry->function), at = entry->frame;
    for (unsigned i = 0; i < entry->count; i++) {
        learn_step(places, value, slot[i].at - at);
        value = slot[i].value;
        at = slot[i].at;
    }
    if (ends && entry->count)
        learn_step(places, value, 0);
}

/* A hash of the return addresses, from one to the next as far as the distances are known. What is
 * found by it is compared: that a distance is another by now costs time only, as all that is read
 * lies in the stack's mapping. */
static __attribute__((noinline)) unsigned way_of(struct places *places, uintptr_t frame,
                                                 unsigned function, uint64_t script)
{
    const struct modules *modules = &places->unwinder.modules;
    uint64_t hash = frame ^ script ^ (uint64_t)function << 48;
    uintptr_t value = first_step(function), at = frame;
    if (frame < modules->stack_low || frame >= modules->stack_high)
        at = modules->stack_high;
    for (unsigned i = 0; i < PLACE_CHECKED; i++) {
        const struct place_step *step = step_from(places, value);
        uintptr_t room = modules->stack_high - at;
        if (!step->value || !step->distance || room < sizeof value ||
            step->distance > room - sizeof value)
            break;
        at += step->distance;
        value = *(const volatile uintptr_t *)at;
        if (value <= FUNCTIONS_MAX) /* no address, but perhaps a first step's */
            break;
        hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    return (unsigned)(hash * 0xc2b2ae3d27d4eb4fu >> 40) & (PLACE_WAYS - 1);
}

static void forget_all(struct places *places)
{
    memset(places->heads, 0, sizeof places->heads);
    memset(places->ways, 0, sizeof places->ways);
    if (places->steps_used >= PLACE_STEPS / 2) {
        memset(places->steps, 0, sizeof places->steps);
        places->steps_used = 0;
    }
    places->entries_used = places->slots_used = 0;
}

/* Where its words were may be no memory any more. */
void places_leave_stack(struct stream *stream)
{
    struct places *places = stream->places;
    if (!places)
        return;
    places->unwinder.modules.stack_low = places->unwinder.modules.stack_high = 0;
    forget_all(places);
}

/* The first of the head's, of which the last goes. */
static void comes_first(uint16_t head[PLACE_RECENT], uint32_t number)
{
    for (unsigned i = PLACE_RECENT - 1; i; i--)
        head[i] = head[i - 1];
    head[0] = (uint16_t)number;
}

/* By whole words from the frame, which is where a struct call is. */
_Static_assert(_Alignof(struct call) % sizeof(uintptr_t) == 0, "no slot would be near");
static void keep_near(struct place_entry *entry, const struct place_slot *slot)
{
    while (entry->near < PLACE_NEAR && entry->near < entry->count) {
        uintptr_t distance = slot[entry->near].at - entry->frame, value = slot[entry->near].value;
        uint64_t words = distance / sizeof value;
        if (distance % sizeof value || words >> (64 - PLACE_VALUE_BITS) ||
            value >> PLACE_VALUE_BITS)
            return;
        entry->slots[entry->near++] = words << PLACE_VALUE_BITS | value;
    }
}

/* The latest entry. Of a script that is told by its frames the interpreter's need not be compared:
 * the way `ends`. */
static void keep(struct places *places, bool ends)
{
    uint16_t number = (uint16_t)places->entries_used;
    struct place_entry *entry = &places->entries[number];
    entry->first = places->slots_used;
    places->slots_used += entry->count;
    keep_near(entry, &places->slots[entry->first]);
    learn_steps(places, entry, ends);
    uint16_t *way = &places->ways[way_of(places, entry->frame, entry->function, entry->script)];
    entry->next = *way;
    *way = number;
    comes_first(places->heads[place_head(entry->frame, entry->function)], number);
}

/* Changes places with the head's first. */
static uint32_t find_recent(const struct places *places, uint16_t head[PLACE_RECENT],
                            uintptr_t frame, unsigned function, uint64_t script)
{
    for (unsigned i = 1; i < PLACE_RECENT; i++) {
        uint16_t number = head[i];
        if (!place_is(places, &places->entries[number], frame, function, script))
            continue;
        head[i] = head[0];
        head[0] = number;
        return number;
    }
    return 0;
}

static uint32_t find_way(struct places *places, uintptr_t frame, unsigned function, uint64_t script)
{
    uint32_t number = places->ways[way_of(places, frame, function, script)];
    for (unsigned i = 0; number && i < WAYS_TRIED; i++) {
        if (place_is(places, &places->entries[number], frame, function, script))
            return number;
        number = places->entries[number].next;
    }
    return 0;
}

static uint32_t find_kept(struct places *places, uintptr_t frame, unsigned function,
                          uint64_t script)
{
    uint16_t *head = places->heads[place_head(frame, function)];
    uint32_t number = find_recent(places, head, frame, function, script);
    if (!number && (number = find_way(places, frame, function, script)))
        comes_first(head, number);
    return number;
}

static uint32_t unwind(struct stream *stream, struct places *places, uintptr_t frame,
                       unsigned function, uint64_t script)
{
    if (places->entries_used + 1 >= PLACE_ENTRIES ||
        places->slots_used + PLACE_CHECKED > PLACE_SLOTS)
        forget_all(places);
    struct place_slot *slots = &places->slots[places->slots_used];
    bool fresh = know_memory(places, frame, false);
    struct walked walked = walk(places, frame, slots);
    if (walked.lost && !fresh && (fresh = know_memory(places, frame, true)))
        walked = walk(places, frame, slots);
    if (walked.lost && !fresh)
        return 0; /* the next call from there will know */
    add_script(stream, places, &walked);
    uint32_t place = walked.frames ? number_of(stream, places, walked.frames, walked.cut) : 0;
    bool ends = script && walked.lines && walked.slots_above < walked.slots;
    unsigned checked = ends ? walked.slots_above : walked.slots;
    /* where it stays: stacks are small */
    places->entries[++places->entries_used] = (struct place_entry){.frame = frame,
                                                                   .script = script,
                                                                   .place = place,
                                                                   .function = (uint16_t)function,
                                                                   .count = (uint8_t)checked};
    keep(places, ends);
    return place;
}

uint32_t places_find(struct stream *stream, uintptr_t frame, unsigned function, uint64_t script)
{
    struct places *places = places_ready(stream);
    if (!places)
        return 0;
    uint32_t kept = find_kept(places, frame, function, script);
    if (kept)
        return places->entries[kept].place;
    if (tailrace_calls_forbidden || !may_spend(stream, places))
        return 0;
    uint64_t begin = spent_ns();
    uint32_t place = unwind(stream, places, frame, function, script);
    uint64_t spent = spent_ns() - begin;
    places->spent_ns += spent;
    cost_spent(stream, spent);
    return place;
}
