#include "options.h"

#include "gridio.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

/* The two lists of names are gridio's. */
static const char HELP[] =
    "solver: advection and diffusion of tracers on a three-dimensional grid, with a history file\n"
    "\n"
    "    mpiexec -n 4 solver --grid 128x96x32 --steps 100 --every 10 --method collective\n"
    "\n"
    "  --grid NXxNYxNZ      cells (64x64x16); x and y are shared out over the ranks\n"
    "  --tiles TXxTY        ranks along x and y (chosen by MPI)\n"
    "  --steps N            time steps (20)\n"
    "  --every K            steps between two outputs (10)\n"
    "  --variables V        tracers (2)\n"
    "  --work N             rounds of reactions in every cell and step (0)\n"
    "  --method METHOD      which ranks write (%s):\n"
    "                       %s\n"
    "  --format FORMAT      of the file (each method has a default):\n"
    "                       %s\n"
    "  --file PATH          the history file (history.grid)\n"
    "  --hint KEY=VALUE     for MPI-IO; may be repeated\n"
    "  --setting NAME=VALUE of the method or the format; may be repeated\n"
    "  --sync               wait at every output until it is on the disk\n"
    "  --verify             read the last output back and compare\n"
    "  --quiet              print nothing but failures\n"
    "\n"
    "    mpiexec -n 4 solver --plan PLAN [--records FILE]    everything else: kernels/README.md\n";

enum {
    GRID = 1,
    TILES,
    STEPS,
    EVERY,
    VARIABLES,
    WORK,
    METHOD,
    FORMAT,
    PATH,
    HINT,
    SETTING,
    SYNC,
    VERIFY,
    QUIET,
    HELP_ASKED
};

static const struct option OPTIONS[] = {{"grid", required_argument, NULL, GRID},
                                        {"tiles", required_argument, NULL, TILES},
                                        {"steps", required_argument, NULL, STEPS},
                                        {"every", required_argument, NULL, EVERY},
                                        {"variables", required_argument, NULL, VARIABLES},
                                        {"work", required_argument, NULL, WORK},
                                        {"method", required_argument, NULL, METHOD},
                                        {"format", required_argument, NULL, FORMAT},
                                        {"file", required_argument, NULL, PATH},
                                        {"hint", required_argument, NULL, HINT},
                                        {"setting", required_argument, NULL, SETTING},
                                        {"sync", no_argument, NULL, SYNC},
                                        {"verify", no_argument, NULL, VERIFY},
                                        {"quiet", no_argument, NULL, QUIET},
                                        {"help", no_argument, NULL, HELP_ASKED},
                                        {NULL, 0, NULL, 0}};

/* `serial, collective, …`: what gridio has, by the function that names the n-th. */
static const char *list(const char *(*name_at)(int n), char *names, size_t room)
{
    size_t used = 0;
    *names = '\0';
    for (int n = 0; name_at(n) && used < room; n++)
        used += (size_t)snprintf(names + used, room - used, "%s%s", n > 0 ? ", " : "", name_at(n));
    return names;
}

void options_help(FILE *stream)
{
    char methods[256], formats[256];
    fprintf(stream, HELP, gridio_method_at(0), list(gridio_method_at, methods, sizeof methods),
            list(gridio_format_at, formats, sizeof formats));
}

/* COUNT positive numbers of at most ten million with an x between them. */
static bool parse_sizes(const char *text, int *sizes, int count)
{
    for (int i = 0; i < count; i++) {
        char *end;
        long value = strtol(text, &end, 10);
        if (end == text || value < 1 || value > 10000000 || *end != (i < count - 1 ? 'x' : '\0'))
            return false;
        sizes[i] = (int)value;
        text = end + 1;
    }
    return true;
}

static bool take_grid(const char *text, struct solver_options *options)
{
    int xyz[3];
    if (!parse_sizes(text, xyz, 3))
        return false;
    for (int i = 0; i < 3; i++)
        options->size[i] = xyz[2 - i];
    return true;
}

static bool take_tiles(const char *text, struct solver_options *options)
{
    int xy[2];
    if (!parse_sizes(text, xy, 2))
        return false;
    options->tiles[0] = xy[1];
    options->tiles[1] = xy[0];
    return true;
}

