/* modules.h: which file the code at an address comes from. Private to the core.
 *
 * Read from /proc/self/maps: the loader's own list needs the loader's lock, and another thread may
 * hold that while it waits for this one.
 */
#ifndef TAILRACE_MODULES_H
#define TAILRACE_MODULES_H

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
    const char *name;
    const uint8_t *frames;      /* .eh_frame_hdr, NULL where there is none */
    const uint8_t *low, *high;  /* the segment that holds it and .eh_frame */
    uint32_t number;            /* in the stream, 0 until it was written there */
    uint32_t walk;              /* the last one in which its pages were there */
    bool examined, judged, own; /* own: a part of capture */
    bool stays;                 /* never unmapped */
    uint8_t build_id_bytes, build_id[BUILD_ID_MAX];
};

/* Executable memory; module 0: of no file (a compiler at run time made it). */
struct region {
    uintptr_t low, high;
    uint32_t module;
};

struct modules {
    uint32_t count, regions_count;
    uint32_t walk;     /* counts the walks up a stack */
    uint64_t contents; /* differs where other files are mapped elsewhere */
    size_t names_used;
    uintptr_t stack_low, stack_high;
    struct module modules[MODULES_MAX]; /* the first is none */
    struct region regions[REGIONS_MAX]; /* in order */
    char names[MODULE_NAMES_BYTES];
    char buffer[MAPS_BUFFER], line[MAPS_LINE];
};

/* Reads the process's mappings anew, and which of them is the stack that holds `address`. */
void modules_read(struct modules *modules, uintptr_t address);

/* The region of this code, NULL where there is none. */
const struct region *modules_region(const struct modules *modules, uintptr_t address);

/* The module with what stands in its headers; NULL where the file is no longer mapped there. */
struct module *modules_examined(struct modules *modules, uint32_t number);

#endif
