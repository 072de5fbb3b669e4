/* exec.c: what a process becomes, or starts, gets LD_PRELOAD as the caller gives it, but for
 * capture's own entry where the library cannot be loaded: into a program of 32 bits or of another
 * kind of processor, and where it is not to be seen, as in a container. The loader would complain
 * about each, on the program's stderr. What it becomes is noted: that may be a program of which
 * nothing is recorded.
 *
 * A child may call these after fork, or while it shares its parent's memory (vfork): nothing here
 * allocates, locks or asks the loader, and the environment itself is left alone.
 */
#define _GNU_SOURCE
#include <alloca.h>
#include <errno.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "descriptors.h"
#include "functions.h"
#include "preload.h"
#include "process.h"
#include "system.h"
#include "thread.h"

enum {
    NAME_BYTES = 4096,
    PAGE_BYTES = 4096, /* at least */
    NOTED_BYTES = 256, /* of what a program becomes: the last ones are its name's */
};

static const char variable[] = "LD_PRELOAD=";
/* Metas, whose values follow the zero byte. */
static const char became_key[] = "became", used_key[] = "usage_end";

/* Room for a path and another environment. Kept for the thread's next call: a vfork child leaves it
 * behind in its parent. */
static __thread struct {
    char *at;
    size_t bytes;
} room __attribute__((tls_model("initial-exec")));

static char *room_of(size_t bytes)
{
    if (room.bytes >= bytes)
        return room.at;
    if (room.at)
        system_unmap(room.at, room.bytes);
    room.at = system_map_memory(bytes);
    room.bytes = room.at ? bytes : 0;
    return room.at;
}

/* --- Which file --- */

/* The first file of that name on PATH that may be executed; the name where there is none. */
static const char *on_path(const char *name)
{
    size_t name_bytes = strlen(name);
    const char *path = getenv("PATH");
    char *found = strchr(name, '/') || !path ? NULL : room_of(NAME_BYTES);
    for (; found && *path; path += *path == ':') {
        size_t bytes = strcspn(path, ":");
        if (bytes + name_bytes + 2 <= NAME_BYTES) {
            memcpy(found, path, bytes);
            found[bytes] = '/';
            memcpy(found + bytes + (bytes != 0), name, name_bytes + 1);
            if (!system_call(SYS_faccessat, AT_FDCWD, (long)found, X_OK, 0, 0, 0))
                return found;
        }
        path += bytes;
    }
    return name;
}

/* --- Which environment --- */

/* A bad pointer is the kernel's to refuse. `page` is the last one that was asked for. */
static bool can_be_read(const void *at, uintptr_t *page)
{
    uintptr_t of = (uintptr_t)at & -(uintptr_t)PAGE_BYTES;
    if (of == *page)
        return true;
    *page = of;
    return system_can_read(at);
}

/* The process's own has been read before. */
static char *const *preload_of(char *const *environment)
{
    bool own = environment == environ;
    uintptr_t page_of_list = 1, page = 1; /* none */
    for (; environment && (own || can_be_read(environment, &page_of_list)); environment++) {
        if (!*environment || !(own || can_be_read(*environment, &page)))
            return NULL;
        if (!strncmp(*environment, variable, sizeof variable - 1))
            return environment;
    }
    return NULL;
}

/* Where capture's entry is, if it is there at all. */
static char *const *own_preload(char *const *environment)
{
    char *const *entry = tailrace_calls_forbidden ? NULL : preload_of(environment);
    return entry && preload_names_own(*entry + sizeof variable - 1) ? entry : NULL;
}

/* The environment without capture's in that entry; as it is where there is no room. */
static char *const *without_own(char *const *environment, char *const *entry)
{
    size_t count = 0, bytes = strlen(*entry) + 1;
    while (environment[count])
        count++;
    char **changed = (char **)room_of((count + 1) * sizeof *changed + bytes);
    if (!changed)
        return environment;
    char *list = memcpy(changed + count + 1, *entry, bytes);
    preload_remove(list + sizeof variable - 1);
    bool is_left = list[sizeof variable - 1 + strspn(list + sizeof variable - 1, ": ")];
    char **to = changed;
    for (char *const *at = environment; *at; at++)
        if (at != entry)
            *to++ = *at;
        else if (is_left)
            *to++ = list;
    *to = NULL;
    return changed;
}

static bool path_fits(const void *path)
{
    return preload_fits(path);
}

static bool name_fits(const void *name)
{
    return preload_fits(on_path(name));
}

static bool file_fits(const void *file)
{
    return preload_fits_file(*(const int *)file);
}

/* Neither the library nor the program is looked at where capture's entry is not there. */
static char *const *environment_for(bool (*fits)(const void *), const void *program,
                                    char *const *environment)
{
    char *const *entry = own_preload(environment);
    bool stays = !entry || (preload_is_readable() && fits(program));
    return stays ? environment : without_own(environment, entry);
}

/* --- Becoming --- */

/* Not of a child that shares its parent's memory, nor where a stream would have to be made first:
 * what a program only becomes leaves none. */
static bool may_note(void)
{
    bool own = tailrace_recording && !tailrace_calls_forbidden && system_process() == process.id;
    return own && tailrace_stream && !thread_is_on_signal_stack();
}

