/* clocks.c: how far the clock of this rank's node is from rank 0's.
 *
 * Nodes are told apart by what their clocks depend on: host, boot, time namespace. The first rank
 * of every other node and rank 0 play ping-pong; of about twenty round trips the fastest counts,
 * and half of it bounds the error (Cristian 1989).
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
#include "flavour.h"

enum { ROUND_TRIPS = 20, TAG = 1 };

struct offset {
    int64_t monotonic_ns, add_ns, uncertainty_ns;
};

static MPI_Comm clocks_comm;
static uint64_t *nodes; /* of every rank; NULL: one clock */
static struct offset *offsets;
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
    return value && *value ? atoi(value) : -1;
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
    offsets = system_map_memory((size_t)ranks * sizeof *offsets);
}

static void release_memory(void)
{
    if (nodes)
        system_unmap(nodes, (size_t)ranks * sizeof *nodes);
    if (offsets)
        system_unmap(offsets, (size_t)ranks * sizeof *offsets);
    nodes = NULL;
    offsets = NULL;
}

/* --- measuring --- */

static int leader_of(int member)
{
    int leader = 0;
    while (nodes[leader] != nodes[member])
        leader++;
    return leader;
}

static void answer(int leader)
{
    int64_t ignored, now;
    MPI_Status status;
    for (int i = 0; i < ROUND_TRIPS; i++) {
        mpi.Recv(&ignored, sizeof ignored, predefined.byte, leader, TAG, clocks_comm, &status);
        now = now_ns();
        mpi.Send(&now, sizeof now, predefined.byte, leader, TAG, clocks_comm);
    }
}

static struct offset ask(void)
{
    struct offset best = {0, 0, INT64_MAX};
    MPI_Status status;
    for (int i = 0; i < ROUND_TRIPS; i++) {
        int64_t there = 0, begin = now_ns();
        mpi.Send(&begin, sizeof begin, predefined.byte, 0, TAG, clocks_comm);
        mpi.Recv(&there, sizeof there, predefined.byte, 0, TAG, clocks_comm, &status);
        int64_t end = now_ns(), middle = begin + (end - begin) / 2;
        if (end - begin < 2 * best.uncertainty_ns || i == 0)
            best = (struct offset){middle, there - middle, (end - begin) / 2 + 1};
    }
    return best;
}

static void answer_all(void)
{
    for (int i = 1; i < ranks; i++)
        if (nodes[i] != nodes[0] && leader_of(i) == i)
            answer(i);
}

/* Every rank learns what its node's first rank found. */
static void spread(const struct offset *own, struct offset *found)
{
    *found = *own;
    if (mpi.Allgather(own, sizeof *own, predefined.byte, offsets, sizeof *own, predefined.byte,
                      clocks_comm) == MPI_SUCCESS)
        *found = offsets[leader_of(rank)];
}

static void align(const char *when)
{
    struct offset own = {now_ns(), 0, 0}, found;
    char text[128];
    if (rank == 0)
        answer_all();
    else if (leader_of(rank) == rank && nodes[rank] != nodes[0])
        own = ask();
    spread(&own, &found);
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
    if (!nodes || !offsets || !exchange_nodes() ||
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
