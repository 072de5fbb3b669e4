/* Which ranks take part, drawn by a lot that falls alike on all ranks, and how they meet. */
#include "allocation.h"
#include "clients.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

enum { TAG_BEGIN = 1 };

/* Nodes in the order of their first ranks. */
static void take_node(struct clients *clients, const int *leader, int first)
{
    int *start = &clients->start[clients->nodes];
    start[1] = start[0];
    for (int rank = first; rank < clients->ranks; rank++)
        if (leader[rank] == first)
            clients->member[start[1]++] = rank;
    clients->nodes++;
}

/* The first rank of this rank's node. */
static int first_here(const struct clients *clients)
{
    MPI_Comm here;
    int first = clients->rank;
    if (clients->ranks_per_node > 0)
        return clients->rank - clients->rank % clients->ranks_per_node;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, clients->rank, MPI_INFO_NULL, &here);
    MPI_Bcast(&first, 1, MPI_INT, 0, here);
    MPI_Comm_free(&here);
    return first;
}

void find_nodes(struct clients *clients)
{
    const int mine = first_here(clients);
    int *leader = gridio_allocate((size_t)clients->ranks, sizeof *leader);
    MPI_Allgather(&mine, 1, MPI_INT, leader, 1, MPI_INT, MPI_COMM_WORLD);
    clients->member = gridio_allocate((size_t)clients->ranks, sizeof *clients->member);
    clients->start = gridio_allocate((size_t)clients->ranks + 1, sizeof *clients->start);
    for (int rank = 0; rank < clients->ranks; rank++)
        if (leader[rank] == rank)
            take_node(clients, leader, rank);
    free(leader);
}

int ranks_on(const struct clients *clients, int node)
{
    return clients->start[node + 1] - clients->start[node];
}

bool has_inside(const struct clients *clients)
{
    return clients->ranks > clients->nodes;
}

/* --- lots --- */

/* splitmix64 */
static uint64_t draw(struct clients *clients)
{
    uint64_t x = clients->lot += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

int draw_below(struct clients *clients, int bound)
{
    return (int)(draw(clients) % (uint64_t)bound);
}

double draw_share(struct clients *clients)
{
    return (double)(draw(clients) >> 11) * 0x1p-53;
}

int64_t draw_size(struct clients *clients, int64_t least, int64_t most)
{
    const double magnitude = log2((double)most / (double)least) * draw_share(clients);
    return (int64_t)((double)least * exp2(magnitude));
}

void draw_order(struct clients *clients, int count, int *order)
{
    for (int i = 0; i < count; i++)
        order[i] = i;
    for (int i = count - 1; i > 0; i--) {
        const int j = draw_below(clients, i + 1), taken = order[i];
        order[i] = order[j];
        order[j] = taken;
    }
}

/* Its place among the node's ranks is drawn, too. */
static int draw_member(struct clients *clients, int node)
{
    return clients->member[clients->start[node] + draw_below(clients, ranks_on(clients, node))];
}

static void draw_pair_inside(struct clients *clients, int rank[2])
{
    int node;
    do
        node = draw_below(clients, clients->nodes);
    while (ranks_on(clients, node) < 2);
    rank[0] = rank[1] = draw_member(clients, node);
    while (rank[1] == rank[0])
        rank[1] = draw_member(clients, node);
}

void draw_pair(struct clients *clients, enum where where, int rank[2])
{
    if (where == INSIDE) {
        draw_pair_inside(clients, rank);
        return;
    }
    const int first = draw_below(clients, clients->nodes);
    const int second = (first + 1 + draw_below(clients, clients->nodes - 1)) % clients->nodes;
    rank[0] = draw_member(clients, first);
    rank[1] = draw_member(clients, second);
}

struct team draw_team(struct clients *clients, int size)
{
    struct team team = {size, -1, gridio_allocate((size_t)size, sizeof *team.rank)};
    int *order = gridio_allocate((size_t)clients->nodes, sizeof *order);
    draw_order(clients, clients->nodes, order);
    for (int filled = 0, turn = 0; filled < size; turn++) {
        const int node = order[turn % clients->nodes], place = turn / clients->nodes;
        if (place >= ranks_on(clients, node))
            continue;
        team.rank[filled] = clients->member[clients->start[node] + place];
        if (team.rank[filled] == clients->rank)
            team.index = filled;
        filled++;
    }
    free(order);
    return team;
}

void free_team(struct team *team)
{
    free(team->rank);
}

/* --- meeting --- */

void meet(void)
{
    struct timespec pause = {0, 20000};
    MPI_Request all;
    int met = 0;
    MPI_Ibarrier(MPI_COMM_WORLD, &all);
    while (MPI_Test(&all, &met, MPI_STATUS_IGNORE), !met) {
        nanosleep(&pause, NULL);
        if (pause.tv_nsec < 1000000)
            pause.tv_nsec *= 2;
    }
}

void begin_together(const struct team *team)
{
    char token = 0;
    if (team->index > 0) {
        MPI_Send(&token, 1, MPI_CHAR, team->rank[0], TAG_BEGIN, MPI_COMM_WORLD);
        MPI_Recv(&token, 1, MPI_CHAR, team->rank[0], TAG_BEGIN, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    for (int i = 1; team->index == 0 && i < team->size; i++)
        MPI_Recv(&token, 1, MPI_CHAR, team->rank[i], TAG_BEGIN, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 1; team->index == 0 && i < team->size; i++)
        MPI_Send(&token, 1, MPI_CHAR, team->rank[i], TAG_BEGIN, MPI_COMM_WORLD);
}

static double over_all(double number, MPI_Op operation)
{
    meet();
    MPI_Allreduce(MPI_IN_PLACE, &number, 1, MPI_DOUBLE, operation, MPI_COMM_WORLD);
    return number;
}

double slowest(double seconds)
{
    return over_all(seconds, MPI_MAX);
}

double sum_of(double number)
{
    return over_all(number, MPI_SUM);
}
