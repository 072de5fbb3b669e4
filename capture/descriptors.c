/* descriptors.c: the table behind descriptors.h. */
#define _GNU_SOURCE
#include "descriptors.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "process.h"
#include "system.h"
#include "thread.h"

enum { CHUNK = 65536, CHUNKS = 1 << 15 };

uint32_t descriptors_near[DESCRIPTORS_NEAR];
static uint32_t
    *chunks[CHUNKS]; /* beyond the near table, mapped when used; chunk 0 is the near table */

/* --- The table --- */

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

uint32_t descriptor_entry(int descriptor)
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

/* --- What a descriptor is --- */

/* By descriptor: on a file, and otherwise by what is there, which no file system makes faster. */
static const char *const standard[][4] = {
    {"<stdin>", "<stdin: pipe>", "<stdin: socket>", "<stdin: device>"},
    {"<stdout>", "<stdout: pipe>", "<stdout: socket>", "<stdout: device>"},
    {"<stderr>", "<stderr: pipe>", "<stderr: socket>", "<stderr: device>"},
};

static const char *standard_name(int descriptor, const struct stat *status)
{
    const char *const *names = standard[descriptor];
    switch (status->st_mode & S_IFMT) {
    case S_IFIFO: return names[1];
    case S_IFSOCK: return names[2];
    case S_IFCHR: return names[3];
    default: return names[0];
    }
}

static bool is_file(const struct stat *status)
{
    return S_ISREG(status->st_mode) || S_ISBLK(status->st_mode) || S_ISCHR(status->st_mode) ||
           S_ISDIR(status->st_mode);
}

/* The number of a file found open, or DESCRIPTOR_IGNORED; DESCRIPTOR_UNKNOWN where nothing is open.
 */
static uint32_t classify(int descriptor)
{
    struct stat status;
    if (system_fstat(descriptor, &status))
        return DESCRIPTOR_UNKNOWN;
    if (descriptor <= 2)
        return path_number(NO_DIRECTORY, standard_name(descriptor, &status));
    uint32_t file = is_file(&status) ? path_number_found(descriptor, !status.st_nlink) : 0;
    return file ? file : DESCRIPTOR_IGNORED;
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

/* `file`, or the FIFO's number, by which the descriptor is known from now on. */
uint32_t descriptor_of_long_call(int descriptor, uint32_t file)
{
    struct stat status;
    int saved = errno;
    bool known = file && descriptor > 2 && descriptor_entry(descriptor) == file;
    if (known && !system_fstat(descriptor, &status) && S_ISFIFO(status.st_mode)) {
        file = path_number_of_pipe(descriptor, file);
        descriptor_set(descriptor, file);
    }
    errno = saved;
    return file;
}

uint32_t descriptor_opened(int descriptor, int directory, const char *path, int error)
{
    if (!path_is_readable(path, error)) {
        directory = NO_DIRECTORY;
        path = "<no path>";
    }
    if (descriptor < 0)
        return path_number_named(directory, path);
    uint32_t file = path_number(directory, path);
    descriptor_set(descriptor, file);
    return file;
}
