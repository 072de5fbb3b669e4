/* objects.c: walks through what is loaded (objects.h).
 *
 * The loader's list is copied under its lock and looked at without: dlopen must not be called while
 * the list is walked. A handle keeps each object loaded while it is looked at, and is only given
 * when the object has been relocated.
 */
#define _GNU_SOURCE
#include "objects.h"

#include <limits.h>
#include <string.h>
#include <sys/auxv.h>

#include "../glibc.h"
#include "../libdl.h"
#include "../modules.h"
#include "../system.h"
#include "../text.h"

enum { OBJECTS_AT_ONCE = 64, NAME_BYTES = 4096 };

#if defined(__x86_64__)
enum { TO_FUNCTION = R_X86_64_JUMP_SLOT, TO_ANY = R_X86_64_GLOB_DAT, POINTER = R_X86_64_64 };
#elif defined(__aarch64__)
enum { TO_FUNCTION = R_AARCH64_JUMP_SLOT, TO_ANY = R_AARCH64_GLOB_DAT, POINTER = R_AARCH64_ABS64 };
#endif

/* --- Which objects --- */

static struct {
    unsigned long long loads, unloads;
    unsigned count; /* of objects looked at: new ones come last in the list */
} seen;

/* A stretch of the list, copied. */
struct copies {
    unsigned from, at, count;
    struct copy {
        char name[NAME_BYTES];
        struct object object;
    } copies[OBJECTS_AT_ONCE];
};

static void extent(struct object *object, const struct dl_phdr_info *info)
{
    object->begin = UINTPTR_MAX;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + part->p_vaddr, end = begin + part->p_memsz;
        if (part->p_type == PT_DYNAMIC)
            object->dynamic = (const ElfW(Dyn) *)begin;
        if (part->p_type == PT_GNU_RELRO) {
            object->closed_begin = begin;
            object->closed_end = end;
        }
        if (part->p_type != PT_LOAD)
            continue;
        object->begin = begin < object->begin ? begin : object->begin;
        object->end = end > object->end ? end : object->end;
    }
}

static int copy_object(struct dl_phdr_info *info, size_t bytes, void *context)
{
    struct copies *copies = context;
    unsigned number = copies->at++;
    (void)bytes;
    if (number < copies->from)
        return 0;
    if (copies->count == OBJECTS_AT_ONCE)
        return 1;
    struct copy *copy = &copies->copies[copies->count++];
    size_t length = strlen(info->dlpi_name);
    copy->object = (struct object){.name = copy->name, .base = info->dlpi_addr, .is_main = !number};
    if (length >= NAME_BYTES)
        return 0;
    memcpy(copy->name, info->dlpi_name, length + 1);
    extent(&copy->object, info);
    return 0;
}

/* Another object may have come under the same name since the copy was made. */
static bool visit_copy(struct object *object, bool (*visit)(const struct object *))
{
    bool result = false;
    if (!object->dynamic)
        return false;
    object->handle = libdl.open(object->is_main ? NULL : object->name, RTLD_LAZY | RTLD_NOLOAD);
    if (!object->handle)
        return false;
    if (object->is_main || ((struct link_map *)object->handle)->l_addr == object->base)
        result = visit(object);
    libdl.close(object->handle);
    return result;
}

/* Visits the objects numbered `from` to `*until`, at the end the number of those that there are;
 * returns whether one of the visits was true. */
static bool visit_all(struct copies *copies, unsigned from, unsigned *until,
                      bool (*visit)(const struct object *))
{
    bool result = false;
    copies->from = from;
    do {
        copies->at = copies->count = 0;
        dl_iterate_phdr(copy_object, copies);
        for (unsigned i = 0; i < copies->count && copies->from + i < *until; i++)
            result |= visit_copy(&copies->copies[i].object, visit);
        copies->from += copies->count;
    } while (copies->count && copies->from < *until);
    *until = copies->from < *until ? copies->from : *until;
    return result;
}

static int has_changed(struct dl_phdr_info *info, size_t bytes, void *context)
{
    bool *changed = context;
    (void)bytes;
    *changed = info->dlpi_adds != seen.loads || info->dlpi_subs != seen.unloads;
    if (info->dlpi_subs != seen.unloads)
        seen.count = 0;
    if (*changed)
        atomic_fetch_add_explicit(&modules_changes, 1, memory_order_relaxed);
    seen.loads = info->dlpi_adds;
    seen.unloads = info->dlpi_subs;
    return 1;
}

