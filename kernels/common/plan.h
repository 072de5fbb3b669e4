/* A plan: what a program is to do, as lines of text. kernels/README.md ("Plans") states the keys of
 * every program.
 *
 *     # a comment
 *     grid 512x64x30
 *     output history
 *     path /scratch/ocean his.nc
 *     hint romio_cb_write=enable
 *
 * A line is a key, blanks and a value, which is the rest of the line. The lines `output NAME`,
 * `input NAME` and `restart` each begin a section, to which the lines below them belong; those
 * above the first one are the program's own.
 *
 * Rank 0 reads the file; all ranks then hold the same plan. What a program asks for is checked when
 * it asks: the first thing that is wrong is kept as one sentence with file and line, and every
 * later answer is a default, so that a program asks for all it needs and then looks once
 * (plan_problem).
 */
#ifndef COMMON_PLAN_H
#define COMMON_PLAN_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct plan_entry {
    const char *key, *value; /* value: "" where there is none */
    int line;
    bool known; /* something asked for it */
};

struct plan_section {
    const char *kind; /* "output", "input", "restart"; "" for the program's own */
    const char *name; /* "" where it has none */
    int line, count;
    struct plan_entry *entry;
};

struct plan {
    char *path, *text;
    struct plan_section *section; /* the first is the program's own */
    int sections;
    char problem[1024];
};

/* Collective. Where the file cannot be read, or a line has no sense, plan_problem says so. */
void plan_read(struct plan *plan, const char *path, MPI_Comm comm);
/* A plan that a program makes for itself; label: for sentences. */
void plan_parse(struct plan *plan, const char *label, const char *text);
void plan_free(struct plan *plan);

/* NULL: nothing is wrong. After the last question; a key that nothing asked for is wrong, too. */
const char *plan_problem(struct plan *plan);

/* Records what is wrong with the value of this entry: "PLAN:12: 'steps' SENTENCE". */
void plan_wrong(struct plan *plan, const struct plan_entry *entry, const char *sentence);

/* The one entry of that key; NULL where there is none. More than one is wrong. */
const struct plan_entry *plan_find(struct plan *plan, struct plan_section *section,
                                   const char *key);
/* The next entry of a key that may be repeated: *at from 0; NULL after the last. */
const struct plan_entry *plan_next(struct plan *plan, struct plan_section *section, const char *key,
                                   int *at);

/* Values. default_value: used where the key is absent; a key that must be there has no default
 * (NULL, or PLAN_MUST). */
#define PLAN_MUST INT64_MIN
const char *plan_text(struct plan *plan, struct plan_section *section, const char *key,
                      const char *default_value);
const char *plan_must(struct plan *plan, struct plan_section *section, const char *key);
int64_t plan_number(struct plan *plan, struct plan_section *section, const char *key, int64_t least,
                    int64_t most, int64_t default_value);
bool plan_yes(struct plan *plan, struct plan_section *section, const char *key,
              bool default_value); /* yes or no */
/* Which of the words "a|b|c", from 0. */
int plan_choice(struct plan *plan, struct plan_section *section, const char *key, const char *words,
                int default_value);
/* `count` numbers with an x between them; those already in `sizes` where the key is absent. */
bool plan_sizes(struct plan *plan, struct plan_section *section, const char *key, int count,
                int64_t *sizes);
/* All values of a key that may be repeated, ended by NULL; the caller frees the list, not the
 * values. */
const char **plan_list(struct plan *plan, struct plan_section *section, const char *key);

#endif
