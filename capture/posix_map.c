/* posix_map.c: memory-mapped files, and the system calls that capture can only name. */
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "process.h"
#include "ring.h"
#include "system.h"
#include "wrap.h"

enum {
    MAPPINGS = 64,
    LARGE_MAPPING = 1 << 20,
    ONE_PAGE = 1 << 12,     /* into less one looks whether files can be mapped at all */
    HOLDS_OUTPUT = 1 << 18, /* into less one stores counters and locks */
};

/* The last shared mappings, so that msync can name the file. Written without a lock: an entry torn
 * by two threads names the wrong one of two files at worst. */
static struct mapping {
    uintptr_t begin, end;
    uint32_t file;
} mappings[MAPPINGS];
static atomic_uint next_mapping;

static void remember_mapping(void *address, size_t bytes, uint32_t file)
{
    struct mapping *mapping = &mappings[atomic_fetch_add(&next_mapping, 1) % MAPPINGS];
    *mapping = (struct mapping){(uintptr_t)address, (uintptr_t)address + bytes, file};
}

static uint32_t mapped_file(const void *address)
{
    for (unsigned back = 1; back <= MAPPINGS; back++) {
        const struct mapping *mapping = &mappings[(next_mapping - back) % MAPPINGS];
        if ((uintptr_t)address >= mapping->begin && (uintptr_t)address < mapping->end)
            return mapping->file;
    }
    return wrap_special("<unknown mapping>");
}

/* MPI libraries share memory by mapping files of their own: nobody asks about those. */
static bool inside_another_call(void)
{
    return tailrace_stream && tailrace_stream->state != STREAM_GONE && tailrace_stream->depth;
}

/* Guile maps its compiled modules, and Java all of its classes, as what they are on the disk:
 * nobody takes them for data. A device is not read. */
static bool is_code(int descriptor)
{
    static const uint32_t image_of_java = 0xcafedada; /* in the machine's order of bytes */
    struct stat status;
    char magic[SELFMAG];
    if (tailrace_calls_forbidden || system_fstat(descriptor, &status) || !S_ISREG(status.st_mode))
        return false;
    if (system_call(SYS_pread64, descriptor, (long)magic, SELFMAG, 0, 0, 0) != SELFMAG)
        return false;
    return !memcmp(magic, ELFMAG, SELFMAG) || !memcmp(magic, &image_of_java, SELFMAG);
}

/* Private mappings are programs and libraries being loaded, where they may be run or changed, and
 * small tables; who only reads so much of a file reads his data. */
static bool holds_data(size_t bytes, int protection, bool private, int descriptor)
{
    if (private && (protection != PROT_READ || bytes < LARGE_MAPPING))
        return false;
    return (!private && (protection & PROT_WRITE)) || !is_code(descriptor);
}

/* What the program reads and writes in the mapping is not seen: the trace says so. */
static void note_mapping(void *address, size_t bytes, int protection, int flags, int descriptor,
                         uint32_t file)
{
    bool private = (flags & MAP_TYPE) == MAP_PRIVATE;
    if (address == MAP_FAILED || !holds_data(bytes, protection, private, descriptor))
        return;
    if (!private) /* of others msync is not called */
        remember_mapping(address, bytes, file);
    if (bytes < ONE_PAGE || inside_another_call())
        return;
    path_note("mmap", descriptor);
    if (!private && (protection & PROT_WRITE) && bytes >= HOLDS_OUTPUT)
        path_note("mapped_writable", descriptor);
}

static void *map_of_no_file(void *address, int descriptor, off_t offset)
{
    if (offset == RING_REQUESTS && address != MAP_FAILED)
        ring_mapped(descriptor, address);
    return address;
}

/* Anonymous memory is what allocators ask for: no question, no record. */
#define MAP(name, off)                                                                             \
    TAILRACE_EXPORT void *name(void *address, size_t bytes, int protection, int flags, int fd,     \
                               off offset)                                                         \
    {                                                                                              \
        uint32_t file;                                                                             \
        if (!tailrace_recording || (flags & MAP_ANONYMOUS))                                        \
            return REAL(name)(address, bytes, protection, flags, fd, offset);                      \
        if (!(file = descriptor_file(fd)))                                                         \
            return map_of_no_file(REAL(name)(address, bytes, protection, flags, fd, offset), fd,   \
                                  offset);                                                         \
        struct call call;                                                                          \
        struct stream *stream = call_begin(&call, FUNCTION_##name);                                \
        void *result = REAL(name)(address, bytes, protection, flags, fd, offset);                  \
        if (!stream)                                                                               \
            return result;                                                                         \
        end_file_call(stream, &call, clock_now(), FILE_MAP, FILE_OFFSET, file, 0, offset,          \
                      ERROR_OF_RESULT);                                                            \
        note_mapping(result, bytes, protection, flags, fd, file);                                  \
        return result;                                                                             \
    }
MAP(mmap, off_t)
MAP(mmap64, off64_t)

WRAP(int, msync, (void *address, size_t bytes, int flags), (address, bytes, flags), 1, (void)0,
     mapped_file(address), FILE_SYNC, 0, 0, 0, ERROR_OF_RESULT)

/* Six arguments are passed whatever the call takes: the kernel ignores the rest, as libc's own
 * syscall() does. */
TAILRACE_EXPORT long syscall(long number, ...)
{
    va_list list;
    va_start(list, number);
    long arguments[6];
    for (int i = 0; i < 6; i++)
        arguments[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_io_uring_enter && tailrace_recording)
        ring_entered(arguments[3] & RING_BY_NUMBER ? -1 : (int)arguments[0],
                     (unsigned)arguments[1]);
    if (number == SYS_io_submit && tailrace_recording)
        tailrace_note("native_aio", "");
    enum restriction restriction = restriction_of(number, arguments);
    restrict_before(restriction);
    if (number == SYS_chdir || number == SYS_fchdir)
        paths_directory_changes(false);
    long result = REAL(syscall)(number, arguments[0], arguments[1], arguments[2], arguments[3],
                                arguments[4], arguments[5]);
    if (number == SYS_io_uring_setup && tailrace_recording && result >= 0)
        ring_made((int)result, (const void *)arguments[1]);
    if (number == SYS_chdir || number == SYS_fchdir)
        paths_directory_changes(false);
    if (restriction && result >= 0)
        restrict_after(restriction);
    return result;
}

/* The libraries that do without libc's syscall(). Of liburing the set-up is what can be seen: the
 * rest is inlined. Of libaio it is each submission: a context alone moves nothing, and libaio itself
 * sets one up for io_queue_init. Their own convention is a negative errno. */
int io_uring_queue_init(unsigned entries, void *ring, unsigned flags);
int io_uring_queue_init_params(unsigned entries, void *ring, void *parameters);
int io_submit(void *context, long number, void **requests);

#define NOTE(name, key, parameters, arguments)                                                     \
    TAILRACE_EXPORT int name parameters                                                            \
    {                                                                                              \
        if (tailrace_recording)                                                                    \
            tailrace_note(key, "");                                                                \
        return REAL(name) arguments;                                                               \
    }
NOTE(io_uring_queue_init, "io_uring", (unsigned entries, void *ring, unsigned flags),
     (entries, ring, flags))
NOTE(io_uring_queue_init_params, "io_uring", (unsigned entries, void *ring, void *parameters),
     (entries, ring, parameters))
NOTE(io_submit, "native_aio", (void *context, long number, void **requests),
     (context, number, requests))
