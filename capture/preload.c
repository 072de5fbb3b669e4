/* preload.c: capture's own entry in LD_PRELOAD (preload.h). */
#define _GNU_SOURCE
#include "preload.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "libdl.h"
#include "system.h"

enum {
    START_BYTES = 256, /* of a file: an ELF header, or a script's first line, as the kernel reads */
    INTERPRETERS_MAX = 4,
};

static const char *own;

void preload_prepare(void)
{
    Dl_info info;
    if (libdl_find() && libdl.address((void *)preload_prepare, &info))
        own = info.dli_fname;
}

/* --- The library --- */

static size_t entry_bytes(const char *at)
{
    return strcspn(at, ": ");
}

static bool is_own(const char *at, size_t bytes)
{
    return own && bytes == strlen(own) && !memcmp(at, own, bytes);
}

bool preload_names_own(const char *list)
{
    for (const char *at = list; *at; at += entry_bytes(at), at += *at != 0)
        if (is_own(at, entry_bytes(at)))
            return true;
    return false;
}

void preload_remove(char *list)
{
    char *at = list, *to = list;
    while (*at) {
        size_t bytes = entry_bytes(at);
        size_t whole = bytes + (at[bytes] != 0);
        if (!is_own(at, bytes)) {
            memmove(to, at, whole);
            to += whole;
        }
        at += whole;
    }
    *to = 0;
}

void preload_forget(void)
{
    char *list = getenv("LD_PRELOAD");
    if (!list || !preload_names_own(list))
        return;
    preload_remove(list);
    if (!list[strspn(list, ": ")])
        unsetenv("LD_PRELOAD");
}

bool preload_is_readable(void)
{
    int file = own ? system_open(own, O_RDONLY | O_CLOEXEC, 0) : -ENOENT;
    if (file >= 0)
        system_close(file);
    return file != -EACCES && file != -ENOENT && file != -ENOTDIR;
}

/* --- The program --- */

static bool is_elf(const Elf64_Ehdr *header)
{
    return !memcmp(header->e_ident, ELFMAG, SELFMAG);
}

/* By what this library's own header says. The field of the machine is at one place in both classes. */
static bool is_of_this_kind(const Elf64_Ehdr *header)
{
    extern const Elf64_Ehdr __ehdr_start __attribute__((visibility("hidden")));
    return header->e_ident[EI_CLASS] == __ehdr_start.e_ident[EI_CLASS] &&
           header->e_machine == __ehdr_start.e_machine;
}

/* The interpreter's path in a script's first line, ended by a zero byte; NULL where it is none. */
static const char *interpreter(char *start)
{
    if (start[0] != '#' || start[1] != '!')
        return NULL;
    char *path = start + 2 + strspn(start + 2, " \t");
    path[strcspn(path, " \t\n")] = 0;
    return *path ? path : NULL;
}

/* Not a pipe's bytes, which a program waits for. */
static ssize_t read_start(int file, void *start)
{
    return system_call(SYS_pread64, file, (long)start, START_BYTES, 0, 0, 0);
}

/* Closes the file where it came by a path. Of a script, `next` is its interpreter. */
static bool fits(int file, bool closes, char *start, const char **next)
{
    union {
        char bytes[START_BYTES + 1];
        Elf64_Ehdr header;
    } *as = (void *)start;
    ssize_t bytes = file < 0 ? file : read_start(file, start);
    if (closes && file >= 0)
        system_close(file);
    start[bytes < 0 ? 0 : bytes] = 0;
    *next = bytes > 0 ? interpreter(start) : NULL;
    bool whole = bytes >= (ssize_t)sizeof(Elf32_Ehdr);
    return !whole || !is_elf(&as->header) || is_of_this_kind(&as->header);
}

bool preload_fits(const char *path)
{
    _Alignas(Elf64_Ehdr) char start[START_BYTES + 1];
    bool good = true;
    for (int i = 0; good && path && i < INTERPRETERS_MAX; i++) {
        int file = system_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
        good = fits(file, true, start, &path);
    }
    return good;
}

bool preload_fits_file(int file)
{
    _Alignas(Elf64_Ehdr) char start[START_BYTES + 1];
    const char *next;
    return fits(file, false, start, &next) && (!next || preload_fits(next));
}
