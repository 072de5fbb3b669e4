/* Two nodes that write by turns: in one file, near to each other or far apart, and in files of
 * their own. What the first takes longer than the last is what sharing a file takes. */
#include "clients.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* With the first, which is not timed, 64 KiB of each. */
enum { TAG_TURN = 7, TURNS = 15 };

struct turns {
    int64_t apart;
    int index, peer;
    int file;
    char path[4096];
};

static int64_t place_of(const struct turns *turns, int turn)
{
    if (turns->apart == SMALL_BYTES)
        return (2 * turn + turns->index) * (int64_t)SMALL_BYTES;
    return turns->index * turns->apart + turn * (int64_t)SMALL_BYTES;
}

static int write_small(struct clients *clients, const struct turns *turns, int turn)
{
    if (pwrite(turns->file, clients->buffer, SMALL_BYTES, place_of(turns, turn)) == SMALL_BYTES)
        return 0;
    return failure_of_system(&clients->problem, "write", turns->path);
}

static int synchronize(struct clients *clients, const struct turns *turns)
{
    return fsync(turns->file) == 0
               ? 0
               : failure_of_system(&clients->problem, "synchronize", turns->path);
}

static void pass_on(const struct turns *turns)
{
    char token = 0;
    MPI_Send(&token, 1, MPI_CHAR, turns->peer, TAG_TURN, MPI_COMM_WORLD);
}

static void await(const struct turns *turns)
{
    char token;
    MPI_Recv(&token, 1, MPI_CHAR, turns->peer, TAG_TURN, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* The first goes, and then the other; turn TURNS + 1 synchronizes. */
static int one_turn(struct clients *clients, const struct turns *turns, int turn)
{
    int failed;
    if (turns->index == 1)
        await(turns);
    failed = turn > TURNS ? synchronize(clients, turns) : write_small(clients, turns, turn);
    pass_on(turns);
    if (turns->index == 0)
        await(turns);
    return failed;
}

/* What a turn takes, until all is on the servers; -1 where something failed. */
static double take_turns(struct clients *clients, const struct turns *turns)
{
    int failed = one_turn(clients, turns, 0);
    const double begin = MPI_Wtime();
    for (int turn = 1; turn <= TURNS + 1; turn++)
        failed |= one_turn(clients, turns, turn);
    return failed ? -1 : (MPI_Wtime() - begin) / (2 * TURNS);
}

static void name_turns(const struct clients *clients, struct turns *turns)
{
    snprintf(turns->path, sizeof turns->path, "%s/turns-%d-%d", clients->directory, clients->files,
             turns->apart ? 0 : turns->index);
}

static void open_turns(struct clients *clients, struct turns *turns)
{
    name_turns(clients, turns);
    turns->file = open(turns->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (turns->file < 0)
        failure_of_system(&clients->problem, "open", turns->path);
}

int make_turns(struct clients *clients, const struct experiment *experiment)
{
    struct team team = draw_team(clients, 2);
    struct turns turns = {.apart = experiment->bytes, .index = team.index, .file = -1};
    double seconds = 0;
    if (turns.index == 0)
        open_turns(clients, &turns);
    meet();
    if (turns.index == 1)
        open_turns(clients, &turns);
    const double opened = sum_of(turns.index >= 0 && turns.file >= 0);
    if (turns.index >= 0 && opened > 1) {
        turns.peer = team.rank[1 - turns.index];
        seconds = take_turns(clients, &turns);
    }
    if (turns.file >= 0)
        close(turns.file);
    const int failed = turns.index >= 0 && (turns.file < 0 || seconds < 0) ? -1 : 0;
    seconds = slowest(turns.index == 0 ? seconds : 0);
    if (turns.index == 0 || (turns.index == 1 && turns.apart == 0))
        unlink(turns.path);
    report(clients, experiment,
           &(struct sample){"turns", BETWEEN, 2, turns.apart, SMALL_BYTES, TURNS, seconds});
    free_team(&team);
    clients->files++;
    return failed;
}
