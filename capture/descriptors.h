/* descriptors.h: which file a descriptor stands for.
 *
 * An entry is 0 (unknown: asked of the kernel at the first use), 1 (no file: a socket, an anonymous
 * inode) or the number of the file or pipe. Descriptors that capture never saw opened (inherited,
 * received, made by libraries behind its back) are thus found.
 */
#ifndef TAILRACE_DESCRIPTORS_H
#define TAILRACE_DESCRIPTORS_H

#include <stdbool.h>
#include <stdint.h>

#include "visibility.h"

enum { DESCRIPTOR_UNKNOWN = 0, DESCRIPTOR_IGNORED = 1, DESCRIPTORS_NEAR = 65536 };

extern uint32_t descriptors_near[DESCRIPTORS_NEAR];

/* The slow way: descriptors that are unknown or beyond the near table. */
uint32_t descriptor_find(int descriptor);

/* The number of the file, 0 where there is none to record. */
static inline uint32_t descriptor_file(int descriptor)
{
    if (LIKELY((unsigned)descriptor < DESCRIPTORS_NEAR)) {
        uint32_t file = __atomic_load_n(&descriptors_near[descriptor], __ATOMIC_RELAXED);
        if (LIKELY(file > DESCRIPTOR_IGNORED))
            return file;
        if (file == DESCRIPTOR_IGNORED)
            return 0;
    }
    return descriptor_find(descriptor);
}

/* The entry as it is, without asking the kernel. */
uint32_t descriptor_entry_beyond(int descriptor);
static inline uint32_t descriptor_entry(int descriptor)
{
    return LIKELY((unsigned)descriptor < DESCRIPTORS_NEAR)
               ? __atomic_load_n(&descriptors_near[descriptor], __ATOMIC_RELAXED)
               : descriptor_entry_beyond(descriptor);
}

/* What the program does to its descriptors. A vfork child does it to its own, not to ours, though
 * it writes in our memory. */
EACH_CALL void descriptor_set(int descriptor, uint32_t entry);

/* What was found of a descriptor that was unknown. Two threads may ask at once: the first answer
 * stays, and is returned. */
uint32_t descriptor_remember(int descriptor, uint32_t found);

/* The calling thread starts a process that shares its memory. */
enum sharing { SHARING_NOTHING, SHARING_UNTIL_EXEC, SHARING_UNTIL_THE_END };
void descriptors_share(enum sharing how);

/* The new descriptor (where it is one) stands for the same file as the old. */
void descriptor_copy(int from, int to);

/* Entries first … last are unknown again. */
void descriptors_reset(unsigned first, unsigned last);

/* A file was opened: gives it a number, writes its path. Returns the number. Negative descriptors
 * (a failed open, with that error) get the number of a path that is only named. */
EACH_CALL uint32_t descriptor_opened(int descriptor, int directory, const char *path, int error);

/* Asked of the kernel: how much the pipe holds, below 0 where it is none. */
long descriptor_pipe_size(int descriptor);
bool descriptor_is_pipe(int descriptor);

/* What a call on `file` that took so many ticks tells: a FIFO makes wait, for as long as whoever is
 * at its other end likes. To ask at each open would cost more than most opens are worth. Returns
 * `file`, or the FIFO's number, by which the descriptor is known from now on. */
enum { DESCRIPTOR_LONG_TICKS = 1 << 16 };
FEW_CALLS uint32_t descriptor_of_long_call(int descriptor, uint32_t file);

#endif
