/* requests.c: the requests in flight and the numbers they have in the trace. */
#include <stdlib.h>

#include "flavour.h"

enum { THREAD_SHIFT = 40 };
#define NUMBER_MASK (((uint64_t)1 << THREAD_SHIFT) - 1)

struct table requests;

void request_started(struct stream *stream, MPI_Request request, uint32_t flags, void *pointer)
{
    uint64_t number = stream->next_token++;
    if (request == predefined.request_null)
        return;
    uint64_t packed = (uint64_t)stream->thread << THREAD_SHIFT | (number & NUMBER_MASK);
    table_add(
        &requests,
        &(struct entry){.key = KEY(request), .flags = flags, .number = packed, .pointer = pointer});
}

int64_t request_token(const struct stream *stream, uint64_t packed)
{
    if (packed >> THREAD_SHIFT == stream->thread)
        return (int64_t)(stream->next_token - (packed & NUMBER_MASK));
    return -(int64_t)packed - 1;
}

/* Most starts name few requests: no allocation for those.  */
enum { START_WORDS = 200 };

static int start_one(struct stream *stream, MPI_Request request, int64_t *word)
{
    struct entry found;
    if (!table_find(&requests, KEY(request), &found) || !(found.flags & REQUEST_PERSISTENT))
        return 0;
    table_set_flags(&requests, KEY(request), found.flags | REQUEST_ACTIVE);
    *word = request_token(stream, found.number);
    return 1;
}

void start_after(struct stream *stream, struct call *call, int result, int count,
                 struct handles handles)
{
    int64_t few[START_WORDS + 1], *words = few;
    int started = 0;
    if (result != MPI_SUCCESS)
        count = 0;
    if (count > START_WORDS && !(words = malloc(((size_t)count + 1) * sizeof *words))) {
        words = few;
        count = START_WORDS;
    }
    for (int i = 0; i < count; i++)
        started += start_one(stream, handles_request(handles, i), words + 1 + started);
    words[0] = started;
    call_end(stream, call, CLASS_START, words, (unsigned)started + 1);
    if (words != few)
        free(words);
}

uint64_t request_key(struct handles handle)
{
    return KEY(handles_request(handle, 0));
}

void request_acted(struct stream *stream, struct call *call, int result, uint64_t key,
                   enum request_action action)
{
    struct entry found;
    bool (*look)(struct table *, uint64_t, struct entry *) =
        action == REQUEST_FREE ? table_take : table_find;
    bool known = result == MPI_SUCCESS && look(&requests, key, &found);
    if (!known || found.flags & REQUEST_CREATION) {
        plain_after(stream, call);
        return;
    }
    int64_t words[] = {request_token(stream, found.number), action};
    call_end(stream, call, CLASS_ON_REQUEST, words, 2);
}
