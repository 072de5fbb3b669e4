/* clocks.c: how far the clock of this rank's node is from rank 0's.
 *
 * Nodes are told apart by what their clocks depend on: host, boot, time namespace. The first rank
 * of every other node and rank 0 play ping-pong, in groups of a few round trips, within which no
 * clock drifts notably. What the fastest way there and the fastest way back differ by is twice the
 * offset, and half of their sum bounds the error (Cristian 1989); ways that met a delay do not
 * count, and the two need not be of one round trip. The group with the least sum counts, and there
 * are as many as find a lesser one now and then. Whoever is not at it sleeps: on a node with more
 * ranks than cores, one that polls would take its turn from the two that measure.
 *
 * These are the only messages capture sends. They cannot meet the program's: at MPI_Init no other
 * message exists yet, the rest goes over a duplicate of MPI_COMM_WORLD, made while no attribute
 * exists whose copying could be seen. All ranks take part, whether their own stream could be opened
 * or not; a rank without capture would let the others wait for ever. So nothing is sent unless
 * `tailrace run`, who knows whether all ranks get its environment, says so by
 * TAILRACE_CLOCK_ALIGNMENT: "auto" (unless the launcher says that all ranks are on one node), or
 * "always" (tests: one host with several clocks).
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "../system.h"
#include "../text.h"
#include "flavour.h"

enum {
    GROUP = 10,          /* round trips, a fraction of a millisecond */
    GROUPS_IN_VAIN = 20, /* that find none better than before: it is as good as it gets */
    LONGEST_NS = 50000000,
    LONGEST_OF_ALL_NS = 1000000000, /* rank 0 serves one node after the other */
    SLEEP_NS = 200000,
    TAG = 1,
    TAG_TURN = 2,
    TAG_RESULT = 3,
};

/* In place of a time: no round trip follows. */
#define NO_MORE INT64_MIN

struct offset {
    int64_t monotonic_ns, add_ns, uncertainty_ns;
};

static MPI_Comm clocks_comm;
static uint64_t *nodes; /* of every rank; NULL: one clock */
static int rank, ranks;

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* --- whether there is anything to align --- */

static int environment_number(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? (int)text_decimal(value) : -1;
}

/* Launchers tell every rank how many of the ranks are on its node. */
static bool one_node(void)
{
    static const char *const local[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS",
                                        "MV2_COMM_WORLD_LOCAL_SIZE", NULL};
    for (int i = 0; local[i]; i++)
        if (environment_number(local[i]) == ranks)
            return true;
    return environment_number("SLURM_STEP_NUM_NODES") == 1;
}

static bool wanted(void)
{
    const char *choice = getenv("TAILRACE_CLOCK_ALIGNMENT");
    if (ranks < 2 || !choice)
        return false;
    return !strcmp(choice, "always") || (!strcmp(choice, "auto") && !one_node());
}

static void add_file(char *text, size_t room, const char *path)
{
    size_t used = strlen(text);
    FILE *file = fopen(path, "re");
    if (file && !fgets(text + used, (int)(room - used), file))
        text[used] = 0;
    if (file)
        fclose(file);
}

static uint64_t node_identity(void)
{
    char text[512] = "";
    gethostname(text, 256);
    add_file(text, sizeof text - 64, "/proc/sys/kernel/random/boot_id");
    size_t used = strlen(text);
    ssize_t bytes = readlink("/proc/self/ns/time", text + used, sizeof text - used - 1);
    text[used + (bytes < 0 ? 0 : (size_t)bytes)] = 0;
    return salt_of_string(text);
}

/* True where there is more than one clock. All ranks come to the same answer. */
static bool exchange_nodes(void)
{
    uint64_t own = node_identity();
    if (mpi.Allgather(&own, sizeof own, predefined.byte, nodes, sizeof own, predefined.byte,
                      predefined.comm_world) != MPI_SUCCESS)
        return false;
    for (int i = 1; i < ranks; i++)
        if (nodes[i] != nodes[0])
            return true;
    return false;
}

/* A rank without memory for a few bytes per rank cannot take part in what the others are in
 * already: MPI itself would end the program here. The memory is therefore taken from the kernel,
 * which grants it and ends the program later, or never. */
static void hold_memory(void)
{
    nodes = system_map_memory((size_t)ranks * sizeof *nodes);
}

static void release_memory(void)
{
    if (nodes)
        system_unmap(nodes, (size_t)ranks * sizeof *nodes);
    nodes = NULL;
}

/* --- measuring --- */

static int leader_of(int member)
{
    int leader = 0;
    while (nodes[leader] != nodes[member])
        leader++;
    return leader;
}