/* One line of a plan. */
static bool is_line(const char *text)
{
    return *text != '\0' && !strchr(text, '\n');
}

static bool take_another(const char *text, const char **list)
{
    int used = 0;
    while (list[used])
        used++;
    if (used == HINTS_AT_MOST || !is_line(text))
        return false;
    list[used] = text;
    return true;
}

static bool take_word(const char *text, const char **word)
{
    *word = text;
    return is_line(text);
}

static bool set(bool *flag)
{
    return *flag = true, true;
}

static bool take(int option, const char *value, struct solver_options *options)
{
    switch (option) {
    case GRID: return take_grid(value, options);
    case TILES: return take_tiles(value, options);
    case STEPS: return parse_sizes(value, &options->steps, 1);
    case EVERY: return parse_sizes(value, &options->every, 1);
    case VARIABLES: return parse_sizes(value, &options->variables, 1) && options->variables <= 1000;
    case WORK: return parse_sizes(value, &options->work, 1);
    case METHOD: return take_word(value, &options->method);
    case FORMAT: return take_word(value, &options->format);
    case PATH: return take_word(value, &options->path);
    case HINT: return take_another(value, options->hints);
    case SETTING: return take_another(value, options->settings);
    case SYNC: return set(&options->sync);
    case VERIFY: return set(&options->verify);
    case QUIET: return set(&options->quiet);
    default: return set(&options->help);
    }
}

bool options_parse(int count, char **words, struct solver_options *options, char *problem,
                   size_t room)
{
    *options = (struct solver_options){.size = {16, 64, 64},
                                       .steps = 20,
                                       .every = 10,
                                       .variables = 2,
                                       .method = "serial",
                                       .path = "history.grid"};
    int option, which = 0;
    opterr = 0;
    while ((option = getopt_long(count, words, "", OPTIONS, &which)) != -1) {
        if (option == '?') {
            snprintf(problem, room, "there is no option '%s', or it needs a value",
                     words[optind - 1]);
            return false;
        }
        if (take(option, optarg, options))
            continue;
        snprintf(problem, room, "'%s' is not a value for --%s", optarg, OPTIONS[which].name);
        return false;
    }
    if (optind == count)
        return true;
    snprintf(problem, room, "there is no option '%s'", words[optind]);
    return false;
}

static void put_output(FILE *plan, const struct solver_options *options)
{
    fprintf(plan, "output history\npath %s\nevery %d\nmethod %s\n", options->path, options->every,
            options->method);
    if (options->format)
        fprintf(plan, "format %s\n", options->format);
    for (const char *const *hint = options->hints; *hint; hint++)
        fprintf(plan, "hint %s\n", *hint);
    for (const char *const *setting = options->settings; *setting; setting++)
        fprintf(plan, "setting %s\n", *setting);
    fprintf(plan, "sync %s\nread_back %s\n", options->sync ? "yes" : "no",
            options->verify ? "yes" : "no");
}

static void put_variables(FILE *plan, const struct solver_options *options)
{
    fprintf(plan, "variable height shape=z source=level when=once\n");
    fprintf(plan, "variable time units=steps shape=none source=step\n");
    for (int index = 1; index <= options->variables; index++)
        fprintf(plan, "variable tracer_%d units=kg/kg source=tracer:%d\n", index, index);
}

char *options_plan(const struct solver_options *options)
{
    char *text = NULL;
    size_t bytes;
    FILE *plan = open_memstream(&text, &bytes);
    if (!plan)
        return NULL;
    fprintf(plan, "grid %dx%dx%d\nsteps %d\ntracers %d\nwork %d\n", options->size[2],
            options->size[1], options->size[0], options->steps, options->variables, options->work);
    fprintf(plan, "fingerprints %s\n", options->verify ? "yes" : "no");
    if (options->tiles[0] > 0)
        fprintf(plan, "tiles %dx%d\n", options->tiles[1], options->tiles[0]);
    put_output(plan, options);
    put_variables(plan, options);
    fclose(plan);
    return text;
}
