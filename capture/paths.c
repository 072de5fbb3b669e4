/* paths.c: numbers for files. A path record is written where the number is made.
 *
 * Nothing large is on the stack, which may be a signal handler's of a few kilobytes: a path is
 * recorded from the program's own memory, and what comes before it from the thread's notebook.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <string.h>

#include "bytes.h"
#include "descriptors.h"
#include "process.h"
#include "record.h"
#include "system.h"

enum {
    CACHED_PATHS = 512,
    SHARED_BYTES = 2,             /* the number of them, in a record */
    DIRECTORY_CHECKS_PER_S = 100, /* of the working directory's name */
};

/* What a path starts from: a directory with a slash behind it. */
struct start {
    const char *text;
    size_t bytes;
    uint64_t hash;
    uint32_t number; /* of this text, in this stream; 0: none */
};

/* One that was asked for, and is asked for anew at each check, since anyone can rename it. */
struct directory {
    uint64_t due;
    struct start start;
    char text[PATH_BYTES];
};

struct path_cache {
    /* The beginning of the record that is being written. A signal handler that comes meanwhile
     * does without. */
    bool taken;
    uint32_t starts; /* numbers given */
    /* Asked for anew where the program may have changed it, too. */
    unsigned working_changes;
    /* The number of the latest directory that calls started from by its descriptor: who walks a
     * tree asks for all names in one directory before the next. */
    uint32_t parent;
    struct directory working_directory, parent_directory;
    /* Paths that are named but not opened (stat, unlink, failed open), by their hash alone. */
    struct {
        uint64_t hash;
        uint32_t number;
    } entries[CACHED_PATHS];
    char directory[PATH_BYTES];
};

static inline struct stream *own_stream(void)
{
    struct stream *stream = tailrace_stream;
    if (UNLIKELY((!stream || stream->state == STREAM_GONE) && tailrace_recording))
        stream = tailrace_stream_enter();
    return stream && stream->state != STREAM_GONE ? stream : NULL;
}

static inline struct path_cache *take(struct stream *stream)
{
    if (!stream)
        return NULL;
    if (UNLIKELY(!stream->paths))
        stream->paths = system_map_memory(stream->paths_bytes = sizeof *stream->paths);
    if (!stream->paths || stream->paths->taken)
        return NULL;
    stream->paths->taken = true;
    return stream->paths;
}

static inline void give_back(struct path_cache *paths)
{
    if (paths)
        paths->taken = false;
}

static inline uint64_t word_at(const char *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

static inline uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 32;
}

/* Eight bytes at a time, the last of them perhaps twice: most of these paths are asked for once. */
static inline uint64_t hash_bytes(uint64_t hash, const char *bytes, size_t count)
{
    hash = mix(hash, count);
    if (count < sizeof hash) {
        uint64_t word = 0;
        for (size_t i = 0; i < count; i++)
            word = word << 8 | (uint8_t)bytes[i];
        return mix(hash, word);
    }
    for (size_t i = 0; i < count - sizeof hash; i += sizeof hash)
        hash = mix(hash, word_at(bytes + i));
    return mix(hash, word_at(bytes + count - sizeof hash));
}

/* Likewise, and returns where the copy ends: names are short, and the C library's code for it is
 * one thing more that has to come into the caches. */
static inline uint8_t *put_text(uint8_t *at, const char *bytes, size_t count)
{
    if (count < sizeof(uint64_t)) {
        for (size_t i = 0; i < count; i++)
            at[i] = (uint8_t)bytes[i];
        return at + count;
    }
    for (size_t i = 0; i < count - sizeof(uint64_t); i += sizeof(uint64_t))
        store(at + i, word_at(bytes + i));
    store(at + count - sizeof(uint64_t), word_at(bytes + count - sizeof(uint64_t)));
    return at + count;
}

/* --- Directories --- */

/* The path that the kernel knows for a descriptor; its length, 0 where it is none. */
static size_t path_of(int descriptor, char *path, size_t bytes)
{
    char link[32];
    put_decimal(stpcpy(link, "/proc/self/fd/"), (unsigned)descriptor);
    ssize_t length = system_readlink(link, path, bytes - 1);
    if (length <= 0 || path[0] != '/')
        return 0;
    path[length] = 0;
    return (size_t)length;
}

static size_t with_slash(char *directory, size_t bytes)
{
    if (bytes && directory[bytes - 1] != '/')
        directory[bytes++] = '/';
    return bytes;
}

/* The time of the call that asks, where there is one. */
static uint64_t asked_at(const struct stream *stream)
{
    return stream->depth && stream->depth <= NESTING_MAX ? stream->open[stream->depth].begin
                                                         : clock_now();
}

/* What stands in its text, so many bytes, is what paths start from until the next check. */
static void use_directory(struct path_cache *paths, struct directory *directory, size_t bytes,
                          uint64_t now)
{
    bytes = with_slash(directory->text, bytes);
    directory->start =
        (struct start){directory->text, bytes, hash_bytes(0, directory->text, bytes), 0};
    directory->start.number = bytes ? ++paths->starts : 0;
    directory->due = now + clock_ticks_per_s() / DIRECTORY_CHECKS_PER_S;
}

