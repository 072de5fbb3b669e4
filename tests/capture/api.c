/* api.c: uses the core as the MPI part does, with functions of its own, and prints nothing. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "record.h"

enum { COLLECTIVE_WRITE = 1000, WAIT_ALL, BARRIER };

static const char *const names[] = {"MPI_File_write_all", "MPI_Waitall", "MPI_Barrier"};
static const uint8_t layers[] = {LAYER_MPI_IO, LAYER_MPI, LAYER_MPI};

static int64_t words_of(int64_t words[FILE_WORDS], int64_t file, int64_t bytes, int64_t offset)
{
    words[0] = FILE_WRITE;
    words[1] = FILE_OFFSET | FILE_COLLECTIVE;
    words[2] = file;
    words[3] = bytes;
    words[4] = offset;
    words[5] = 0;
    words[6] = 0;
    return bytes;
}

/* A call around two writes: what is known at first is less than what is known at the end. */
static void collective_write(uint32_t file, int posix, int64_t offset)
{
    struct call call;
    int64_t words[FILE_WORDS];
    struct stream *stream = call_begin(&call, COLLECTIVE_WRITE);
    words_of(words, file, 0, offset);
    if (stream)
        call_known(stream, &call, CLASS_FILE, words, FILE_WORDS);
    if (posix >= 0 && (pwrite(posix, "12345678", 8, offset) != 8 ||
                       pwrite(posix, "12345678", 8, offset + 8) != 8))
        exit(3);
    words_of(words, file, 16, offset);
    if (stream)
        call_end(stream, &call, CLASS_FILE, words, FILE_WORDS);
}

static void wait_all(unsigned count, int64_t first)
{
    struct call call;
    int64_t words[1000];
    for (unsigned i = 0; i < count; i++)
        words[i] = first * i;
    struct stream *stream = call_begin(&call, WAIT_ALL);
    if (stream)
        call_end(stream, &call, CLASS_COMPLETE, words, count);
}

static void plain(unsigned function, int forget)
{
    struct call call;
    struct stream *stream = call_begin(&call, function);
    if (stream && forget)
        call_forget(stream, &call);
    else if (stream)
        call_end(stream, &call, CLASS_PLAIN, NULL, 0);
}

static void suppressed(int posix)
{
    tailrace_suppress_begin();
    tailrace_suppress_begin();
    if (pwrite(posix, "1", 1, 99) != 1)
        exit(3);
    tailrace_suppress_end();
    plain(BARRIER, 0);
    tailrace_meta("ranks", "7");
    tailrace_suppress_end();
}

int main(void)
{
    tailrace_register_functions(1000, 3, names, layers);
    if (!tailrace_rank_starts())
        return 4;
    tailrace_meta("rank", "3");
    plain(BARRIER, 0);
    tailrace_mark_main();
    tailrace_meta("rank", "5");
    uint32_t file = tailrace_file_open("collective");
    int posix = open("posix", O_RDWR | O_CREAT, 0600);
    for (int i = 0; i < 3; i++)
        collective_write(file, posix, 16 * i);
    collective_write(file, -1, 1000);
    plain(BARRIER, 1);
    suppressed(posix);
    for (unsigned count = 0; count < 1000; count = count * 3 + 1)
        for (int repeat = 0; repeat < 2; repeat++)
            wait_all(count, INT64_MIN / 1000);
    tailrace_note("unknown_communicator", "one");
    tailrace_note("unknown_communicator", "one");
    tailrace_note("unknown_communicator", "two");
    tailrace_clock_record();
    for (int i = 0; i < 1000; i++)
        wait_all(7, i); /* more shapes than there are numbers */
    return 0;
}
