/* one_sided.c: windows and what is done through them. */
#include <stdlib.h>

#include "flavour.h"

enum { ONE_SIDED_WORDS = 6 };

static struct table windows; /* number of the communicator */

static int64_t window_comm(MPI_Win window)
{
    struct entry found;
    return table_find(&windows, KEY(window), &found) ? (int64_t)found.number : -1;
}

static void put_words(int64_t *words, const struct one_sided *one_sided, int64_t bytes,
                      int64_t ranks)
{
    words[0] = one_sided->op;
    words[1] = window_comm(one_sided->window);
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
            words[ONE_SIDED_WORDS + i] = ranks[i];
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
    int64_t words[ONE_SIDED_WORDS] = {WINDOW_CREATE, comm, -1, 0, 0, 0};
    call_end(stream, call, CLASS_ONE_SIDED, words, ONE_SIDED_WORDS);
}

void window_created(struct stream *stream, struct call *call, int result, MPI_Comm comm,
                    MPI_Win window)
{
    if (result != MPI_SUCCESS) {
        plain_after(stream, call);
        return;
    }
    int64_t number = communicator_get(comm)->number;
    table_add(&windows, &(struct entry){.key = KEY(window), .number = (uint64_t)number});
    end_collective(stream, call, number);
}

int64_t window_forget(MPI_Win window)
{
    struct entry found;
    return table_take(&windows, KEY(window), &found) ? (int64_t)found.number : -1;
}

void window_freed(struct stream *stream, struct call *call, int64_t comm)
{
    if (comm < 0)
        plain_after(stream, call);
    else
        end_collective(stream, call, comm);
}
