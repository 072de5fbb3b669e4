/* modules.c: the files whose code is mapped, by what the kernel says and their own headers. */
#define _GNU_SOURCE
#include <elf.h>
#include <link.h>
#include <string.h>

#include "modules.h"
#include "system.h"
#include "text.h"

enum {
    PAGE = 4096,
    PROGRAM_HEADERS_MAX = 64,
    NOTES_MAX = 32,
    PIECES_MAX = 16,
    STARTED_WITH_MAX = 256
};

static const char maps[] = "/proc/self/maps";
atomic_uint modules_changes;

/* --- One mapping at a time --- */

#ifndef ASKS_EACH /* a test asks in one way only */
#define ASKS_EACH 1
#endif
#define PROCMAP_QUERY 0xc0686611
enum { QUERY_READABLE = 1, QUERY_EXECUTABLE = 4 };

/* The mapping that holds the address, with its name if that is wanted; 0, or a negative errno. */
static __attribute__((noinline)) long ask(struct modules *modules, int file, uintptr_t address,
                                          struct mapping *mapping, bool named)
{
    struct query *query = &modules->query;
    memset(query, 0, sizeof *query);
    query->bytes = sizeof *query;
    query->address = address;
    query->name_bytes = named ? MAPS_LINE : 0;
    query->name = named ? (uintptr_t)modules->line : 0;
    modules->line[0] = 0;
    long error = system_call(SYS_ioctl, file, PROCMAP_QUERY, (long)query, 0, 0, 0);
    if (error == -ENAMETOOLONG) {
        query->name = query->name_bytes = 0;
        error = system_call(SYS_ioctl, file, PROCMAP_QUERY, (long)query, 0, 0, 0);
    }
    mapping->low = (uintptr_t)query->low;
    mapping->high = (uintptr_t)query->high;
    mapping->offset = query->offset;
    mapping->device = (uint64_t)query->major << 32 | query->minor;
    mapping->inode = query->inode;
    mapping->readable = query->flags & QUERY_READABLE;
    mapping->executable = query->flags & QUERY_EXECUTABLE;
    mapping->name = modules->line;
    return error;
}

/* --- All of them, as text --- */

static const char *after(const char *at, char character)
{
    return *at == character ? at + 1 : at;
}

/* "low-high rwxp offset major:minor inode   path" */
static struct mapping read_mapping(const char *line)
{
    struct mapping mapping = {0};
    uint64_t low, high, major, minor;
    const char *at = text_number(line, 16, &low);
    at = after(text_number(after(at, '-'), 16, &high), ' ');
    mapping.low = (uintptr_t)low;
    mapping.high = (uintptr_t)high;
    if (strlen(at) < 5)
        return mapping;
    mapping.readable = at[0] == 'r';
    mapping.executable = at[2] == 'x';
    at = after(text_number(at + 5, 16, &mapping.offset), ' ');
    at = after(text_number(at, 16, &major), ':');
    at = after(text_number(at, 16, &minor), ' ');
    at = text_number(at, 10, &mapping.inode);
    mapping.device = major << 32 | minor;
    while (*at == ' ')
        at++;
    mapping.name = at;
    return mapping;
}

/* --- The lists --- */

static bool same_file(const struct module *module, const struct mapping *mapping)
{
    return module->inode == mapping->inode && module->device == mapping->device;
}

static const char *kept_name(struct modules *modules, const char *name)
{
    size_t bytes = strlen(name) + 1;
    if (modules->names_used + bytes > sizeof modules->names)
        return "";
    char *place = modules->names + modules->names_used;
    memcpy(place, name, bytes);
    modules->names_used += bytes;
    return place;
}

/* The module whose first byte is mapped here: known, or new. */
static uint32_t module_at(struct modules *modules, const struct mapping *mapping)
{
    for (uint32_t i = 1; i <= modules->count; i++)
        if (modules->modules[i].base == mapping->low && same_file(&modules->modules[i], mapping))
            return i;
    if (modules->count + 1 >= MODULES_MAX)
        return 0;
    struct module *module = &modules->modules[++modules->count];
    memset(module, 0, sizeof *module);
    module->base = mapping->low;
    module->device = mapping->device;
    module->inode = mapping->inode;
    module->name = kept_name(modules, mapping->name);
    return modules->count;
}

