/* descriptors.c: the table behind descriptors.h. */
#define _GNU_SOURCE
#include "descriptors.h"

#include <stdbool.h>
#include <string.h>

#include "process.h"
#include "system.h"
#include "thread.h"

enum { CHUNK = 65536, CHUNKS = 1 << 15 };

uint32_t descriptors_near[DESCRIPTORS_NEAR];
static uint32_t
    *chunks[CHUNKS]; /* beyond the near table, mapped when used; chunk 0 is the near table */

static uint32_t *map_chunk(unsigned number)
{
    uint32_t *expected = NULL, *fresh = system_map_memory(CHUNK * sizeof *fresh);
    if (!fresh)
        return NULL;
    if (__atomic_compare_exchange_n(&chunks[number], &expected, fresh, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE))
        return fresh;
    system_unmap(fresh, CHUNK * sizeof *fresh);
    return expected;
}

static uint32_t *existing(unsigned descriptor)
{
    if (descriptor < DESCRIPTORS_NEAR)
        return &descriptors_near[descriptor];
    uint32_t *chunk = __atomic_load_n(&chunks[descriptor / CHUNK], __ATOMIC_ACQUIRE);
    return chunk ? &chunk[descriptor % CHUNK] : NULL;
}

static uint32_t *place(unsigned descriptor)
{
    uint32_t *entry = existing(descriptor);
    if (entry)
        return entry;
    uint32_t *chunk = map_chunk(descriptor / CHUNK);
    return chunk ? &chunk[descriptor % CHUNK] : NULL;
}

uint32_t descriptor_entry_beyond(int descriptor)
{
    uint32_t *entry = descriptor < 0 ? NULL : existing((unsigned)descriptor);
    return entry ? __atomic_load_n(entry, __ATOMIC_RELAXED) : DESCRIPTOR_UNKNOWN;
}

/* A child that shares its parent's memory runs with its parent's thread-local variables: what the
 * parent noted there before it made the child tells that there may be one. Where capture does not
 * see them made, the kernel is asked each time. */
#if defined(__x86_64__)
static __thread enum sharing sharing __attribute__((tls_model("initial-exec")));
#else
static __thread enum sharing sharing __attribute__((tls_model("initial-exec"))) =
    SHARING_UNTIL_THE_END;
#endif

void descriptors_share(enum sharing how)
{
    if (how > sharing)
        sharing = how;
}

/* A parent that runs again has no vfork child any more. */
static bool in_vfork_child(void)
{
    if (LIKELY(!sharing) || tailrace_calls_forbidden)
        return false;
    if (system_process() != process.id)
        return true;
    if (sharing == SHARING_UNTIL_EXEC)
        sharing = SHARING_NOTHING;
    return false;
}

void descriptor_set(int descriptor, uint32_t value)
{
    if (descriptor < 0 || in_vfork_child())
        return;
    uint32_t *entry =
        value == DESCRIPTOR_UNKNOWN ? existing((unsigned)descriptor) : place((unsigned)descriptor);
    if (entry)
        __atomic_store_n(entry, value, __ATOMIC_RELAXED);
}

uint32_t descriptor_remember(int descriptor, uint32_t found)
{
    uint32_t *entry = found && !in_vfork_child() ? place((unsigned)descriptor) : NULL;
    uint32_t known = DESCRIPTOR_UNKNOWN;
    if (entry)
        __atomic_compare_exchange_n(entry, &known, found, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED);
    return known ? known : found;
}

void descriptor_copy(int from, int to)
{
    if (to >= 0 && from != to)
        descriptor_set(to, descriptor_entry(from));
}

void descriptors_reset(unsigned first, unsigned last)
{
    if (in_vfork_child())
        return;
    last = last >= (unsigned)CHUNK * CHUNKS ? (unsigned)CHUNK * CHUNKS - 1 : last;
    for (uint64_t at = first; at <= last;) {
        uint32_t *entry = existing((unsigned)at);
        uint64_t next = (at / CHUNK + 1) * CHUNK;
        uint64_t end = next <= last ? next : (uint64_t)last + 1;
        if (entry)
            memset(entry, 0, (end - at) * sizeof *entry);
        at = end;
    }
}

void descriptors_forget(void)
{
    if (tailrace_recording)
        descriptors_reset(0, UINT32_MAX);
}
