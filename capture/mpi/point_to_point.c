/* point_to_point.c: sends, receives, probes. */
#include <stdlib.h>

#include "flavour.h"

static struct table messages; /* matched by MPI_Mprobe, not received yet: the envelope */

static int64_t peer_word(int peer)
{
    return peer == MPI_PROC_NULL ? -1 : peer == MPI_ANY_SOURCE ? -2 : peer;
}

static int64_t tag_word(int tag)
{
    return tag == MPI_ANY_TAG ? -1 : tag;
}

int64_t bytes_of(int64_t count, MPI_Datatype type)
{
    if (count <= 0 || type == predefined.datatype_null || !mpi_usable)
        return 0;
    MPI_Count large = 0;
    if (mpi.Type_size_c)
        return mpi.Type_size_c(type, &large) == MPI_SUCCESS && large > 0 ? count * (int64_t)large
                                                                         : 0;
    if (mpi.Type_size_x)
        return mpi.Type_size_x(type, &large) == MPI_SUCCESS && large > 0 ? count * (int64_t)large
                                                                         : 0;
    int size = 0;
    return mpi.Type_size(type, &size) == MPI_SUCCESS && size > 0 ? count * size : 0;
}

/* The call failed: it communicated nothing. */
static bool failed(struct stream *stream, struct call *call, int result)
{
    if (LIKELY(result == MPI_SUCCESS))
        return false;
    plain_after(stream, call);
    return true;
}

/* --- send --- */

enum { SEND_WORDS = 6, RECEIVE_WORDS = 7, EXCHANGE_WORDS = 11, PROBE_WORDS = 6 };

static void send_words(int64_t *words, const struct send *send, int64_t comm, int64_t bytes)
{
    words[0] = comm;
    words[1] = peer_word(send->peer);
    words[2] = tag_word(send->tag);
    words[3] = bytes;
    words[4] = send->mode;
    words[5] = send->flags;
}

void send_before(struct stream *stream, struct call *call, const struct send *send)
{
    int64_t words[SEND_WORDS];
    send_words(words, send, communicator_word_known(send->comm), 0);
    call_known(stream, call, CLASS_SEND, words, SEND_WORDS);
}

void send_after(struct stream *stream, struct call *call, const struct send *send, int result,
                MPI_Request request)
{
    if (failed(stream, call, result))
        return;
    int64_t words[SEND_WORDS];
    send_words(words, send, communicator_get(send->comm)->number,
               bytes_of(send->count, send->type));
    call_end(stream, call, CLASS_SEND, words, SEND_WORDS);
    if (send->flags & FLAG_STARTS)
        request_started(stream, request, request_flags(send->flags), NULL);
}

/* --- receive --- */

bool receive_wildcard(const struct receive *receive)
{
    return receive->peer == MPI_ANY_SOURCE || receive->tag == MPI_ANY_TAG;
}

static void receive_words(int64_t *words, const struct receive *receive, int64_t comm,
                          int64_t bytes)
{
    words[0] = comm;
    words[1] = peer_word(receive->peer);
    words[2] = tag_word(receive->tag);
    words[3] = bytes;
    words[4] = receive->flags;
    words[5] = -2;
    words[6] = -1;
}

/* What a wildcard matched; what was asked for where there is none. */
static void matched_words(int64_t *words, const struct receive *receive,
                          const struct status_place *place)
{
    MPI_Status status;
    words[0] = peer_word(receive->peer);
    words[1] = tag_word(receive->tag);
    if (!receive_wildcard(receive) || !status_read(place->used, 0, place->language, &status))
        return;
    words[0] = peer_word(status.MPI_SOURCE);
    words[1] = tag_word(status.MPI_TAG);
}

void receive_before(struct stream *stream, struct call *call, const struct receive *receive)
{
    int64_t words[RECEIVE_WORDS];
    receive_words(words, receive, communicator_word_known(receive->comm), 0);
    call_known(stream, call, CLASS_RECEIVE, words, RECEIVE_WORDS);
}

void receive_after(struct stream *stream, struct call *call, const struct receive *receive,
                   int result, const struct status_place *status)
{
    if (failed(stream, call, result))
        return;
    int64_t words[RECEIVE_WORDS];
    receive_words(words, receive, communicator_get(receive->comm)->number,
                  bytes_of(receive->count, receive->type));
    matched_words(words + 5, receive, status);
    call_end(stream, call, CLASS_RECEIVE, words, RECEIVE_WORDS);
}