/* Where a region with this address is, or would be. */
static uint32_t place_of(const struct modules *modules, uintptr_t address)
{
    uint32_t low = 0, high = modules->regions_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (modules->regions[middle].high <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct region *add_region(struct modules *modules, const struct mapping *mapping,
                                 uint32_t module)
{
    if (modules->regions_count == REGIONS_MAX)
        return NULL;
    uint32_t place = place_of(modules, mapping->low);
    struct region *region = &modules->regions[place];
    memmove(region + 1, region, (modules->regions_count++ - place) * sizeof *region);
    *region = (struct region){mapping->low, mapping->high, module};
    return region;
}

struct reading {
    uintptr_t address;
    struct mapping first; /* of the file that is being passed: where its offset 0 is */
};

static void add_mapping(struct modules *modules, struct reading *reading,
                        const struct mapping *mapping)
{
    if (mapping->low <= reading->address && reading->address < mapping->high) {
        modules->stack_low = mapping->low;
        modules->stack_high = mapping->high;
    }
    struct mapping *first = &reading->first;
    if (mapping->inode && !mapping->offset && mapping->readable)
        *first = *mapping;
    if (!mapping->executable)
        return;
    bool of_first =
        mapping->inode && first->inode == mapping->inode && first->device == mapping->device;
    if (!of_first) {
        add_region(modules, mapping, 0);
        return;
    }
    struct mapping named = *mapping;
    named.low = first->low;
    add_region(modules, mapping, module_at(modules, &named));
}

static __attribute__((noinline)) void add_line(struct modules *modules, struct reading *reading)
{
    struct mapping mapping = read_mapping(modules->line);
    if (mapping.name)
        add_mapping(modules, reading, &mapping);
}

static uint64_t contents_of(const struct modules *modules)
{
    uint64_t hash = modules->regions_count;
    for (uint32_t i = 0; i < modules->regions_count; i++) {
        const struct region *region = &modules->regions[i];
        hash = (hash ^ region->low ^ region->high << 20 ^ region->module) * 0x9e3779b97f4a7c15u;
    }
    return hash;
}

static void read_all(struct modules *modules, int file, uintptr_t address)
{
    struct reading reading = {.address = address};
    size_t used = 0;
    modules->regions_count = 0;
    modules->stack_low = modules->stack_high = 0;
    for (ssize_t bytes; (bytes = system_read(file, modules->buffer, MAPS_BUFFER)) > 0;)
        for (ssize_t i = 0; i < bytes; i++) {
            char character = modules->buffer[i];
            if (character != '\n') {
                if (used < MAPS_LINE - 1)
                    modules->line[used++] = character;
                continue;
            }
            modules->line[used] = 0;
            used = 0;
            add_line(modules, &reading);
        }
    modules->contents = contents_of(modules);
}

/* Whether the file's code is still mapped where it was. */
static bool still_there(struct modules *modules, int file, const struct region *region)
{
    const struct mapping *now = &modules->asked;
    const struct module *module = &modules->modules[region->module];
    return !ask(modules, file, region->low, &modules->asked, false) && now->executable &&
           now->low == region->low && now->high == region->high &&
           (!region->module || same_file(module, now));
}

static void drop_closed(struct modules *modules, int file)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < modules->regions_count; i++)
        if (still_there(modules, file, &modules->regions[i]))
            modules->regions[kept++] = modules->regions[i];
    if (kept < modules->regions_count)
        modules->contents++;
    modules->regions_count = kept;
}

static bool find_stack(struct modules *modules, int file, uintptr_t address)
{
    if (ask(modules, file, address, &modules->asked, false))
        return false;
    modules->stack_low = modules->asked.low;
    modules->stack_high = modules->asked.high;
    return true;
}

