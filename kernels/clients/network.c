/* Messages of one rank to another, and up to which size their sender does not wait. */
#include "clients.h"

#include <time.h>

enum { TAG_TRIP = 2, TAG_GO = 3, TAG_LATE = 4 };
enum { LEAST_BYTES = 8, MOST_TRIPS = 1000 };
/* So long a message goes to and fro; longer ones are not tried. */
static const double TRIPS_S = 0.05, LONGEST_MESSAGE_S = 0.05;
/* A receiver that is late for so long, and three times as long as the message takes, is waited
 * for by senders that wait. */
static const double LATE_S = 5e-3;

static void send_to(struct clients *clients, int peer, int64_t bytes, int tag)
{
    MPI_Send(clients->buffer, (int)bytes, MPI_BYTE, peer, tag, MPI_COMM_WORLD);
}

static void receive_from(struct clients *clients, int peer, int64_t bytes, int tag)
{
    MPI_Recv(clients->buffer, (int)bytes, MPI_BYTE, peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static double there_and_back(struct clients *clients, int peer, bool begins, int64_t bytes,
                             int trips)
{
    const double begin = MPI_Wtime();
    for (int i = 0; i < trips; i++) {
        if (begins)
            send_to(clients, peer, bytes, TAG_TRIP);
        receive_from(clients, peer, bytes, TAG_TRIP);
        if (!begins)
            send_to(clients, peer, bytes, TAG_TRIP);
    }
    return MPI_Wtime() - begin;
}

/* The mean of many takes there and back, one way. */
static double one_way(struct clients *clients, int peer, bool begins, int64_t bytes)
{
    there_and_back(clients, peer, begins, bytes, 1);
    const double once = there_and_back(clients, peer, begins, bytes, 1);
    int trips = once > 0 && TRIPS_S / once < MOST_TRIPS ? (int)(TRIPS_S / once) + 1 : MOST_TRIPS;
    if (begins)
        MPI_Send(&trips, 1, MPI_INT, peer, TAG_GO, MPI_COMM_WORLD);
    else
        MPI_Recv(&trips, 1, MPI_INT, peer, TAG_GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return there_and_back(clients, peer, begins, bytes, trips) / (2.0 * trips);
}

/* Which of the two this rank is; -1: neither. */
static int among(const struct clients *clients, const int rank[2])
{
    return clients->rank == rank[0] ? 0 : clients->rank == rank[1] ? 1 : -1;
}

static double message_s(struct clients *clients, enum where where, int64_t bytes)
{
    int rank[2];
    double seconds = 0;
    draw_pair(clients, where, rank);
    const int index = among(clients, rank);
    meet();
    if (index >= 0)
        seconds = one_way(clients, rank[1 - index], index == 0, bytes);
    return slowest(index == 0 ? seconds : 0);
}

int make_message(struct clients *clients, const struct experiment *experiment)
{
    const int64_t most = clients->largest_bytes[experiment->where];
    const int64_t bytes =
        experiment->held_out ? draw_size(clients, LEAST_BYTES, most) : experiment->bytes;
    report(clients, experiment,
           &(struct sample){"message", experiment->where, 2, bytes, 0, 1,
                            message_s(clients, experiment->where, bytes)});
    return 0;
}

static int64_t largest(struct clients *clients, enum where where)
{
    int64_t bytes = 64 * KIB;
    while (bytes < BUFFER_BYTES && message_s(clients, where, bytes) < LONGEST_MESSAGE_S)
        bytes *= 2;
    return bytes;
}

void choose_largest(struct clients *clients)
{
    if (clients->nodes > 1)
        clients->largest_bytes[BETWEEN] = largest(clients, BETWEEN);
    if (has_inside(clients))
        clients->largest_bytes[INSIDE] = largest(clients, INSIDE);
}

/* --- eager messages --- */

static bool send_late(struct clients *clients, int peer, int64_t bytes)
{
    char go;
    double late = LATE_S + 1.5 * there_and_back(clients, peer, true, bytes, 1);
    MPI_Send(&late, 1, MPI_DOUBLE, peer, TAG_GO, MPI_COMM_WORLD);
    MPI_Recv(&go, 1, MPI_CHAR, peer, TAG_GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    const double begin = MPI_Wtime();
    send_to(clients, peer, bytes, TAG_LATE);
    return MPI_Wtime() - begin > 0.6 * late;
}

static void receive_late(struct clients *clients, int peer, int64_t bytes)
{
    char go = 0;
    double late;
    there_and_back(clients, peer, false, bytes, 1);
    MPI_Recv(&late, 1, MPI_DOUBLE, peer, TAG_GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&go, 1, MPI_CHAR, peer, TAG_GO, MPI_COMM_WORLD);
    const struct timespec pause = {(time_t)late, (long)((late - (double)(time_t)late) * 1e9)};
    nanosleep(&pause, NULL);
    receive_from(clients, peer, bytes, TAG_LATE);
}

/* Whether a message of that size makes its sender wait for a receiver who is late. */
static bool waits(struct clients *clients, const int rank[2], int64_t bytes)
{
    bool waited = false;
    const int index = among(clients, rank);
    meet();
    if (index == 0)
        waited = send_late(clients, rank[1], bytes);
    else if (index == 1)
        receive_late(clients, rank[0], bytes);
    return slowest(waited) > 0;
}

/* bytes: the largest that does not wait; block_bytes: the smallest that does, 0 where none does. */
int make_eager(struct clients *clients, const struct experiment *experiment)
{
    int rank[2];
    int64_t eager = 0, waiting = clients->largest_bytes[experiment->where];
    draw_pair(clients, experiment->where, rank);
    if (!waits(clients, rank, waiting)) {
        eager = waiting;
        waiting = 0;
    }
    while (waiting > 0 && waiting - eager > (eager / 64 > LEAST_BYTES ? eager / 64 : LEAST_BYTES)) {
        const int64_t tried = (eager + waiting) / 2;
        *(waits(clients, rank, tried) ? &waiting : &eager) = tried;
    }
    report(clients, experiment,
           &(struct sample){"eager", experiment->where, 2, eager, waiting, 1, 0});
    return 0;
}
