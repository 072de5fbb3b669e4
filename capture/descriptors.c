/* descriptors.c: the table behind descriptors.h. */
#define _GNU_SOURCE
#include "descriptors.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "process.h"
#include "system.h"
#include "thread.h"

enum { CHUNK = 65536, CHUNKS = 1 << 15 };

uint32_t descriptors_near[DESCRIPTORS_NEAR];
static uint32_t *chunks[CHUNKS]; /* beyond the near table, mapped when used; chunk 0 is the near table */

/* --- The table ----------------------------------------------------------------------------------------------- */

static uint32_t *map_chunk(unsigned number)
{
    uint32_t *expected = NULL, *fresh = system_map_memory(CHUNK * sizeof *fresh);
    if (!fresh)
        return NULL;
    if (__atomic_compare_exchange_n(&chunks[number], &expected, fresh, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
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

uint32_t descriptor_entry(int descriptor)
{
    uint32_t *entry = descriptor < 0 ? NULL : existing((unsigned)descriptor);
    return entry ? __atomic_load_n(entry, __ATOMIC_RELAXED) : DESCRIPTOR_UNKNOWN;
}

static bool in_vfork_child(void)
{
    return system_process() != process.id;
}

void descriptor_set(int descriptor, uint32_t value)
{
    if (descriptor < 0 || in_vfork_child())
        return;
    uint32_t *entry = value == DESCRIPTOR_UNKNOWN ? existing((unsigned)descriptor) : place((unsigned)descriptor);
    if (entry)
        __atomic_store_n(entry, value, __ATOMIC_RELAXED);
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

/* --- What a descriptor is ------------------------------------------------------------------------------------ */

static const char *const standard[] = {"<stdin>", "<stdout>", "<stderr>"};

/* The kernel appends this to the names of files that have none any more. */
static void strip_deleted(char *path)
{
    static const char suffix[] = " (deleted)";
    size_t length = strlen(path), tail = sizeof suffix - 1;
    if (length > tail && !strcmp(path + length - tail, suffix))
        path[length - tail] = 0;
}

static bool path_of(int descriptor, char *path, size_t bytes)
{
    char link[40];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = system_readlink(link, path, bytes - 1);
    if (length <= 0 || path[0] != '/')
        return false;
    path[length] = 0;
    return strncmp(path, "/memfd:", 7) != 0;
}

static bool is_file(const struct stat *status)
{
    return S_ISREG(status->st_mode) || S_ISBLK(status->st_mode) || S_ISCHR(status->st_mode) || S_ISDIR(status->st_mode);
}

/* The number of a file found open, or DESCRIPTOR_IGNORED; DESCRIPTOR_UNKNOWN where nothing is open. */
static uint32_t classify(int descriptor)
{
    struct stat status;
    char path[PATH_BYTES];
    if (system_fstat(descriptor, &status))
        return DESCRIPTOR_UNKNOWN;
    if (descriptor <= 2)
        return path_number(standard[descriptor]);
    if (!is_file(&status) || !path_of(descriptor, path, sizeof path))
        return DESCRIPTOR_IGNORED;
    if (!status.st_nlink)
        strip_deleted(path);
    return path_number(path);
}

/* Two threads may ask at once: the first answer stays. */
static uint32_t remember(uint32_t *entry, uint32_t found)
{
    uint32_t known = DESCRIPTOR_UNKNOWN;
    __atomic_compare_exchange_n(entry, &known, found, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return known ? known : found;
}

uint32_t descriptor_find(int descriptor)
{
    uint32_t *entry = descriptor < 0 ? NULL : place((unsigned)descriptor);
    if (!entry)
        return 0;
    uint32_t file = __atomic_load_n(entry, __ATOMIC_RELAXED);
    if (file == DESCRIPTOR_UNKNOWN) {
        uint32_t found = classify(descriptor);
        file = found && !in_vfork_child() ? remember(entry, found) : found;
    }
    return file == DESCRIPTOR_IGNORED ? 0 : file;
}

uint32_t descriptor_opened(int descriptor, int directory, const char *path)
{
    char absolute[PATH_BYTES];
    path_absolute(absolute, sizeof absolute, path ? directory : NO_DIRECTORY, path ? path : "<no path>");
    if (descriptor < 0)
        return path_number_named(absolute);
    uint32_t file = path_number(absolute);
    descriptor_set(descriptor, file);
    return file;
}
