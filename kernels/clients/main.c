/* clients: rounds of experiments, each of them made once in a round. */
#include "clients.h"
#include "allocation.h"
#include "program.h"
#include "records.h"
#include "timing.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { EXPERIMENTS_AT_MOST = 160, FEW_ROUNDS = 3 };

struct measurement {
    struct clients clients;
    struct experiment experiment[EXPERIMENTS_AT_MOST];
    int experiments;
    int64_t budget_s, least_rounds, most_rounds;
};

static const int64_t MESSAGE_BYTES[] = {8, 1 * KIB, 8 * KIB, 64 * KIB, 512 * KIB};
/* 0: files of their own. */
static const int64_t APART_BYTES[] = {0, SMALL_BYTES, 64 * KIB, MIB, 16 * MIB};

#define COUNT_OF(list) ((int)(sizeof(list) / sizeof *(list)))

static int take_plan(struct measurement *measurement, struct plan *plan)
{
    struct plan_section *own = &plan->section[0];
    struct clients *clients = &measurement->clients;
    const char *directory = plan_must(plan, own, "directory");
    if (strlen(directory) >= sizeof clients->directory)
        plan_wrong(plan, plan_find(plan, own, "directory"), "is too long");
    snprintf(clients->directory, sizeof clients->directory, "%s", directory);
    clients->bulk_bytes = plan_number(plan, own, "bulk_bytes", MIB, INT64_C(1) << 40, 16 * MIB);
    clients->lot = (uint64_t)plan_number(plan, own, "seed", INT64_MIN + 1, INT64_MAX, 1);
    clients->ranks_per_node = (int)plan_number(plan, own, "ranks_per_node", 0, 1 << 20, 0);
    measurement->budget_s = plan_number(plan, own, "budget_s", 1, 1 << 30, 60);
    measurement->least_rounds = plan_number(plan, own, "least_rounds", 1, 1000, FEW_ROUNDS);
    measurement->most_rounds = plan_number(plan, own, "most_rounds", 1, 1000, 30);
    return program_fail_plan(plan);
}

/* --- whether all nodes see the directory --- */

/* A client may need a moment to see what another made. */
static bool sees(const char *path)
{
    const struct timespec pause = {0, 100000000};
    for (int tries = 0; tries < 30; tries++) {
        if (access(path, R_OK | W_OK) == 0)
            return true;
        nanosleep(&pause, NULL);
    }
    return false;
}

static int check_directory(struct clients *clients)
{
    char path[4096], node[MPI_MAX_PROCESSOR_NAME];
    int failed = 0, length;
    snprintf(path, sizeof path, "%s/seen", clients->directory);
    MPI_Get_processor_name(node, &length);
    const int file = clients->rank == 0 ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (file >= 0)
        close(file);
    MPI_Barrier(MPI_COMM_WORLD);
    if (!sees(path)) {
        snprintf(clients->problem.sentence, sizeof clients->problem.sentence,
                 "'%.700s' is not visible on %.200s: %s", clients->directory, node,
                 strerror(errno));
        failed = -1;
    }
    if (failure_agree(&clients->problem, failed, MPI_COMM_WORLD) == DONE)
        return DONE;
    return program_fail(FAILED, "give a directory that every node sees and you may write to", "%s",
                        clients->problem.sentence);
}

/* --- which experiments --- */

static void add(struct measurement *measurement, struct experiment experiment)
{
    if (measurement->experiments < EXPERIMENTS_AT_MOST)
        measurement->experiment[measurement->experiments++] = experiment;
}

static void add_messages(struct measurement *measurement, enum where where)
{
    const int64_t largest = measurement->clients.largest_bytes[where];
    for (int i = 0; i < COUNT_OF(MESSAGE_BYTES); i++)
        if (MESSAGE_BYTES[i] < largest)
            add(measurement, (struct experiment){make_message, where, 2, MESSAGE_BYTES[i], 0, 0});
    add(measurement, (struct experiment){make_message, where, 2, largest, 0, 0});
    add(measurement, (struct experiment){make_stream, where, 1, 0, 0, 0});
}