void objects_look(bool (*prepare)(const struct object *object),
                  bool (*bind)(const struct object *object))
{
    bool changed = false;
    dl_iterate_phdr(has_changed, &changed);
    struct copies *copies = changed ? system_map_memory(sizeof *copies) : NULL;
    if (!copies)
        return;
    unsigned until = UINT_MAX;
    bool all = visit_all(copies, seen.count, &until, prepare);
    visit_all(copies, all ? 0 : seen.count, &until, bind);
    seen.count = until;
    system_unmap(copies, sizeof *copies);
}

/* --- What an object's dynamic section says --- */

uintptr_t object_tag(const struct object *object, ElfW(Sxword) tag)
{
    for (const ElfW(Dyn) *entry = object->dynamic; entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == tag)
            return entry->d_un.d_val;
    return 0;
}

/* glibc makes these absolute in place, other loaders leave them as they are in the file. */
static const void *table(const struct object *object, ElfW(Sxword) tag)
{
    uintptr_t value = object_tag(object, tag);
    return (const void *)(value && value < object->base ? object->base + value : value);
}

const char *object_soname(const struct object *object)
{
    const char *strings = table(object, DT_STRTAB);
    uintptr_t place = object_tag(object, DT_SONAME);
    return strings && place ? strings + place : text_file_name(object->name);
}

bool object_needs(const struct object *object, const char *prefix)
{
    const char *strings = table(object, DT_STRTAB);
    const ElfW(Dyn) *entry = object->dynamic;
    while (strings && entry->d_tag != DT_NULL &&
           !(entry->d_tag == DT_NEEDED &&
             !strncmp(strings + entry->d_un.d_val, prefix, strlen(prefix))))
        entry++;
    return strings && entry->d_tag == DT_NEEDED;
}

/* --- Its entries --- */

static bool is_named_entry(const ElfW(Rela) * relocation)
{
    switch (ELF64_R_TYPE(relocation->r_info)) {
    case TO_FUNCTION:
    case TO_ANY: return true;
    case POINTER: return !relocation->r_addend;
    default: return false;
    }
}

static void walk(const struct object *object, const ElfW(Rela) * relocations, size_t bytes,
                 void (*visit)(const struct object *, void **, const char *))
{
    const ElfW(Sym) *symbols = table(object, DT_SYMTAB);
    const char *strings = table(object, DT_STRTAB);
    size_t count = bytes / sizeof *relocations;
    for (size_t i = 0; relocations && symbols && strings && i < count; i++) {
        size_t symbol = ELF64_R_SYM(relocations[i].r_info);
        if (symbol && is_named_entry(&relocations[i]))
            visit(object, (void **)(object->base + relocations[i].r_offset),
                  strings + symbols[symbol].st_name);
    }
}

void object_entries(const struct object *object,
                    void (*visit)(const struct object *object, void **entry, const char *symbol))
{
    walk(object, table(object, DT_RELA), object_tag(object, DT_RELASZ), visit);
    if (object_tag(object, DT_PLTREL) == DT_RELA)
        walk(object, table(object, DT_JMPREL), object_tag(object, DT_PLTRELSZ), visit);
}

static int protect(uintptr_t page, uintptr_t bytes, int protection)
{
    return (int)system_call(SYS_mprotect, (long)page, (long)bytes, protection, 0, 0, 0);
}

/* The loader closes whole pages only: the last, if it is shared, stays open. Text that holds
 * addresses (DT_TEXTREL) is left alone. */
bool object_redirect(const struct object *object, void **entry, void *target)
{
    uintptr_t bytes = getauxval(AT_PAGESZ), page = (uintptr_t)entry & ~(bytes - 1);
    bool closed =
        page >= (object->closed_begin & ~(bytes - 1)) && page < (object->closed_end & ~(bytes - 1));
    if (object_tag(object, DT_TEXTREL) || (closed && protect(page, bytes, PROT_READ | PROT_WRITE)))
        return false;
    __atomic_store_n(entry, target, __ATOMIC_RELEASE);
    if (closed)
        protect(page, bytes, PROT_READ);
    return true;
}
