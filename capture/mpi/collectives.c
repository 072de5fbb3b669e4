/* collectives.c: who waits for whom, and how many bytes this rank gave and got. */
#include "flavour.h"

enum { COLLECTIVE_WORDS = 6, ROOT_HERE = -3, ROOT_NOBODY = -1 };

static int64_t count_at(const struct amount *amount, int index)
{
    return amount->wide ? (int64_t)((const MPI_Count *)amount->counts)[index]
                        : ((const int *)amount->counts)[index];
}

static MPI_Datatype type_at(const struct amount *amount, enum language language, int index)
{
    if (language == LANGUAGE_C)
        return ((const MPI_Datatype *)amount->types)[index];
    return mpi.Type_f2c(((const MPI_Fint *)amount->types)[index]);
}

static int64_t sum_of_counts(const struct amount *amount, int peers)
{
    int64_t sum = 0;
    for (int i = 0; i < peers; i++)
        sum += count_at(amount, i);
    return sum;
}

static int64_t sum_of_types(const struct amount *amount, enum language language, int peers)
{
    int64_t bytes = 0;
    for (int i = 0; i < peers; i++)
        if (count_at(amount, i) > 0)
            bytes += bytes_of(count_at(amount, i), type_at(amount, language, i));
    return bytes;
}

static bool in_place(const void *buffer, enum language language)
{
    return language == LANGUAGE_C ? buffer == MPI_IN_PLACE : fortran_in_place(buffer, language);
}

/* Whether this rank's arguments on this side mean anything: elsewhere they may be garbage. */
static bool significant(const struct collective *collective,
                        const struct communicator *communicator, const struct amount *amount)
{
    if (!collective->rooted)
        return true;
    if (communicator->inter && collective->root == MPI_PROC_NULL)
        return false;
    bool here =
        communicator->inter ? collective->root == MPI_ROOT : collective->root == communicator->rank;
    bool both = amount->who == BY_ALL && !communicator->inter;
    return both || here == (amount->who == BY_ROOT);
}

static int64_t bytes_of_amount(const struct collective *collective,
                               const struct communicator *communicator, const struct amount *amount,
                               int peers)
{
    if (amount->kind == AMOUNT_NONE || !significant(collective, communicator, amount) ||
        in_place(amount->buffer, collective->language))
        return 0;
    switch (amount->kind) {
    case AMOUNT_ONE: return bytes_of(amount->count, amount->type);
    case AMOUNT_EACH: return peers ? peers * bytes_of(amount->count, amount->type) : 0;
    case AMOUNT_LIST: return bytes_of(sum_of_counts(amount, peers), amount->type);
    case AMOUNT_TYPES: return sum_of_types(amount, collective->language, peers);
    case AMOUNT_OWN: return bytes_of(count_at(amount, communicator->rank), amount->type);
    default: return 0;
    }
}

static int64_t root_word(const struct collective *collective)
{
    if (!collective->rooted || collective->root == MPI_PROC_NULL)
        return ROOT_NOBODY;
    return collective->root == MPI_ROOT ? ROOT_HERE : collective->root;
}

static void put_words(int64_t *words, const struct collective *collective, int64_t comm,
                      int64_t sent, int64_t received)
{
    words[0] = comm;
    words[1] = collective->flow;
    words[2] = root_word(collective);
    words[3] = sent;
    words[4] = received;
    words[5] = collective->flags;
}

void collective_before(struct stream *stream, struct call *call,
                       const struct collective *collective)
{
    int64_t words[COLLECTIVE_WORDS];
    put_words(words, collective, communicator_word_known(collective->comm), 0, 0);
    call_known(stream, call, CLASS_COLLECTIVE, words, COLLECTIVE_WORDS);
}

void collective_after(struct stream *stream, struct call *call, const struct collective *collective,
                      int result, MPI_Request request)
{
    if (result != MPI_SUCCESS) {
        plain_after(stream, call);
        return;
    }
    const struct communicator *communicator = communicator_get(collective->comm);
    bool neighbours = collective->flow == FLOW_NEIGHBOURS;
    int destinations = neighbours ? communicator->destinations : communicator->peers;
    int sources = neighbours ? communicator->sources : communicator->peers;
    int64_t words[COLLECTIVE_WORDS];
    int64_t sent = bytes_of_amount(collective, communicator, &collective->sent, destinations);
    put_words(words, collective, communicator->number, sent,
              bytes_of_amount(collective, communicator, &collective->received, sources));
    call_end(stream, call, CLASS_COLLECTIVE, words, COLLECTIVE_WORDS);
    if (collective->flags & FLAG_STARTS)
        request_started(stream, request, request_flags(collective->flags), NULL);
}
