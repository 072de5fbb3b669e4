/* completion.c: the Wait and Test kinds.
 *
 * The handles are copied before the call, for the call sets them to null. Which entry of the table
 * belongs to a handle is looked up after it; where several threads communicate, another one may get
 * the same handle for a new request before that, so then the entries are taken out before the call
 * and those not completed are put back.
 */
#include <stdlib.h>

#include "flavour.h"

enum { FLAG_TEST = 1, FLAG_NOTHING = 2, WORDS_EACH = 3, FEW = 16 };

/* The thread's memory for long lists of requests; calls do not nest. */
static __thread struct {
    void *keys, *entries, *statuses, *words;
    size_t room;
} scratch __attribute__((tls_model("initial-exec")));

static bool scratch_hold(size_t count)
{
    if (count <= scratch.room)
        return true;
    size_t room = 2 * count;
    void *keys = realloc(scratch.keys, room * sizeof(uint64_t));
    scratch.keys = keys ? keys : scratch.keys;
    void *entries = realloc(scratch.entries, room * sizeof(struct entry));
    scratch.entries = entries ? entries : scratch.entries;
    void *statuses = realloc(scratch.statuses, room * sizeof(MPI_Status));
    scratch.statuses = statuses ? statuses : scratch.statuses;
    void *words = realloc(scratch.words, (2 + WORDS_EACH * room) * sizeof(int64_t));
    scratch.words = words ? words : scratch.words;
    if (!keys || !entries || !statuses || !words)
        return false;
    scratch.room = room;
    return true;
}

static bool is_wildcard(struct completion *completion)
{
    struct entry found;
    for (int i = 0; i < completion->count; i++) {
        struct entry *taken = completion->taken ? &completion->taken[i] : NULL;
        if (taken ? taken->flags & REQUEST_WILDCARD
                  : table_find(&requests, completion->keys[i], &found) &&
                        found.flags & REQUEST_WILDCARD)
            return true;
    }
    return false;
}

static void take_all(struct completion *completion)
{
    for (int i = 0; i < completion->count; i++)
        if (!table_take(&requests, completion->keys[i], &completion->taken[i]))
            completion->taken[i] = (struct entry){.key = 0};
}

static void copy_handles(struct completion *completion, int count)
{
    completion->count = count;
    completion->keys = &completion->one;
    completion->taken = mpi_threads ? &completion->one_taken : NULL;
    if (count > 1) {
        completion->count = scratch_hold((size_t)count) ? count : 0;
        completion->keys = scratch.keys;
        completion->taken = mpi_threads ? scratch.entries : NULL;
    }
    for (int i = 0; i < completion->count; i++)
        completion->keys[i] = KEY(handles_request(completion->handles, i));
}

/* Statuses the user ignores are replaced by our own where a wildcard's match is to be learned. */
static void choose_statuses(struct completion *completion, struct status_place *place)
{
    enum language language = completion->handles.language;
    if (!completion->ignored || !is_wildcard(completion))
        return;
    place->language = language;
    completion->statuses = completion->count == 1 ? (void *)&place->own : scratch.statuses;
    completion->ignored = false;
}

void completion_before(struct completion *completion, int count, struct handles handles,
                       void *statuses, struct status_place *place, bool test)
{
    completion->handles = handles;
    completion->statuses = statuses;
    completion->test = test;
    completion->ignored = status_ignored(statuses, handles.language);
    copy_handles(completion, count > 0 ? count : 0);
    if (completion->taken)
        take_all(completion);
    choose_statuses(completion, place);
}

/* --- after the call --- */

static void match_words(const struct completion *completion, const struct entry *request,
                        int status_index, int64_t *words)
{
    MPI_Status status;
    words[1] = -2;
    words[2] = -1;
    if (!(request->flags & REQUEST_WILDCARD) || completion->ignored)
        return;
    if (!status_read(completion->statuses, status_index, completion->handles.language, &status))
        return;
    words[1] = status.MPI_SOURCE == MPI_PROC_NULL ? -1 : status.MPI_SOURCE;
    words[2] = status.MPI_TAG;
}

/* The entry of request `index`, which is complete: removed, or set inactive where it is persistent.
 */
