/* ring.c: whether the program moves bytes of files through io_uring, of which no call tells.
 *
 * Event loops make a ring for what moves none (libuv, and so Node and uvloop: what their epoll is to
 * watch). Where requests go through the system call, they are looked at before the kernel takes them;
 * where they need none, because a thread of the kernel fetches them, or lie where nobody knows, the
 * ring alone is noted. So it is until the first request that may be about a file.
 */
#include "ring.h"

#include <stdbool.h>

#include "process.h"
#include "system.h"

enum {
    RINGS = 8,
    REQUEST_BYTES = 64,
    ENTRIES_MAX = 1 << 10, /* all are looked at in each call: a larger ring is noted itself */
    LARGE_REQUESTS = 1 << 10,
    /* How large the ring is and who may use it: none of these changes where requests lie or how they
     * reach the kernel. */
    PLAIN_FLAGS = 0x3ff8 | 1 << 16,
};

/* As the kernel's struct io_uring_params begins. */
struct parameters {
    uint32_t entries, completions, flags;
};

/* The kernel's numbers of requests that are about no file: polling, timeouts, sockets, other
 * requests, other processes. */
static const uint64_t of_no_file = 1ull << 0 | 1ull << 6 | 1ull << 7 | 1ull << 9 | 1ull << 10 |
                                   1ull << 11 | 1ull << 12 | 1ull << 13 | 1ull << 14 | 1ull << 15 |
                                   1ull << 16 | 1ull << 26 | 1ull << 27 | 1ull << 29 | 1ull << 31 |
                                   1ull << 32 | 1ull << 34 | 1ull << 40 | 1ull << 45 | 1ull << 47 |
                                   1ull << 48 | 1ull << 50 | 1ull << 51 | 1ull << 52 | 1ull << 53;

/* Written without a lock: two threads that make rings at once lose one, which then is noted. */
static struct ring {
    int descriptor;
    uint32_t entries, stride;
    const uint8_t *requests; /* NULL: not seen */
} rings[RINGS];
static unsigned made;
static bool noted;

static void note(void)
{
    noted = true;
    tailrace_note("io_uring", "");
}

static struct ring *ring_of(int descriptor)
{
    for (unsigned i = 0; i < RINGS; i++)
        if (rings[i].entries && rings[i].descriptor == descriptor)
            return &rings[i];
    return NULL;
}

void ring_made(int descriptor, const void *parameters)
{
    const struct parameters *given = parameters;
    struct ring *ring = ring_of(descriptor);
    noted = false; /* the process may be another one's child */
    if (given->flags & ~(uint32_t)PLAIN_FLAGS || !given->entries || given->entries > ENTRIES_MAX) {
        note();
        return;
    }
    if (!ring)
        ring = &rings[made++ % RINGS];
    uint32_t stride = given->flags & LARGE_REQUESTS ? 2 * REQUEST_BYTES : REQUEST_BYTES;
    *ring = (struct ring){descriptor, given->entries, stride, NULL};
}

void ring_mapped(int descriptor, const void *requests)
{
    struct ring *ring = ring_of(descriptor);
    if (ring)
        ring->requests = requests;
}

/* All that lie there: earlier ones are no others than those that were looked at before. */
static bool is_about_files(const struct ring *ring)
{
    for (uint32_t i = 0; i < ring->entries; i++) {
        uint8_t number = ring->requests[(size_t)i * ring->stride];
        if (number > 63 || !(of_no_file >> number & 1))
            return true;
    }
    return false;
}

/* A child need not have what its parent had mapped. */
void ring_entered(int descriptor, unsigned count)
{
    if (!count || noted)
        return;
    const struct ring *ring = ring_of(descriptor);
    if (!ring || !ring->requests || !system_can_read(ring->requests) || is_about_files(ring))
        note();
}
