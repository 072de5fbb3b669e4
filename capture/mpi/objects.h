/* objects.h: the loaded objects (the program and its libraries), and the table entries by which
 * they call functions of other objects. Part of libtailrace.so, compiled without an MPI.
 */
#ifndef TAILRACE_OBJECTS_H
#define TAILRACE_OBJECTS_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `handle` is dlopen's: the object stays loaded while it is held. */
struct object {
    void *handle;
    const ElfW(Dyn) * dynamic;
    const char *name;       /* path as the loader has it, "" for the program itself */
    uintptr_t base;         /* what addresses in the file are relative to */
    uintptr_t begin, end;   /* in memory */
    uintptr_t closed_begin; /* the part that the loader made read-only after relocation */
    uintptr_t closed_end;
    bool is_main;
};

/* Looks at every object that was loaded since the last time: calls `prepare` for each, then `bind`
 * for each, or for all that are loaded where an object was unloaded or a `prepare` said so by true.
 * The loader's lock is not held meanwhile. */
void objects_look(bool (*prepare)(const struct object *object),
                  bool (*bind)(const struct object *object));

/* The value of the first dynamic tag of that kind, 0 where there is none. */
uintptr_t object_tag(const struct object *object, ElfW(Sxword) tag);

/* DT_SONAME, else the name of the file. */
const char *object_soname(const struct object *object);

/* Whether it names a library that begins so among those that it needs. */
bool object_needs(const struct object *object, const char *prefix);

/* Calls `visit` for every entry through which the object reaches a function or an object by its
 * name. */
void object_entries(const struct object *object,
                    void (*visit)(const struct object *object, void **entry, const char *symbol));

/* Makes an entry lead elsewhere; false where the page cannot be written. */
bool object_redirect(const struct object *object, void **entry, void *target);

#endif