static FEW_CALLS void ask_working_directory(struct path_cache *paths, unsigned changes,
                                            uint64_t now)
{
    struct directory *working = &paths->working_directory;
    long bytes = system_call(SYS_getcwd, (long)working->text, PATH_BYTES - 1, 0, 0, 0, 0);
    bool known = bytes > 1 && working->text[0] == '/';
    use_directory(paths, working, known ? (size_t)bytes - 1 : 0, now);
    paths->working_changes = changes;
    if (!known || changes & DIRECTORY_UNSURE)
        working->due = 0;
}

static inline struct start working_directory(const struct stream *stream, struct path_cache *paths)
{
    unsigned changes = atomic_load_explicit(&process.directory_changes, memory_order_acquire);
    uint64_t now = asked_at(stream);
    if (UNLIKELY(now >= paths->working_directory.due || changes != paths->working_changes))
        ask_working_directory(paths, changes, now);
    return paths->working_directory.start;
}

/* Of a descriptor. A number is given to one opening alone, so it names no other directory. */
static struct start parent_directory(const struct stream *stream, struct path_cache *paths,
                                     int directory)
{
    struct directory *parent = &paths->parent_directory;
    uint32_t number = descriptor_entry(directory);
    uint64_t now = asked_at(stream);
    if (number <= DESCRIPTOR_IGNORED || number != paths->parent || now >= parent->due) {
        use_directory(paths, parent, path_of(directory, parent->text, PATH_BYTES - 1), now);
        paths->parent = number;
    }
    return parent->start;
}

/* What a relative path starts from. */
static inline struct start start_of(const struct stream *stream, struct path_cache *paths,
                                    int directory, const char *path)
{
    if (!paths || path[0] == '/' || directory == NO_DIRECTORY)
        return (struct start){0};
    if (LIKELY(directory == AT_FDCWD))
        return working_directory(stream, paths);
    return parent_directory(stream, paths, directory);
}

void paths_directory_changes(bool unseen)
{
    if (unseen)
        atomic_fetch_or(&process.directory_changes, DIRECTORY_UNSURE);
    else
        atomic_fetch_add(&process.directory_changes, DIRECTORY_UNSURE << 1);
}

/* --- Numbers --- */

/* A record of where the path starts and the path. The calls that follow may refer to it as the
 * latest, so both change in one section. Where the record before started from the same directory,
 * this one only says how much of it: programs that use many files name them one after another. */
static ALWAYS_INLINE uint32_t write_path(struct stream *stream, struct start start,
                                         const char *path, size_t bytes)
{
    uint32_t number = atomic_fetch_add_explicit(&process.next_file, 1, memory_order_relaxed);
    if (!stream || !tailrace_recording || !stream_busy(stream))
        return number;
    int saved = errno;
    if (!start.bytes && !bytes) { /* without bytes it would say "again" */
        path = "<no path>";
        bytes = strlen(path);
    }
    bool shares = start.number && start.number == stream->latest_start;
    uint8_t *at = encode_begin(stream, sizeof number + SHARED_BYTES + start.bytes + bytes);
    if (at) {
        memcpy(at, &number, sizeof number);
        at += sizeof number;
        if (shares)
            at = put_u16(at, (unsigned)start.bytes);
        else
            at = put_text(at, start.text, start.bytes);
        at = put_text(at, path, bytes);
        encode_publish(stream, shares ? HEAD_PATH_BESIDE : HEAD_PATH, at);
        stream->latest_file = number;
        stream->latest_start = start.number;
    }
    stream_ready(stream);
    errno = saved;
    return number;
}

uint32_t path_number(int directory, const char *path)
{
    struct stream *stream = own_stream();
    struct path_cache *paths = take(stream);
    struct start start = start_of(stream, paths, directory, path);
    uint32_t number = write_path(stream, start, path, strnlen(path, PATH_BYTES));
    give_back(paths);
    return number;
}

/* That an earlier record's file is the latest again: calls on it then share their shapes with those
 * on others. */
static inline void write_again(struct stream *stream, uint32_t number)
{
    if (number == stream->latest_file || !tailrace_recording || !stream_busy(stream))
        return;
    int saved = errno;
    uint8_t *at = encode_begin(stream, sizeof number);
    if (at) {
        memcpy(at, &number, sizeof number);
        encode_publish(stream, HEAD_PATH, at + sizeof number);
        stream->latest_file = number;
    }
    stream_ready(stream);
    errno = saved;
}

static inline uint32_t cached_number(struct stream *stream, struct path_cache *paths,
                                     struct start start, const char *path, size_t bytes)
{
    uint64_t hash = hash_bytes(start.hash, path, bytes) | 1;
    __typeof__(&paths->entries[0]) entry = &paths->entries[(hash >> 48) % CACHED_PATHS];
    if (entry->hash == hash) {
        write_again(stream, entry->number);
    } else {
        entry->number = write_path(stream, start, path, bytes);
        entry->hash = hash;
    }
    return entry->number;
}

