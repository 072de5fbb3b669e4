/* clients: what ranks on several nodes reach at the same time: messages from one to another, and
 * what they write, read and make in a directory that all of them see.
 *
 * A round makes each experiment once, in an order drawn anew, and half as many again that are drawn
 * at random: those are held out, to judge what is concluded from the others. Each experiment leaves
 * a `sample` in the records. Ranks that have nothing to do in it sleep, so that they take no
 * processor from those that have.
 */
#ifndef CLIENTS_H
#define CLIENTS_H

#include "failure.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

enum { KIB = 1 << 10, MIB = 1 << 20, SMALL_BYTES = 4 * KIB };
/* Room for the largest message, and for the largest block that is written at once. */
enum { BUFFER_BYTES = 4 * MIB };

struct clients {
    int rank, ranks;
    int nodes, ranks_per_node; /* ranks_per_node: 0: those that share memory are on a node */
    int *member, *start;       /* ranks, node after node; where each node's begin, and the end */
    char directory[3900];
    int64_t bulk_bytes;       /* takes a client a while to write */
    int64_t largest_bytes[2]; /* message that does not take long: between nodes, inside one */
    uint64_t lot;             /* the same on all ranks */
    int round, files;         /* files: numbers their names */
    char *buffer;
    struct failure problem;
};

/* Which messages: [BETWEEN] those of two nodes, [INSIDE] those of one. */
enum where { BETWEEN, INSIDE };

struct experiment {
    /* Collective; -1 on ranks where something failed, with the sentence in clients->problem. */
    int (*make)(struct clients *clients, const struct experiment *experiment);
    enum where where;
    int ranks;
    int64_t bytes;
    int rounds; /* only in so many; 0: in all */
    bool held_out;
};

int make_message(struct clients *clients, const struct experiment *experiment);
/* `ranks`: that send at the same time, 0: as many as a node has. */
int make_stream(struct clients *clients, const struct experiment *experiment);
int make_eager(struct clients *clients, const struct experiment *experiment);
/* `ranks`, each on a node of its own, write files of their own, and read each other's. */
int make_bulk(struct clients *clients, const struct experiment *experiment);
/* Two nodes write by turns, `bytes` from each other in one file; 0: in files of their own. */
int make_turns(struct clients *clients, const struct experiment *experiment);
/* `ranks` make, close, look up and remove files. */
int make_names(struct clients *clients, const struct experiment *experiment);

/* Chooses largest_bytes. Collective. */
void choose_largest(struct clients *clients);

/* --- who takes part --- */

void find_nodes(struct clients *clients);
int ranks_on(const struct clients *clients, int node);
bool has_inside(const struct clients *clients); /* some node has two ranks */

/* Drawn; the same on all ranks. */
int draw_below(struct clients *clients, int bound);
double draw_share(struct clients *clients);
int64_t draw_size(struct clients *clients, int64_t least, int64_t most); /* all magnitudes alike */
void draw_order(struct clients *clients, int count, int *order);         /* of 0 to count − 1 */
void draw_pair(struct clients *clients, enum where where, int rank[2]);

/* Some ranks: the first of each node, nodes in a drawn order, then the second of each, … */
struct team {
    int size, index; /* index: this rank's; -1: it is not in it */
    int *rank;
};
struct team draw_team(struct clients *clients, int size);
void free_team(struct team *team);

/* --- times --- */

/* All ranks come together, and those that wait for the others sleep. */
void meet(void);
/* The members begin at once, to microseconds; after a meet. */
void begin_together(const struct team *team);
/* Over all ranks, which meet first. */
double slowest(double seconds);
double sum_of(double number);

/* What an experiment found. */
struct sample {
    const char *experiment;
    enum where where;
    int ranks;
    int64_t bytes, block_bytes, count;
    double seconds;
};
void report(const struct clients *clients, const struct experiment *experiment,
            const struct sample *sample);

#endif