void modules_read(struct modules *modules, uintptr_t address)
{
    int file = system_open(maps, O_RDONLY | O_CLOEXEC, 0);
    if (file < 0)
        return;
    bool found = ASKS_EACH && modules->asking != ASKING_ALL && find_stack(modules, file, address);
    if (modules->asking == ASKING_UNTRIED)
        modules->asking = found ? ASKING_EACH : ASKING_ALL;
    if (found)
        drop_closed(modules, file);
    else
        read_all(modules, file, address);
    system_close(file);
}

/* To the mapping of the first bytes of the file that was asked about, whose code is a later part;
 * false where it has none. */
static bool find_first(struct modules *modules, int file)
{
    const struct mapping *asked = &modules->asked;
    struct mapping *first = &modules->first;
    *first = *asked;
    for (int i = 0; i < PIECES_MAX && (first->offset || !first->readable); i++)
        if (ask(modules, file, first->low - 1, first, true) || first->inode != asked->inode ||
            first->device != asked->device)
            return false;
    return asked->inode && !first->offset && first->readable;
}

/* Code that was not known is asked about, where that is possible. */
static __attribute__((noinline)) const struct region *ask_region(struct modules *modules,
                                                                 uintptr_t address)
{
    const struct region *region = NULL;
    int file = system_open(maps, O_RDONLY | O_CLOEXEC, 0);
    if (file < 0)
        return NULL;
    if (!ask(modules, file, address, &modules->asked, true) && modules->asked.executable) {
        uint32_t module = find_first(modules, file) ? module_at(modules, &modules->first) : 0;
        region = add_region(modules, &modules->asked, module);
    }
    system_close(file);
    return region;
}

const struct region *modules_region(struct modules *modules, uintptr_t address)
{
    uint32_t place = place_of(modules, address);
    const struct region *region = &modules->regions[place];
    if (place < modules->regions_count && region->low <= address)
        return region;
    return modules->asking == ASKING_EACH ? ask_region(modules, address) : NULL;
}

/* --- The headers of a file, where they are mapped --- */

static void find_build_id(struct module *module, const uint8_t *notes, size_t bytes)
{
    for (int i = 0; i < NOTES_MAX && bytes >= sizeof(Elf64_Nhdr); i++) {
        Elf64_Nhdr note;
        memcpy(&note, notes, sizeof note);
        size_t name = (note.n_namesz + 3ul) & ~3ul, text = (note.n_descsz + 3ul) & ~3ul;
        if (name > bytes || text > bytes || sizeof note + name + text > bytes)
            return;
        const uint8_t *id = notes + sizeof note + name;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
            !memcmp(notes + sizeof note, "GNU", 4) && note.n_descsz <= BUILD_ID_MAX) {
            module->build_id_bytes = (uint8_t)note.n_descsz;
            memcpy(module->build_id, id, note.n_descsz);
            return;
        }
        notes = id + text;
        bytes -= sizeof note + name + text;
    }
}

/* Whether [address, address + bytes) lies in a segment of the file; which one. */
static const Elf64_Phdr *segment_of(const Elf64_Phdr *headers, unsigned count, uint64_t address,
                                    uint64_t bytes)
{
    for (unsigned i = 0; i < count; i++) {
        const Elf64_Phdr *header = &headers[i];
        if (header->p_type == PT_LOAD && header->p_flags & PF_R && header->p_vaddr <= address &&
            address - header->p_vaddr <= header->p_filesz &&
            bytes <= header->p_filesz - (address - header->p_vaddr))
            return header;
    }
    return NULL;
}

/* The header of the file that is mapped there, whose program headers are on the same page; NULL
 * where it is none. */
static const Elf64_Ehdr *header_at(uintptr_t base)
{
    const Elf64_Ehdr *file = (const Elf64_Ehdr *)base;
    bool is_file =
        !memcmp(file->e_ident, ELFMAG, SELFMAG) && file->e_ident[EI_CLASS] == ELFCLASS64 &&
        file->e_phentsize == sizeof(Elf64_Phdr) && file->e_phnum <= PROGRAM_HEADERS_MAX &&
        file->e_phoff <= PAGE - sizeof(Elf64_Phdr) * PROGRAM_HEADERS_MAX;
    return is_file ? file : NULL;
}

