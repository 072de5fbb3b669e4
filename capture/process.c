/* process.c: the process's state, its list of metas and functions, and capture's one voice on
 * stderr. */
#include "process.h"
#include "quiet.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "system.h"

enum { LOCK_TRIES = 1000 };

struct process process = {.lock = ATOMIC_FLAG_INIT, .next_file = 2};
int tailrace_recording, tailrace_calls_forbidden;

void process_lock(void)
{
    while (atomic_flag_test_and_set_explicit(&process.lock, memory_order_acquire))
        sched_yield();
}

void process_unlock(void)
{
    atomic_flag_clear_explicit(&process.lock, memory_order_release);
}

/* The thread that holds it may be the one that asks, below a signal handler. */
bool process_lock_comes_back(void)
{
    for (int i = 0; i < LOCK_TRIES; i++) {
        if (!atomic_flag_test_and_set_explicit(&process.lock, memory_order_acquire)) {
            process_unlock();
            return true;
        }
        sched_yield();
    }
    return false;
}

void tailrace_register_functions(unsigned first, unsigned count, const char *const *names,
                                 const uint8_t *layers)
{
    process_lock();
    if (process.function_ranges < FUNCTION_RANGES) {
        process.functions[process.function_ranges] =
            (struct function_range){first, count, names, layers};
        process.function_ranges++;
    }
    process_unlock();
}

const char *process_function_name(unsigned function, uint8_t *layer)
{
    for (unsigned i = 0; i < process.function_ranges; i++) {
        const struct function_range *range = &process.functions[i];
        unsigned place = function - range->first;
        if (function >= range->first && place < range->count && range->names[place]) {
            *layer = range->layers[place];
            return range->names[place];
        }
    }
    *layer = LAYER_MPI;
    return "unregistered function";
}

/* The value of that key; NULL where there is none. */
static const char *find_meta(const char *key)
{
    const struct metas *metas = process_metas();
    for (size_t at = 0; at < metas->bytes;) {
        const char *value = metas->text + at + strlen(metas->text + at) + 1;
        if (!strcmp(metas->text + at, key))
            return value;
        at = (size_t)(value + strlen(value) + 1 - metas->text);
    }
    return NULL;
}

static void append_meta(struct metas *metas, const char *key, const char *value)
{
    size_t key_bytes = strlen(key) + 1, value_bytes = strlen(value) + 1;
    if (metas->bytes + key_bytes + value_bytes > META_BYTES)
        return;
    memcpy(metas->text + metas->bytes, key, key_bytes);
    memcpy(metas->text + metas->bytes + key_bytes, value, value_bytes);
    metas->bytes += key_bytes + value_bytes;
}

/* The list anew, without that key, or with this value of it. */
static void change_meta(const char *key, const char *value)
{
    const struct metas *old = process_metas();
    unsigned next = 1 - process.metas_now;
    struct metas *made = &process.metas[next];
    made->bytes = 0;
    for (size_t at = 0; at < old->bytes;) {
        const char *of = old->text + at, *kept = of + strlen(of) + 1;
        if (strcmp(of, key) != 0)
            append_meta(made, of, kept);
        at = (size_t)(kept + strlen(kept) + 1 - old->text);
    }
    if (value)
        append_meta(made, key, value);
    process.metas_now = next;
}

static void remove_meta(const char *key)
{
    change_meta(key, NULL);
}

void process_add_meta(const char *key, const char *value)
{
    process_lock();
    change_meta(key, value);
    process_unlock();
}

/* The program may have closed descriptor 2 and opened a file of its own in its place. */
static bool stderr_is_still_ours(void)
{
    struct stat status;
    return !system_fstat(2, &status) && status.st_dev == process.stderr_device &&
           status.st_ino == process.stderr_inode;
}

void tailrace_say(int *once, const char *format, ...)
{
    int unsaid = 0, saved = errno;
    if (!__atomic_compare_exchange_n(once, &unsaid, 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        return;
    char line[1024] = "tailrace: ";
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line + 10, sizeof line - 11, format, arguments);
    va_end(arguments);
    strcat(line, "\n");
    if (stderr_is_still_ours() && quiet_is_ready(2, POLLOUT))
        quiet_write(2, line, strlen(line));
    errno = saved;
}

/* The child is no rank of MPI's, even if its parent is. */
static void describe_forked_child(int parent)
{
    char text[META_VALUE_BYTES];
    const char *ancestors = find_meta("ancestors");
    snprintf(text, sizeof text, "%d %s", parent, ancestors ? ancestors : "");
    process_add_meta("ancestors", text);
    snprintf(text, sizeof text, "%d", parent);
    process_add_meta("parent", text);
    remove_meta("ranks");
    remove_meta("spawned");
    remove_meta("processes_started");
    remove_meta("usage_begin");
    remove_meta("usage_end");
    remove_meta("compressed");
    remove_meta("decompressed");
    process.usage_ended = false;
    filters_begin();
}

/* A page that the kernel wipes in a copy. */
static char *marked;

void process_mark(void)
{
    marked = system_map_memory(1);
    if (!marked)
        return;
    system_advise(marked, 1, MADV_WIPEONFORK);
    *marked = 1;
}

bool process_was_copied(void)
{
    return marked && !*marked;
}

void process_forked(void)
{
    if (marked)
        *marked = 1;
    atomic_flag_clear(&process.lock);
    tailrace_recording = process.all_processes;
    if (tailrace_recording)
        describe_forked_child(process.id);
    process.started = process.started_written = 0;
    process.id = system_process();
    process.streams = process.awaits_main = NULL;
    process.main_marked = false;
    process.begun = 0;
    process.threads = 0;
    process.next_stream = 0;
}