void receive_started(struct stream *stream, struct call *call, const struct receive *receive,
                     int result, MPI_Request request)
{
    if (failed(stream, call, result))
        return;
    int64_t words[RECEIVE_WORDS];
    receive_words(words, receive, communicator_get(receive->comm)->number,
                  bytes_of(receive->count, receive->type));
    call_end(stream, call, CLASS_RECEIVE, words, RECEIVE_WORDS);
    uint32_t wildcard = receive_wildcard(receive) ? REQUEST_WILDCARD : 0;
    request_started(stream, request, request_flags(receive->flags) | wildcard, NULL);
}

/* --- both at once --- */

static void end_exchange(struct stream *stream, struct call *call, const struct send *send,
                         const struct receive *receive, const struct status_place *status)
{
    int64_t words[EXCHANGE_WORDS];
    send_words(words, send, communicator_get(send->comm)->number,
               bytes_of(send->count, send->type));
    words[5] = peer_word(receive->peer);
    words[6] = tag_word(receive->tag);
    words[7] = bytes_of(receive->count, receive->type);
    words[8] = -2;
    words[9] = -1;
    if (status)
        matched_words(words + 8, receive, status);
    words[10] = send->flags;
    call_end(stream, call, CLASS_SEND_RECEIVE, words, EXCHANGE_WORDS - !send->flags);
}

void exchange_after(struct stream *stream, struct call *call, const struct send *send,
                    const struct receive *receive, int result, const struct status_place *status)
{
    if (!failed(stream, call, result))
        end_exchange(stream, call, send, receive, status);
}

void exchange_started(struct stream *stream, struct call *call, const struct send *send,
                      const struct receive *receive, int result, MPI_Request request)
{
    if (failed(stream, call, result))
        return;
    end_exchange(stream, call, send, receive, NULL);
    request_started(stream, request,
                    REQUEST_ACTIVE | (receive_wildcard(receive) ? REQUEST_WILDCARD : 0), NULL);
}

/* --- probes --- */

enum { PROBE_TEST = 1, PROBE_FOUND = 2 };

void probe_after(struct stream *stream, struct call *call, const struct probe *probe, int result,
                 bool found, const struct status_place *status)
{
    if (failed(stream, call, result))
        return;
    struct receive receive = {.peer = probe->peer, .tag = probe->tag};
    int64_t flags = (probe->test ? PROBE_TEST : 0) | (found ? PROBE_FOUND : 0);
    int64_t words[PROBE_WORDS] = {communicator_get(probe->comm)->number,
                                  peer_word(probe->peer),
                                  tag_word(probe->tag),
                                  flags,
                                  -2,
                                  -1};
    if (found)
        matched_words(words + 4, &receive, status);
    call_end(stream, call, CLASS_PROBE, words, PROBE_WORDS);
}

/* Remembers the envelope for the MPI_Mrecv that will name only the message. */
void message_found(const struct probe *probe, int result, bool found, MPI_Message message,
                   const struct status_place *status)
{
    struct receive receive = {.peer = probe->peer, .tag = probe->tag};
    int64_t matched[2];
    if (result != MPI_SUCCESS || !found || message == predefined.message_null ||
        message == predefined.message_no_proc)
        return;
    matched_words(matched, &receive, status);
    MPI_Comm *comm = malloc(sizeof *comm);
    if (!comm)
        return;
    *comm = probe->comm;
    uint64_t packed = (uint64_t)(uint32_t)matched[0] << 32 | (uint32_t)matched[1];
    table_add(&messages, &(struct entry){.key = KEY(message), .number = packed, .pointer = comm});
}

void message_envelope(MPI_Message message, struct receive *receive)
{
    struct entry found;
    receive->peer = MPI_PROC_NULL;
    receive->comm = predefined.comm_world;
    if (!table_take(&messages, KEY(message), &found))
        return;
    receive->comm = *(MPI_Comm *)found.pointer;
    receive->peer = (int32_t)(found.number >> 32);
    receive->tag = (int32_t)(uint32_t)found.number;
    free(found.pointer);
}
