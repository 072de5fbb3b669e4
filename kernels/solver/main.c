/* The solver: reads its command line, computes, writes its history. */
#include "history.h"
#include "transport.h"

#include <stdlib.h>
#include <string.h>

enum { DONE = 0, FAILED = 1, WRONG_USE = 2 };

static bool is_root(void)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank == 0;
}

static int complain(int status, const char *sentence, const char *hint)
{
    if (is_root())
        fprintf(stderr, "solver: %s.\n%s%s%s", sentence, hint ? "\nhint: " : "", hint ? hint : "", hint ? "\n" : "");
    return status;
}

/* A hint that was asked for, and what the library made of it. */
typedef struct {
    const char *asked; /* key=value */
    bool known;
} asked_hint;

static void compare_hint(const char *key, const char *value, void *context)
{
    asked_hint *hint = context;
    const size_t length = strlen(key);
    if (strncmp(hint->asked, key, length) != 0 || hint->asked[length] != '=')
        return;
    hint->known = true;
    printf("hint %s: in force is %s\n", hint->asked, value);
}

static void print_hints(gridio_file *file, const solver_options *o)
{
    for (const char *const *asked = o->hints; *asked; asked++) {
        asked_hint hint = {.asked = *asked};
        gridio_hints(file, compare_hint, &hint);
        if (!hint.known)
            printf("hint %s: the library does not report it, so most likely ignores it\n", hint.asked);
    }
}

static void print_start(const grid *g, const history *h, const solver_options *o)
{
    if (o->quiet || g->rank != 0)
        return;
    printf("grid %dx%dx%d, %d variables, %d ranks as %dx%d tiles, method %s, format %s\n", o->size[X], o->size[Y],
           o->size[Z], o->variables, g->ranks, g->tiles[1], g->tiles[0], gridio_method_name(h->file),
           gridio_format_name(h->file));
    print_hints(h->file, o);
}

static void print_output(const grid *g, const field *f, const solver_options *o, int step, double seconds)
{
    if (o->quiet)
        return;
    const double mass = transport_mass(g, f, 0);
    if (g->rank == 0)
        printf("step %d: mass of tracer_1 %.6f, output took %.3f s\n", step, mass, seconds);
}

/* Computes and writes; leaves the last state in *now. */
static int run(const grid *g, const solver_options *o, field *now, history *h)
{
    field next = field_create(g, o->variables);
    halo sides = halo_create(g, o->variables);
    int status = 0;
    for (int step = 1; step <= o->steps && status == 0; step++) {
        halo_exchange(g, &sides, now);
        transport_step(g, now, &next);
        const field old = *now;
        *now = next;
        next = old;
        if (step % o->every != 0)
            continue;
        const double before = h->seconds;
        status = history_write(h, g, now, step / o->every - 1, step);
        if (status == 0)
            print_output(g, now, o, step, h->seconds - before);
    }
    halo_free(&sides);
    free(next.values);
    return status;
}

static void print_end(const grid *g, const history *h, const solver_options *o, double seconds)
{
    if (o->quiet || g->rank != 0)
        return;
    printf("%s: %d outputs, %.1f MB; %.3f s in all, of these %.3f s in output (rank 0)\n", o->path, o->steps / o->every,
           (double)h->bytes / 1e6, seconds, h->seconds);
}

static int verify(const grid *g, const solver_options *o, const field *now)
{
    int64_t differ;
    if (history_verify(g, o, now, o->steps / o->every - 1, &differ) != 0)
        return complain(FAILED, gridio_error(), NULL);
    if (differ != 0)
        return complain(FAILED, "what was read back differs from what was written", NULL);
    if (!o->quiet && g->rank == 0)
        printf("verified: the last output reads back as it was computed\n");
    return DONE;
}

/* From an initialized field to a closed file. */
static int compute(const grid *g, const solver_options *o, field *now)
{
    const double start = MPI_Wtime();
    history h;
    if (history_create(&h, g, o) != 0)
        return complain(FAILED, gridio_error(),
                        "--file must be in a directory that exists and can be written; solver --help lists the rest");
    print_start(g, &h, o);
    int status = run(g, o, now, &h);
    if (history_close(&h) != 0 || status != 0)
        return complain(FAILED, gridio_error(),
                        "outputs before this one are whole, in the file of that name with .partial");
    print_end(g, &h, o, MPI_Wtime() - start);
    return o->verify ? verify(g, o, now) : DONE;
}

static int solve(const grid *g, const solver_options *o)
{
    if (o->verify && o->steps % o->every != 0)
        return complain(WRONG_USE, "--verify needs --steps to be a multiple of --every", NULL);
    field now = field_create(g, o->variables);
    transport_initialize(g, &now);
    int status = compute(g, o, &now);
    free(now.values);
    return status;
}

static int main_with_mpi(int count, char **words)
{
    solver_options options;
    grid g;
    char problem[512];
    if (!options_parse(count, words, &options, problem, sizeof problem))
        return complain(WRONG_USE, problem, "solver --help lists the options");
    if (options.help) {
        if (is_root())
            options_help(stdout);
        return DONE;
    }
    if (!grid_create(&g, options.size, options.tiles, MPI_COMM_WORLD))
        return complain(WRONG_USE, "the ranks cannot be laid out so that each has a cell",
                        "fewer ranks, other --tiles or a larger --grid");
    int status = solve(&g, &options);
    grid_free(&g);
    return status;
}

int main(int count, char **words)
{
    MPI_Init(&count, &words);
    int status = main_with_mpi(count, words);
    MPI_Finalize();
    return status;
}
