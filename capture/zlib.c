/* zlib.c: for how long the main thread compresses where HDF5 has zlib compress a chunk.
 *
 * A chunk is compressed as a whole before it is written, by one call of zlib's compress2, with no
 * other call in between: without this it looks like computation. The entry by which HDF5 reaches
 * that function is redirected to the one here (mpi/bind.c), which no one else can see. It is
 * measured and summed, and no call is recorded.
 */
#include <stdio.h>

#include "process.h"
#include "record.h"

typedef int (*compress2_function)(unsigned char *, unsigned long *, const unsigned char *,
                                  unsigned long, int);

static compress2_function real;
/* Of the main thread, which alone changes it. */
static struct {
    uint64_t ticks, calls, taken, made; /* bytes */
} compressed, before;

/* Another zlib, of which a program may have several, is left alone. */
void *zlib_compress2(void *target)
{
    if (!real)
        real = (compress2_function)target;
    return (void *)real;
}

static bool is_of_main(const struct stream *stream)
{
    return stream && stream->state == STREAM_READY && stream->header->flags & HEADER_FLAG_MAIN;
}

int tailrace_compress2(unsigned char *made, unsigned long *made_bytes, const unsigned char *taken,
                       unsigned long bytes, int level)
{
    if (!tailrace_recording || !is_of_main(tailrace_stream))
        return real(made, made_bytes, taken, bytes, level);
    uint64_t begin = clock_now();
    int result = real(made, made_bytes, taken, bytes, level);
    if (!is_of_main(tailrace_stream))
        return result;
    compressed.ticks += clock_now() - begin;
    compressed.calls++;
    compressed.taken += bytes;
    compressed.made += *made_bytes; /* where it did not fit: its room, which is no less */
    return result;
}

void zlib_begins(void)
{
    before = compressed;
}

/* Since the run's begin: ns, calls, bytes before and after. False where it was never called. */
bool zlib_spell(char *text, size_t room)
{
    uint64_t calls = compressed.calls - before.calls;
    double ns = (double)(compressed.ticks - before.ticks) * 1e9 / (double)clock_ticks_per_s();
    snprintf(text, room, "%llu %llu %llu %llu", (unsigned long long)ns, (unsigned long long)calls,
             (unsigned long long)(compressed.taken - before.taken),
             (unsigned long long)(compressed.made - before.made));
    return calls > 0;
}