static void add_network(struct measurement *measurement)
{
    const struct clients *clients = &measurement->clients;
    const bool inside = has_inside(clients), between = clients->nodes > 1;
    if (between)
        add_messages(measurement, BETWEEN);
    if (inside)
        add_messages(measurement, INSIDE);
    if (between && inside)
        add(measurement, (struct experiment){make_stream, BETWEEN, 0, 0, 0, 0});
    add(measurement,
        (struct experiment){make_eager, between ? BETWEEN : INSIDE, 2, 0, FEW_ROUNDS, 0});
    for (int i = 0, count = measurement->experiments / 2; i < count; i++)
        add(measurement,
            (struct experiment){make_message, inside && (!between || i % 3 == 2) ? INSIDE : BETWEEN,
                                2, 0, 0, true});
}

/* 1, 2, 4, … and all. */
static int next_number(int number, int all)
{
    return number < all && 2 * number > all ? all : 2 * number;
}

static void add_files(struct measurement *measurement)
{
    const struct clients *clients = &measurement->clients;
    const int before = measurement->experiments;
    for (int nodes = 1; nodes <= clients->nodes; nodes = next_number(nodes, clients->nodes))
        add(measurement, (struct experiment){make_bulk, BETWEEN, nodes, 0, 0, 0});
    for (int ranks = 1; ranks <= clients->ranks; ranks = next_number(ranks, clients->ranks))
        add(measurement, (struct experiment){make_names, BETWEEN, ranks, 0, 0, 0});
    for (int i = 0; i < COUNT_OF(APART_BYTES); i++)
        add(measurement, (struct experiment){make_turns, BETWEEN, 2, APART_BYTES[i], 0, 0});
    for (int i = 0, count = (measurement->experiments - before) / 2; i < count; i++)
        add(measurement,
            (struct experiment){i % 2 ? make_names : make_bulk, BETWEEN, 0, 0, 0, true});
}

/* --- rounds --- */

static int make_round(struct measurement *measurement)
{
    struct clients *clients = &measurement->clients;
    int order[EXPERIMENTS_AT_MOST], status = DONE;
    draw_order(clients, measurement->experiments, order);
    for (int i = 0; i < measurement->experiments && status == DONE; i++) {
        const struct experiment *experiment = &measurement->experiment[order[i]];
        if (experiment->rounds && clients->round >= experiment->rounds)
            continue;
        const int failed = experiment->make(clients, experiment);
        meet();
        status = failure_agree(&clients->problem, failed != 0, MPI_COMM_WORLD);
    }
    return status;
}

/* Rank 0's clock decides. */
static bool goes_on(const struct measurement *measurement, double begin_s)
{
    const int rounds = measurement->clients.round;
    const double spent_s = timing_since_start() - begin_s;
    int goes = rounds < measurement->least_rounds ||
               (rounds < measurement->most_rounds &&
                spent_s + spent_s / rounds < (double)measurement->budget_s);
    MPI_Bcast(&goes, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return goes;
}

static void record_nodes(const struct clients *clients)
{
    record_begin("nodes");
    record_number("nodes", clients->nodes);
    record_number("ranks", clients->ranks);
    record_end();
}

/* What is all zeros may never reach a disk. */
static void fill_buffer(struct clients *clients)
{
    uint64_t x = (uint64_t)clients->rank + 1;
    clients->buffer = gridio_allocate(BUFFER_BYTES, 1);
    for (int64_t i = 0; i < BUFFER_BYTES; i += (int64_t)sizeof x) {
        x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        memcpy(clients->buffer + i, &x, sizeof x);
    }
}

static int measure(struct measurement *measurement)
{
    struct clients *clients = &measurement->clients;
    int status = check_directory(clients);
    if (status != DONE)
        return status;
    record_nodes(clients);
    fill_buffer(clients);
    const double begin_s = timing_since_start();
    if (clients->ranks > 1) {
        choose_largest(clients);
        add_network(measurement);
    }
    if (clients->nodes > 1)
        add_files(measurement);
    for (; status == DONE && measurement->experiments && goes_on(measurement, begin_s);
         clients->round++)
        status = make_round(measurement);
    free(clients->buffer);
    return status;
}

static int run(struct plan *plan)
{
    struct measurement *measurement = gridio_allocate(1, sizeof *measurement);
    struct clients *clients = &measurement->clients;
    int status = take_plan(measurement, plan);
    MPI_Comm_rank(MPI_COMM_WORLD, &clients->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &clients->ranks);
    find_nodes(clients);
    if (status == DONE)
        status = measure(measurement);
    free(clients->member);
    free(clients->start);
    free(measurement);
    return status;
}

int main(int count, char **words)
{
    return program_run(count, words, "clients", run);
}
