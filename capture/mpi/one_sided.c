/* one_sided.c: windows and what is done through them. */
#include <stdlib.h>

#include "flavour.h"

enum { RANKS_AT = 6, ONE_SIDED_WORDS = 7, COLLECTIVE_WORDS = 6 };

/* Number of the communicator, and above it how many windows of it were made before: the same on
 * all its ranks. */
static struct table windows, made;
enum { MADE_SHIFT = 32 };

/* The last word, behind the ranks, is the window. */
static void put_words(int64_t *words, const struct one_sided *one_sided, int64_t bytes,
                      int64_t ranks)
{
    struct entry found;
    bool known = table_find(&windows, KEY(one_sided->window), &found);
    words[0] = one_sided->op;
    words[1] = known ? (int64_t)(uint32_t)found.number : -1;
    words[RANKS_AT + ranks] = known ? (int64_t)(found.number >> MADE_SHIFT) : -1;
    words[2] = one_sided->target == MPI_PROC_NULL ? -1 : one_sided->target;
    words[3] = bytes;
    words[4] = one_sided->flags;
    words[5] = ranks;
}

void one_sided_before(struct stream *stream, struct call *call, const struct one_sided *one_sided)
{
    int64_t words[ONE_SIDED_WORDS];
    put_words(words, one_sided, 0, 0);
    call_known(stream, call, CLASS_ONE_SIDED, words, ONE_SIDED_WORDS);
}

/* Post and start name the ranks of a group. */
static void end_with_group(struct stream *stream, struct call *call,
                           const struct one_sided *one_sided)
{
    int size = 0, *ranks = mpi_usable ? group_world_ranks(one_sided->group, &size) : NULL;
    int64_t *words = ranks ? malloc((ONE_SIDED_WORDS + (size_t)size) * sizeof *words) : NULL;
    if (words) {
        put_words(words, one_sided, 0, size);
        for (int i = 0; i < size; i++)
            words[RANKS_AT + i] = ranks[i];
        call_end(stream, call, CLASS_ONE_SIDED, words, ONE_SIDED_WORDS + (unsigned)size);
    } else {
        plain_after(stream, call);
    }
    free(words);
    free(ranks);
}

void one_sided_after(struct stream *stream, struct call *call, const struct one_sided *one_sided,
                     int result, MPI_Request request)
{
    int64_t words[ONE_SIDED_WORDS];
    if (result != MPI_SUCCESS) {
        plain_after(stream, call);
        return;
    }
    if (one_sided->has_group) {
        end_with_group(stream, call, one_sided);
        return;
    }
    put_words(words, one_sided, bytes_of(one_sided->count, one_sided->type), 0);
    call_end(stream, call, CLASS_ONE_SIDED, words, ONE_SIDED_WORDS);
    if (one_sided->flags & FLAG_STARTS)
        request_started(stream, request, REQUEST_ACTIVE, NULL);
}

static void end_collective(struct stream *stream, struct call *call, int64_t comm)
{
    int64_t words[COLLECTIVE_WORDS] = {WINDOW_CREATE, comm, -1, 0, 0, 0};
    call_end(stream, call, CLASS_ONE_SIDED, words, COLLECTIVE_WORDS);
}

/* How many windows of the communicator were made before this one. */
static uint64_t made_before(uint32_t comm)
{
    struct entry entry = {.key = (uint64_t)comm + 1};
    if (table_take(&made, entry.key, &entry))
        entry.number++;
    table_add(&made, &entry);
    return entry.number;
}

void window_created(struct stream *stream, struct call *call, int result, MPI_Comm comm,
                    MPI_Win window)
{
    if (result != MPI_SUCCESS) {
        plain_after(stream, call);
        return;
    }
    uint32_t number = communicator_get(comm)->number;
    uint64_t packed = made_before(number) << MADE_SHIFT | number;
    table_add(&windows, &(struct entry){.key = KEY(window), .number = packed});
    end_collective(stream, call, number);
}

int64_t window_forget(MPI_Win window)
{
    struct entry found;
    return table_take(&windows, KEY(window), &found) ? (int64_t)(uint32_t)found.number : -1;
}

void window_freed(struct stream *stream, struct call *call, int64_t comm)
{
    if (comm < 0)
        plain_after(stream, call);
    else
        end_collective(stream, call, comm);
}
