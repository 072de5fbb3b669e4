/* ring.h: what the program asks of the kernel through io_uring. Private to the core. */
#ifndef TAILRACE_RING_H
#define TAILRACE_RING_H

#include <stdint.h>
#include <sys/syscall.h>

#ifndef SYS_io_uring_setup
#define SYS_io_uring_setup 425
#endif
#ifndef SYS_io_uring_enter
#define SYS_io_uring_enter 426
#endif

enum {
    RING_REQUESTS = 0x10000000, /* of a ring's descriptor: the offset of the requests */
    RING_BY_NUMBER = 1 << 4,    /* a flag of the call: the ring is named by no descriptor */
};

/* The system call that made a ring has returned its descriptor. */
void ring_made(int descriptor, const void *parameters);

/* The requests of a ring are mapped there, if the descriptor is one's. */
void ring_mapped(int descriptor, const void *requests);

/* So many requests are about to be given to the kernel. */
void ring_entered(int descriptor, unsigned count);

#endif