void path_renamed(uint32_t file, int directory, const char *path)
{
    struct stream *stream = own_stream();
    struct path_cache *paths = take(stream);
    struct start start = start_of(stream, paths, directory, path);
    bool is_whole = path[0] == '/' || start.bytes;
    if (stream && is_whole && tailrace_recording && stream_busy(stream)) {
        size_t bytes = strnlen(path, PATH_BYTES);
        uint8_t *at = encode_begin(stream, sizeof file + start.bytes + bytes);
        if (at) {
            memcpy(at, &file, sizeof file);
            at = put_text(at + sizeof file, start.text, start.bytes);
            encode_publish(stream, HEAD_RENAMED, put_text(at, path, bytes));
        }
        stream_ready(stream);
    }
    if (paths) { /* it may be a directory that paths start from */
        paths->working_directory.due = 0;
        paths->parent = 0;
    }
    give_back(paths);
}

uint32_t path_number_named(int directory, const char *path)
{
    struct stream *stream = own_stream();
    struct path_cache *paths = take(stream);
    struct start start = start_of(stream, paths, directory, path);
    size_t bytes = strnlen(path, PATH_BYTES);
    uint32_t number = paths ? cached_number(stream, paths, start, path, bytes)
                            : write_path(stream, start, path, bytes);
    give_back(paths);
    return number;
}

/* The kernel appends this to the names of files that have none any more. */
static size_t without_deleted(const char *path, size_t length)
{
    static const char suffix[] = " (deleted)";
    size_t tail = sizeof suffix - 1;
    return length > tail && !strcmp(path + length - tail, suffix) ? length - tail : length;
}

/* Of a file found open, into `directory`. */
static size_t path_found(struct path_cache *paths, int descriptor, bool is_deleted)
{
    size_t length = path_of(descriptor, paths->directory, PATH_BYTES);
    return is_deleted ? without_deleted(paths->directory, length) : length;
}

uint32_t path_number_found(int descriptor, bool is_deleted)
{
    struct stream *stream = own_stream();
    struct path_cache *paths = take(stream);
    if (!paths)
        return path_number(NO_DIRECTORY, "<unknown file>");
    const char *path = paths->directory;
    size_t length = path_found(paths, descriptor, is_deleted);
    uint32_t number = 0;
    if (length && strncmp(path, "/memfd:", 7))
        number = write_path(stream, (struct start){0}, path, length);
    give_back(paths);
    return number;
}

uint32_t path_number_of_pipe(int descriptor, bool is_deleted, uint32_t otherwise)
{
    static const struct start before = {"<pipe>", sizeof "<pipe>" - 1, 1, 0};
    struct stream *stream = own_stream();
    struct path_cache *paths = take(stream);
    size_t length = paths ? path_found(paths, descriptor, is_deleted) : 0;
    uint32_t number =
        paths ? cached_number(stream, paths, before, paths->directory, length) : otherwise;
    give_back(paths);
    return number;
}

void path_note(const char *key, int descriptor)
{
    struct path_cache *paths = take(own_stream());
    if (paths && path_of(descriptor, paths->directory, PATH_BYTES))
        tailrace_note(key, paths->directory);
    else
        tailrace_note(key, "");
    give_back(paths);
}

void path_note_opened(const char *key, int directory, const char *path)
{
    struct stream *stream = own_stream();
    struct path_cache *paths = take(stream);
    struct start start = start_of(stream, paths, directory, path);
    size_t bytes = strnlen(path, PATH_BYTES);
    if (paths && start.bytes + bytes < PATH_BYTES) {
        if (start.bytes)
            memmove(paths->directory, start.text, start.bytes);
        memcpy(paths->directory + start.bytes, path, bytes);
        paths->directory[start.bytes + bytes] = 0;
        tailrace_note(key, paths->directory);
    }
    give_back(paths);
}

uint32_t tailrace_file_open(const char *path)
{
    return path_number(AT_FDCWD, path);
}

uint32_t tailrace_file_named(const char *path)
{
    int saved = errno;
    uint32_t number = path_number_named(AT_FDCWD, path);
    errno = saved;
    return number;
}

/* --- What a program passes --- */

/* Whether a call that ended with this error has read its path, or who asks the kernel may. A bad
 * pointer is the kernel's to refuse. */
bool path_is_readable_after(const char *path, int error)
{
    switch (error) {
    case 0:
    case ENOENT:
    case EEXIST:
    case ENOTDIR:
    case EISDIR:
    case ELOOP:
    case ENAMETOOLONG: return path != NULL;
    case EFAULT: return false;
    default:
        return path && !tailrace_calls_forbidden &&
               system_call(SYS_faccessat, AT_FDCWD, (long)path, F_OK, 0, 0, 0) != -EFAULT;
    }
}