/* As Recv, but without polling until there is something. */
static void receive_asleep(void *data, int bytes, int from, int tag)
{
    const struct timespec a_while = {0, SLEEP_NS};
    MPI_Status status;
    int there = 0;
    while (mpi.Iprobe(from, tag, clocks_comm, &there, &status) == MPI_SUCCESS && !there)
        nanosleep(&a_while, NULL);
    mpi.Recv(data, bytes, predefined.byte, from, tag, clocks_comm, &status);
}

static void send(const void *data, int bytes, int to, int tag)
{
    mpi.Send(data, bytes, predefined.byte, to, tag, clocks_comm);
}

/* Rank 0's part, until the other has enough. */
static void answer(int leader, int64_t longest_ns)
{
    int64_t asked = 0, now;
    MPI_Status status;
    send(&longest_ns, sizeof longest_ns, leader, TAG_TURN);
    receive_asleep(&asked, sizeof asked, leader, TAG);
    while (asked != NO_MORE) {
        now = now_ns();
        send(&now, sizeof now, leader, TAG);
        mpi.Recv(&asked, sizeof asked, predefined.byte, leader, TAG, clocks_comm, &status);
    }
}

/* One round trip: how far rank 0's clock seems ahead of ours on the way there, and behind on the way
 * back; our time in its middle. */
static int64_t ask_once(int64_t *there, int64_t *back)
{
    MPI_Status status;
    int64_t of_rank_0 = 0, begin = now_ns();
    mpi.Send(&begin, sizeof begin, predefined.byte, 0, TAG, clocks_comm);
    mpi.Recv(&of_rank_0, sizeof of_rank_0, predefined.byte, 0, TAG, clocks_comm, &status);
    int64_t end = now_ns();
    *there = of_rank_0 - begin;
    *back = end - of_rank_0;
    return begin + (end - begin) / 2;
}

static struct offset ask_group(void)
{
    int64_t least_there = INT64_MAX, least_back = INT64_MAX, there, back, first = 0, middle = 0;
    for (int i = 0; i < GROUP; i++) {
        middle = ask_once(&there, &back);
        first = i ? first : middle;
        least_there = there < least_there ? there : least_there;
        least_back = back < least_back ? back : least_back;
    }
    return (struct offset){first + (middle - first) / 2, (least_there - least_back) / 2,
                           (least_there + least_back) / 2 + 1};
}

static struct offset ask(void)
{
    int64_t longest_ns = 0, none = NO_MORE;
    receive_asleep(&longest_ns, sizeof longest_ns, 0, TAG_TURN);
    int64_t begin = now_ns();
    struct offset best = ask_group();
    for (int in_vain = 0; in_vain < GROUPS_IN_VAIN && now_ns() - begin < longest_ns; in_vain++) {
        struct offset found = ask_group();
        if (found.uncertainty_ns < best.uncertainty_ns) {
            best = found;
            in_vain = 0;
        }
    }
    send(&none, sizeof none, 0, TAG);
    return best;
}

static bool is_leader(int member)
{
    return nodes[member] != nodes[0] && leader_of(member) == member;
}

static void answer_all(void)
{
    int leaders = 0;
    for (int i = 1; i < ranks; i++)
        leaders += is_leader(i);
    int64_t each_ns = leaders ? LONGEST_OF_ALL_NS / leaders : 0;
    for (int i = 1; i < ranks; i++)
        if (is_leader(i))
            answer(i, each_ns < LONGEST_NS ? each_ns : LONGEST_NS);
}

/* A node's other ranks learn what its first found. */
static void spread(struct offset *found)
{
    int leader = leader_of(rank);
    if (leader != rank)
        receive_asleep(found, sizeof *found, leader, TAG_RESULT);
    else
        for (int i = rank + 1; i < ranks; i++)
            if (nodes[i] == nodes[rank])
                send(found, sizeof *found, i, TAG_RESULT);
}

static void align(const char *when)
{
    struct offset found = {now_ns(), 0, 0};
    char text[128];
    if (rank == 0)
        answer_all();
    else if (is_leader(rank))
        found = ask();
    spread(&found);
    snprintf(text, sizeof text, "%s,%lld,%lld,%lld", when, (long long)found.monotonic_ns,
             (long long)found.add_ns, (long long)found.uncertainty_ns);
    tailrace_meta("clock_offset", text);
}

void clocks_align_begin(void)
{
    mpi.Comm_rank(predefined.comm_world, &rank);
    mpi.Comm_size(predefined.comm_world, &ranks);
    if (!wanted())
        return;
    tailrace_suppress_begin();
    hold_memory();
    if (!nodes || !exchange_nodes() ||
        mpi.Comm_dup(predefined.comm_world, &clocks_comm) != MPI_SUCCESS)
        release_memory();
    tailrace_suppress_end();
    if (nodes)
        align("begin");
}

void clocks_align_end(void)
{
    if (!nodes)
        return;
    align("end");
    tailrace_suppress_begin();
    mpi.Comm_free(&clocks_comm);
    tailrace_suppress_end();
    release_memory();
}
