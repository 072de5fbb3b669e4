#include "options.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static const char HELP[] =
    "solver: advection and diffusion of tracers on a three-dimensional grid, with a history file.\n"
    "\n"
    "    mpiexec -n 4 solver --grid 128x96x32 --steps 100 --every 10 --method collective --file history.grid\n"
    "\n"
    "  --grid NXxNYxNZ      cells (64x64x16); x and y are shared out over the ranks\n"
    "  --tiles TXxTY        ranks along x and y (chosen by MPI)\n"
    "  --steps N            time steps (20)\n"
    "  --every K            steps between two outputs (10)\n"
    "  --variables V        tracers (2)\n"
    "  --method METHOD      serial: rank 0 gathers and writes (the default); collective: all ranks through MPI-IO\n"
    "  --format FORMAT      posix (the default of serial), mpiio (of collective); the bytes are the same\n"
    "  --file PATH          the history file (history.grid)\n"
    "  --hint KEY=VALUE     for MPI-IO; may be repeated\n"
    "  --sync               wait at every output until it is on the disk\n"
    "  --verify             read the last output back and compare\n"
    "  --quiet              print nothing but failures\n";

enum { GRID = 1, TILES, STEPS, EVERY, VARIABLES, METHOD, FORMAT, PATH, HINT, SYNC, VERIFY, QUIET, HELP_ASKED };

static const struct option OPTIONS[] = {{"grid", required_argument, NULL, GRID},
                                        {"tiles", required_argument, NULL, TILES},
                                        {"steps", required_argument, NULL, STEPS},
                                        {"every", required_argument, NULL, EVERY},
                                        {"variables", required_argument, NULL, VARIABLES},
                                        {"method", required_argument, NULL, METHOD},
                                        {"format", required_argument, NULL, FORMAT},
                                        {"file", required_argument, NULL, PATH},
                                        {"hint", required_argument, NULL, HINT},
                                        {"sync", no_argument, NULL, SYNC},
                                        {"verify", no_argument, NULL, VERIFY},
                                        {"quiet", no_argument, NULL, QUIET},
                                        {"help", no_argument, NULL, HELP_ASKED},
                                        {NULL, 0, NULL, 0}};

void options_help(FILE *stream)
{
    fputs(HELP, stream);
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

static bool take_grid(const char *text, solver_options *options)
{
    int xyz[3];
    if (!parse_sizes(text, xyz, 3))
        return false;
    for (int i = 0; i < 3; i++)
        options->size[i] = xyz[2 - i];
    return true;
}

static bool take_tiles(const char *text, solver_options *options)
{
    int xy[2];
    if (!parse_sizes(text, xy, 2))
        return false;
    options->tiles[0] = xy[1];
    options->tiles[1] = xy[0];
    return true;
}

static bool take_hint(const char *text, solver_options *options)
{
    int used = 0;
    while (options->hints[used])
        used++;
    if (used == HINTS_AT_MOST)
        return false;
    options->hints[used] = text;
    return true;
}

static bool take_word(const char *text, const char **word)
{
    *word = text;
    return *text != '\0';
}

static bool set(bool *flag)
{
    return *flag = true, true;
}

static bool take(int option, const char *value, solver_options *options)
{
    switch (option) {
    case GRID: return take_grid(value, options);
    case TILES: return take_tiles(value, options);
    case STEPS: return parse_sizes(value, &options->steps, 1);
    case EVERY: return parse_sizes(value, &options->every, 1);
    case VARIABLES: return parse_sizes(value, &options->variables, 1) && options->variables <= 1000;
    case METHOD: return take_word(value, &options->method);
    case FORMAT: return take_word(value, &options->format);
    case PATH: return take_word(value, &options->path);
    case HINT: return take_hint(value, options);
    case SYNC: return set(&options->sync);
    case VERIFY: return set(&options->verify);
    case QUIET: return set(&options->quiet);
    default: return set(&options->help);
    }
}

bool options_parse(int count, char **words, solver_options *options, char *problem, size_t room)
{
    *options = (solver_options){
        .size = {16, 64, 64}, .steps = 20, .every = 10, .variables = 2, .method = "serial", .path = "history.grid"};
    int option, which = 0;
    opterr = 0;
    while ((option = getopt_long(count, words, "", OPTIONS, &which)) != -1) {
        if (option == '?') {
            snprintf(problem, room, "'%s' is no option, or wants a value", words[optind - 1]);
            return false;
        }
        if (take(option, optarg, options))
            continue;
        snprintf(problem, room, "'%s' is no value for --%s", optarg, OPTIONS[which].name);
        return false;
    }
    if (optind == count)
        return true;
    snprintf(problem, room, "'%s' is no option", words[optind]);
    return false;
}
