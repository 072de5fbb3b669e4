/* The solver: by a plan, or by its command line with one output, of which it then tells. */
#include "options.h"
#include "program.h"
#include "run.h"
#include "transport.h"

#include <stdlib.h>
#include <string.h>

/* --- what the command line's run tells ------------------------------------------------------------------------------
 */

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

static void tell_hints(stream *to)
{
    for (const char *const *asked = to->hints; *asked; asked++) {
        asked_hint hint = {.asked = *asked};
        gridio_hints(to->file, compare_hint, &hint);
        if (!hint.known)
            printf("hint %s: the library does not report it, so most likely ignores it\n", hint.asked);
    }
}

static struct {
    const solver_options *options;
    const run *r;
    double output_s; /* of this rank */
    int64_t bytes;
} tale;

static void tell_start(stream *to)
{
    const grid *g = &tale.r->m.g;
    if (g->rank != 0)
        return;
    printf("grid %dx%dx%d, %d variables, %d ranks as %dx%d tiles, method %s, format %s\n", g->size[X], g->size[Y],
           g->size[Z], tale.r->m.tracers, g->ranks, g->tiles[1], g->tiles[0], gridio_method_name(to->file),
           gridio_format_name(to->file));
    tell_hints(to);
}

static void tell_output(const run *r)
{
    const stream *to = &r->outputs[0].to;
    double spent = 0;
    for (phase which = 0; which < PHASES; which++)
        spent += to->spent.seconds[which];
    tale.output_s += spent;
    tale.bytes += to->bytes_in_step;
    if (tale.options->quiet)
        return;
    const double mass = transport_mass(&r->m.g, &r->m.now, 0);
    if (r->m.g.rank == 0)
        printf("step %lld: mass of tracer_1 %.6f, output took %.3f s\n", (long long)r->m.step, mass, spent);
}

static void tell_end(const run *r, double seconds)
{
    const output *o = &r->outputs[0];
    if (r->m.g.rank != 0)
        return;
    printf("%s: %lld outputs, %.1f MB; %.3f s in all, of these %.3f s in output (rank 0)\n", o->to.path,
           (long long)o->to.steps, (double)tale.bytes / 1e6, seconds, tale.output_s);
    if (o->read_back)
        printf("verified: the last output reads back as it was written\n");
}

/* --- the run --------------------------------------------------------------------------------------------------------
 */

static int solve_by_plan(plan *p)
{
    run r;
    int status = run_from_plan(&r, p);
    if (status == DONE)
        status = run_all(&r);
    run_free(&r);
    return status;
}

static int solve_and_tell(plan *p, const solver_options *options)
{
    run r;
    const double start = MPI_Wtime();
    int status = run_from_plan(&r, p);
    tale.options = options;
    tale.r = &r;
    if (status == DONE) {
        r.outputs[0].to.opened = options->quiet ? NULL : tell_start;
        r.written = tell_output;
        status = run_all(&r);
    }
    if (status == DONE && !options->quiet)
        tell_end(&r, MPI_Wtime() - start);
    run_free(&r);
    return status;
}

static int solve_by_options(const solver_options *options)
{
    plan p;
    char *text = options_plan(options);
    if (options->verify && options->steps % options->every != 0)
        return program_fail(WRONG_USE, "solver --help lists the options",
                            "--verify needs --steps to be a multiple of --every");
    plan_parse(&p, "the command line", text);
    int status = program_begin(&p, NULL);
    if (status == DONE)
        status = solve_and_tell(&p, options);
    plan_free(&p);
    free(text);
    return status;
}

static bool is_root(void)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank == 0;
}

static int main_by_options(int count, char **words)
{
    solver_options options;
    char problem[512];
    if (!options_parse(count, words, &options, problem, sizeof problem))
        return program_end(program_fail(WRONG_USE, "solver --help lists the options", "%s", problem));
    if (!options.help)
        return program_end(solve_by_options(&options));
    if (is_root())
        options_help(stdout);
    return DONE;
}

static bool has_plan(int count, char **words)
{
    for (int i = 1; i < count; i++)
        if (strcmp(words[i], "--plan") == 0)
            return true;
    return false;
}

int main(int count, char **words)
{
    if (has_plan(count, words))
        return program_run(count, words, "solver", solve_by_plan);
    MPI_Init(&count, &words);
    program_start("solver");
    const int status = main_by_options(count, words);
    MPI_Finalize();
    return status;
}
