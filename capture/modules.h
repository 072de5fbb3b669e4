/* modules.h: which file the code at an address comes from. Private to the core.
 *
 * The kernel is asked: the loader's own list needs the loader's lock, and another thread may hold
 * that while it waits for this one. Linux 6.11 and newer tell of one address at a time, in a
 * microsecond; before, all of /proc/self/maps is read, which takes half a millisecond in a program
 * with the libraries of an MPI.
 */
#ifndef TAILRACE_MODULES_H
#define TAILRACE_MODULES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    MODULES_MAX = 512,
    REGIONS_MAX = 1024,
    MODULE_NAMES_BYTES = 1 << 16,
    BUILD_ID_MAX = 32,
    MAPS_BUFFER = 4096,
    MAPS_LINE = 640, /* a longer path is cut */
};

struct module {
    uintptr_t base; /* where offset 0 of the file is mapped */
    uintptr_t end;  /* of its segments */
    uintptr_t bias; /* what is added to the file's own addresses */
    uint64_t device, inode;
    uint64_t headers; /* a hash of its file's, once it is examined */
    const char *name;
    const uint8_t *frames;     /* .eh_frame_hdr, NULL where there is none */
    const uint8_t *low, *high; /* the segment that holds it and .eh_frame */
    uint32_t number;           /* in the stream, 0 until it was written there */
    uint32_t walk;             /* the last one in which its pages were there */
    bool examined, judged;
    bool own, python; /* once it is judged: a part of capture; an interpreter */
    bool stays;       /* never unmapped */
    uint8_t build_id_bytes, build_id[BUILD_ID_MAX];
};

/* Executable memory; module 0: of no file (a compiler at run time made it). */
struct region {
    uintptr_t low, high;
    uint32_t module;
};

struct mapping {
    uintptr_t low, high;
    uint64_t offset, device, inode;
    bool readable, executable;
    const char *name;
};

/* The kernel's struct procmap_query. */
struct query {
    uint64_t bytes, how, address, low, high, flags, page_bytes, offset, inode;
    uint32_t major, minor, name_bytes, build_id_bytes;
    uint64_t name, build_id;
};

enum asking { ASKING_UNTRIED, ASKING_EACH, ASKING_ALL };

struct modules {
    enum asking asking; /* how the kernel tells */
    uint32_t count, regions_count;
    uint32_t walk;     /* counts the walks up a stack */
    uint64_t contents; /* differs where other files are mapped elsewhere */
    size_t names_used;
    uintptr_t stack_low, stack_high;
    struct module modules[MODULES_MAX]; /* the first is none */
    struct region regions[REGIONS_MAX]; /* in order */
    char names[MODULE_NAMES_BYTES];
    /* What would take too much of the program's stack. */
    char buffer[MAPS_BUFFER], line[MAPS_LINE];
    struct query query;
    struct mapping asked, first;
};

/* When the program starts: what is loaded now stays. */
void modules_started_with(void);

/* How often the loader's list was seen to have changed. */
extern atomic_uint modules_changes;

/* Learns anew what the process has mapped, and which mapping is the stack that holds `address`. */
void modules_read(struct modules *modules, uintptr_t address);

/* The region of this code, NULL where there is none. */
const struct region *modules_region(struct modules *modules, uintptr_t address);

/* The module with what stands in its headers; NULL where the file is no longer mapped there. */
struct module *modules_examined(struct modules *modules, uint32_t number);

#endif