static uint64_t hashed(uint64_t hash, const void *at, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += sizeof hash) {
        uint64_t word;
        memcpy(&word, (const char *)at + i, sizeof word);
        hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    }
    return hash;
}

/* Tells files from each other: how large their segments are and where their sections lie. */
static uint64_t headers_hash(uintptr_t base)
{
    const Elf64_Ehdr *file = header_at(base);
    if (!file)
        return 0;
    const void *headers = (const char *)file + file->e_phoff;
    return hashed(hashed(0, file, sizeof *file), headers, file->e_phnum * sizeof(Elf64_Phdr));
}

static void read_headers(struct module *module)
{
    const Elf64_Ehdr *file = header_at(module->base);
    if (!file)
        return;
    const Elf64_Phdr *headers = (const Elf64_Phdr *)(module->base + file->e_phoff);
    unsigned count = file->e_phnum;
    uint64_t first = 0;
    for (unsigned i = 0; i < count; i++)
        if (headers[i].p_type == PT_LOAD) {
            first = headers[i].p_vaddr - headers[i].p_offset;
            break;
        }
    module->bias = module->base - (uintptr_t)first;
    for (unsigned i = 0; i < count; i++) {
        const Elf64_Phdr *header = &headers[i];
        const uint8_t *at = (const uint8_t *)(module->bias + header->p_vaddr);
        if (header->p_type == PT_LOAD && (uintptr_t)at + header->p_memsz > module->end)
            module->end = (uintptr_t)at + header->p_memsz;
        const Elf64_Phdr *segment = segment_of(headers, count, header->p_vaddr, header->p_filesz);
        if (!segment)
            continue;
        if (header->p_type == PT_NOTE && !module->build_id_bytes)
            find_build_id(module, at, header->p_filesz);
        if (header->p_type == PT_GNU_EH_FRAME) {
            module->frames = at;
            module->low = (const uint8_t *)(module->bias + segment->p_vaddr);
            module->high = module->low + segment->p_filesz;
        }
    }
}

/* Places in what the program was started with, which the loader never closes. */
static struct {
    unsigned count;
    uintptr_t inside[STARTED_WITH_MAX];
} started_with;

static int remember(struct dl_phdr_info *info, size_t bytes, void *unused)
{
    (void)bytes;
    (void)unused;
    if (started_with.count == STARTED_WITH_MAX)
        return 1;
    started_with.inside[started_with.count++] = (uintptr_t)info->dlpi_phdr;
    return 0;
}

void modules_started_with(void)
{
    dl_iterate_phdr(remember, NULL);
}

/* The program, its libraries and capture: most of what is on a stack. */
static bool stays(const struct module *module)
{
    for (unsigned i = 0; i < started_with.count; i++)
        if (module->base <= started_with.inside[i] && started_with.inside[i] < module->end)
            return true;
    return false;
}

/* A library may have been closed since, and what lies there now is another's: its headers are
 * looked at again, and whether the tables have pages, before any walk comes to it. */
static bool is_there(const struct module *module)
{
    if (!system_can_read((const void *)module->base))
        return false;
    if (!module->examined)
        return true;
    if (headers_hash(module->base) != module->headers)
        return false;
    return !module->frames ||
           (system_can_read(module->frames) && system_can_read(module->high - 1));
}

struct module *modules_examined(struct modules *modules, uint32_t number)
{
    struct module *module = &modules->modules[number];
    if (!number || (!module->stays && module->walk != modules->walk && !is_there(module)))
        return NULL;
    module->walk = modules->walk;
    if (!module->examined && header_at(module->base)) {
        module->examined = true;
        module->headers = headers_hash(module->base);
        read_headers(module);
        module->stays = stays(module);
    }
    return module;
}
