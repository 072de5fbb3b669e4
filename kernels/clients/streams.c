/* How much a rank's messages move when one follows another, and those of all ranks of a node. */
#include "clients.h"

enum { TAG_STREAM = 5, TAG_ARRIVED = 6, MOST_MESSAGES = 1 << 20 };
static const double STREAM_S = 0.2;

struct stream_of_messages {
    int peer; /* -1: this rank has no part */
    bool sends;
    int ranks; /* that send */
    int64_t bytes;
};

/* Until the last has arrived. */
static double streamed(struct clients *clients, const struct stream_of_messages *stream, int count)
{
    char token = 0;
    double begin = 0, end = 0;
    meet();
    if (stream->peer >= 0) {
        MPI_Sendrecv_replace(&token, 1, MPI_CHAR, stream->peer, TAG_ARRIVED, stream->peer,
                             TAG_ARRIVED, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        begin = MPI_Wtime();
        for (int i = 0; i < count; i++)
            if (stream->sends)
                MPI_Send(clients->buffer, (int)stream->bytes, MPI_BYTE, stream->peer, TAG_STREAM,
                         MPI_COMM_WORLD);
            else
                MPI_Recv(clients->buffer, (int)stream->bytes, MPI_BYTE, stream->peer, TAG_STREAM,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (stream->sends)
            MPI_Recv(&token, 1, MPI_CHAR, stream->peer, TAG_ARRIVED, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        else
            MPI_Send(&token, 1, MPI_CHAR, stream->peer, TAG_ARRIVED, MPI_COMM_WORLD);
        end = MPI_Wtime();
    }
    return slowest(end - begin);
}

static void choose_two(const struct clients *clients, const int rank[2],
                       struct stream_of_messages *stream)
{
    for (int i = 0; i < 2; i++)
        if (rank[i] == clients->rank) {
            stream->peer = rank[1 - i];
            stream->sends = i == 0;
        }
    stream->ranks = 1;
}

/* Each rank of one node sends to a rank of another, as far as there are enough of them. */
static void choose_all(struct clients *clients, struct stream_of_messages *stream)
{
    const int from = draw_below(clients, clients->nodes);
    const int to = (from + 1 + draw_below(clients, clients->nodes - 1)) % clients->nodes;
    const int here = ranks_on(clients, from), there = ranks_on(clients, to);
    const int pairs = here < there ? here : there;
    for (int i = 0; i < pairs; i++)
        choose_two(clients,
                   (const int[]){clients->member[clients->start[from] + i],
                                 clients->member[clients->start[to] + i]},
                   stream);
    stream->ranks = pairs;
}

/* Twice as many messages until it takes long enough; what the second half took is free of what
 * queues on the way took at once. */
int make_stream(struct clients *clients, const struct experiment *experiment)
{
    const int64_t largest = clients->largest_bytes[experiment->where];
    struct stream_of_messages stream = {.peer = -1, .bytes = largest < MIB ? largest : MIB};
    int rank[2], count = 1, before = 0;
    double seconds, before_s = 0;
    if (experiment->ranks == 0)
        choose_all(clients, &stream);
    else {
        draw_pair(clients, experiment->where, rank);
        choose_two(clients, rank, &stream);
    }
    while ((seconds = streamed(clients, &stream, count)) < STREAM_S && count < MOST_MESSAGES) {
        before = count;
        before_s = seconds;
        count *= 2;
    }
    if (seconds - before_s < 0.35 * seconds) /* something disturbed the first half */
        before = 0, before_s = 0;
    report(clients, experiment,
           &(struct sample){"stream", experiment->where, stream.ranks,
                            stream.bytes * stream.ranks * (count - before), stream.bytes,
                            count - before, seconds - before_s});
    return 0;
}