static bool entry_completed(struct completion *completion, int index, struct entry *found)
{
    uint64_t key = completion->keys[index];
    if (completion->taken) {
        *found = completion->taken[index];
        completion->taken[index].key = 0;
        if (!found->key)
            return false;
        if (found->flags & REQUEST_PERSISTENT)
            table_add(&requests, &(struct entry){key, 0, found->flags & ~(uint32_t)REQUEST_ACTIVE,
                                                 found->number, found->pointer});
        return true;
    }
    if (!table_find(&requests, key, found))
        return false;
    if (found->flags & REQUEST_PERSISTENT)
        table_set_flags(&requests, key, found->flags & ~(uint32_t)REQUEST_ACTIVE);
    else
        table_take(&requests, key, found);
    return true;
}

/* Appends request `index` to the words; returns how many words. */
static int complete_one(struct stream *stream, struct completion *completion, int index,
                        int status_index, int64_t *words)
{
    struct entry found;
    if (index < 0 || index >= completion->count || !entry_completed(completion, index, &found))
        return 0;
    if (found.flags & REQUEST_CREATION) {
        creation_completed(&found);
    } else if (!(found.flags & REQUEST_ACTIVE)) {
        return 0;
    }
    words[0] = request_token(stream, found.number);
    match_words(completion, &found, status_index, words);
    return WORDS_EACH;
}

static int64_t *words_place(const struct completion *completion, int64_t *few)
{
    return completion->count <= FEW ? few : scratch.words;
}

static void put_back(struct completion *completion)
{
    for (int i = 0; completion->taken && i < completion->count; i++)
        if (completion->taken[i].key)
            table_add(&requests, &completion->taken[i]);
}

static void finish(struct stream *stream, struct call *call, struct completion *completion,
                   int64_t *words, int used)
{
    put_back(completion);
    words[0] = (completion->test ? FLAG_TEST : 0) | (used ? 0 : FLAG_NOTHING);
    words[1] = used / WORDS_EACH;
    call_end(stream, call, CLASS_COMPLETE, words, (unsigned)used + 2);
}

/* After an error: those whose handles the call has set to null are complete. */
static int complete_nulls(struct stream *stream, struct completion *completion, int64_t *words)
{
    int used = 0;
    uint64_t null = KEY(predefined.request_null);
    for (int i = 0; i < completion->count; i++)
        if (completion->keys[i] != null && KEY(handles_request(completion->handles, i)) == null)
            used += complete_one(stream, completion, i, i, words + used);
    return used;
}

void completion_all(struct stream *stream, struct call *call, struct completion *completion,
                    int result, bool done)
{
    int64_t few[2 + WORDS_EACH * FEW], *words = words_place(completion, few);
    int used = 0;
    if (result != MPI_SUCCESS)
        used = complete_nulls(stream, completion, words + 2);
    else
        for (int i = 0; done && i < completion->count; i++)
            used += complete_one(stream, completion, i, i, words + 2 + used);
    finish(stream, call, completion, words, used);
}

static int index_from(const struct completion *completion, int index)
{
    return completion->handles.language == LANGUAGE_C ? index : index - 1;
}

void completion_any(struct stream *stream, struct call *call, struct completion *completion,
                    int result, bool done, int index)
{
    int64_t few[2 + WORDS_EACH * FEW], *words = words_place(completion, few);
    int used = 0;
    if (result != MPI_SUCCESS)
        used = complete_nulls(stream, completion, words + 2);
    else if (done && index != MPI_UNDEFINED)
        used = complete_one(stream, completion, index_from(completion, index), 0, words + 2);
    finish(stream, call, completion, words, used);
}

void completion_some(struct stream *stream, struct call *call, struct completion *completion,
                     int result, int done, const int *indices)
{
    int64_t few[2 + WORDS_EACH * FEW], *words = words_place(completion, few);
    int used = 0;
    if (result != MPI_SUCCESS)
        used = complete_nulls(stream, completion, words + 2);
    if (result != MPI_SUCCESS || done == MPI_UNDEFINED)
        done = 0;
    for (int i = 0; i < done; i++)
        used += complete_one(stream, completion, index_from(completion, indices[i]), i,
                             words + 2 + used);
    finish(stream, call, completion, words, used);
}