/* The last part of the path, which is the program's name. A bad pointer is the kernel's to refuse. */
static size_t copy_name(char *to, const char *path)
{
    uintptr_t page = 1; /* none */
    size_t bytes = 0;
    for (; can_be_read(path, &page) && *path; path++)
        if (*path == '/')
            bytes = 0;
        else if (bytes < NOTED_BYTES)
            to[bytes++] = *path;
    return bytes;
}

/* What there is to say at the end is said here, since the kernel leaves no time for it: when that
 * is, and what was used so far. The process's list of metas stays as it is: to change it takes a
 * lock, which a handler that calls exec may have interrupted. */
static void becomes(const char *path)
{
    char used[sizeof used_key + META_VALUE_BYTES], became[sizeof became_key + NOTED_BYTES];
    if (!may_note())
        return;
    memcpy(became, became_key, sizeof became_key);
    memcpy(used, used_key, sizeof used_key);
    int saved = errno;
    size_t bytes = copy_name(became + sizeof became_key, path);
    bool is_known =
        !process.usage_ended && usage_spell_end(used + sizeof used_key, META_VALUE_BYTES);
    tailrace_clock_record();
    if (is_known)
        tailrace_record(HEAD_META, used, sizeof used_key + strlen(used + sizeof used_key));
    tailrace_record(HEAD_META, became, sizeof became_key + bytes);
    errno = saved;
}

/* The kernel refused: the program goes on. */
static int refused(int result)
{
    if (!may_note())
        return result;
    tailrace_record(HEAD_META, became_key, sizeof became_key);
    if (!process.usage_ended)
        tailrace_record(HEAD_META, used_key, sizeof used_key);
    return result;
}

TAILRACE_EXPORT int execve(const char *path, char *const arguments[], char *const environment[])
{
    char *const *changed = environment_for(path_fits, path, environment);
    becomes(path);
    return refused(REAL(execve)(path, arguments, changed));
}

TAILRACE_EXPORT int execv(const char *path, char *const arguments[])
{
    char *const *changed = environment_for(path_fits, path, environ);
    becomes(path);
    return refused(changed == environ ? REAL(execv)(path, arguments)
                                      : REAL(execve)(path, arguments, changed));
}

TAILRACE_EXPORT int execvpe(const char *name, char *const arguments[], char *const environment[])
{
    char *const *changed = environment_for(name_fits, name, environment);
    becomes(name);
    return refused(REAL(execvpe)(name, arguments, changed));
}

TAILRACE_EXPORT int execvp(const char *name, char *const arguments[])
{
    char *const *changed = environment_for(name_fits, name, environ);
    becomes(name);
    return refused(changed == environ ? REAL(execvp)(name, arguments)
                                      : REAL(execvpe)(name, arguments, changed));
}

/* By a descriptor it has no name. */
TAILRACE_EXPORT int fexecve(int fd, char *const arguments[], char *const environment[])
{
    char *const *changed = environment_for(file_fits, &fd, environment);
    becomes("another program");
    return refused(REAL(fexecve)(fd, arguments, changed));
}

/* --- Becoming, with a list of arguments --- */

/* How many there are from `first` on. */
static size_t count_arguments(const char *first, va_list rest)
{
    size_t count = 0;
    for (const char *at = first; at; at = va_arg(rest, const char *))
        count++;
    return count;
}

/* Up to the null pointer and with it; `rest` is left behind that. */
static void copy_arguments(char **to, const char *first, va_list *rest)
{
    for (*to = (char *)first; *to; *to = va_arg(*rest, char *))
        to++;
}

/* The arguments from `first` on, on the caller's stack, where the C library has them as well. */
#define LISTED_ARGUMENTS(arguments, rest, first)                                                   \
    va_start(rest, first);                                                                         \
    size_t count = count_arguments(first, rest);                                                   \
    va_end(rest);                                                                                  \
    char **arguments = alloca((count + 1) * sizeof *arguments);                                    \
    va_start(rest, first);                                                                         \
    copy_arguments(arguments, first, &rest)

TAILRACE_EXPORT int execl(const char *path, const char *first, ...)
{
    va_list rest;
    LISTED_ARGUMENTS(arguments, rest, first);
    va_end(rest);
    return execv(path, arguments);
}

TAILRACE_EXPORT int execlp(const char *name, const char *first, ...)
{
    va_list rest;
    LISTED_ARGUMENTS(arguments, rest, first);
    va_end(rest);
    return execvp(name, arguments);
}

/* The environment follows the null pointer. */
TAILRACE_EXPORT int execle(const char *path, const char *first, ...)
{
    va_list rest;
    LISTED_ARGUMENTS(arguments, rest, first);
    char *const *environment = va_arg(rest, char *const *);
    va_end(rest);
    return execve(path, arguments, environment);
}

/* --- Starting --- */

TAILRACE_EXPORT int posix_spawn(pid_t *child, const char *path,
                                const posix_spawn_file_actions_t *actions,
                                const posix_spawnattr_t *attributes, char *const arguments[],
                                char *const environment[])
{
    thread_started_process();
    return REAL(posix_spawn)(child, path, actions, attributes, arguments,
                             environment_for(path_fits, path, environment));
}

TAILRACE_EXPORT int posix_spawnp(pid_t *child, const char *name,
                                 const posix_spawn_file_actions_t *actions,
                                 const posix_spawnattr_t *attributes, char *const arguments[],
                                 char *const environment[])
{
    thread_started_process();
    return REAL(posix_spawnp)(child, name, actions, attributes, arguments,
                              environment_for(name_fits, name, environment));
}
