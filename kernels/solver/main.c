/* The solver: by a plan, or by its command line with one output, of which it then tells. */
#include "options.h"
#include "program.h"
#include "run.h"
#include "transport.h"

#include <stdlib.h>
#include <string.h>

/* --- what the command line's run tells --- */

/* A hint that was asked for, and what the library made of it. */
struct asked_hint {
    const char *asked; /* key=value */
    bool known;
};

static void compare_hint(const char *key, const char *value, void *context)
{
    struct asked_hint *hint = context;
    const size_t length = strlen(key);
    if (strncmp(hint->asked, key, length) != 0 || hint->asked[length] != '=')
        return;
    hint->known = true;
    printf("hint %s: in force is %s\n", hint->asked, value);
}

static void tell_hints(struct stream *to)
{
    for (const char *const *asked = to->hints; *asked; asked++) {
        struct asked_hint hint = {.asked = *asked};
        gridio_hints(to->file, compare_hint, &hint);
        if (!hint.known)
            printf("hint %s: the library does not report it, so most likely ignores it\n",
                   hint.asked);
    }
}

static struct {
    const struct solver_options *options;
    const struct run *run;
    double output_s; /* of this rank */
    int64_t bytes;
} tale;

static void tell_start(struct stream *to)
{
    const struct grid *grid = &tale.run->model.grid;
    if (grid->rank != 0)
        return;
    printf("grid %dx%dx%d, %d variables, %d ranks as %dx%d tiles, method %s, format %s\n",
           grid->size[X], grid->size[Y], grid->size[Z], tale.run->model.tracers, grid->ranks,
           grid->tiles[1], grid->tiles[0], gridio_method_name(to->file),
           gridio_format_name(to->file));
    tell_hints(to);
}

static void tell_output(const struct run *run)
{
    const struct stream *to = &run->outputs[0].to;
    double spent = 0;
    for (enum phase which = 0; which < PHASES; which++)
        spent += to->spent.seconds[which];
    tale.output_s += spent;
    tale.bytes += to->bytes_in_step;
    if (tale.options->quiet)
        return;
    const double mass = transport_mass(&run->model.grid, &run->model.now, 0);
    if (run->model.grid.rank == 0)
        printf("step %lld: mass of tracer_1 %.6f, output took %.3f s\n", (long long)run->model.step,
               mass, spent);
}

static void tell_end(const struct run *run, double seconds)
{
    const struct output *output = &run->outputs[0];
    if (run->model.grid.rank != 0)
        return;
    printf("%s: %lld outputs, %.1f MB; %.3f s in all, of these %.3f s in output (rank 0)\n",
           output->to.path, (long long)output->to.steps, (double)tale.bytes / 1e6, seconds,
           tale.output_s);
    if (output->read_back)
        printf("verified: the last output reads back as it was written\n");
}

/* --- the run --- */

static int solve_by_plan(struct plan *plan)
{
    struct run run;
    int status = run_from_plan(&run, plan);
    if (status == DONE)
        status = run_all(&run);
    run_free(&run);
    return status;
}

static int solve_and_tell(struct plan *plan, const struct solver_options *options)
{
    struct run run;
    const double start = MPI_Wtime();
    int status = run_from_plan(&run, plan);
    tale.options = options;
    tale.run = &run;
    if (status == DONE) {
        run.outputs[0].to.opened = options->quiet ? NULL : tell_start;
        run.written = tell_output;
        status = run_all(&run);
    }
    if (status == DONE && !options->quiet)
        tell_end(&run, MPI_Wtime() - start);
    run_free(&run);
    return status;
}

static int solve_by_options(const struct solver_options *options)
{
    struct plan plan;
    char *text = options_plan(options);
    if (options->verify && options->steps % options->every != 0)
        return program_fail(WRONG_USE, "solver --help lists the options",
                            "--verify needs --steps to be a multiple of --every");
    plan_parse(&plan, "the command line", text);
    int status = program_begin(&plan, NULL);
    if (status == DONE)
        status = solve_and_tell(&plan, options);
    plan_free(&plan);
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
    struct solver_options options;
    char problem[512];
    if (!options_parse(count, words, &options, problem, sizeof problem))
        return program_end(
            program_fail(WRONG_USE, "solver --help lists the options", "%s", problem));
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
