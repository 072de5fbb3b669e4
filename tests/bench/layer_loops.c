/* What gridio costs, and how its methods compare, in one run of one program so that all see the
 * same machine.
 *
 *     layer_loops bare METHOD FILE PAIRS GRID      METHOD (collective, independent) in format
 * mpiio, beside the same writes by MPI-IO alone; prints seconds without and with, pair by pair
 * layer_loops methods FILE ROUNDS GRID WAY...  WAY is METHOD/FORMAT[/SETTING]...; prints seconds,
 * way by way, round by round layer_loops memory FILE GRID WAY             prints by how many bytes
 * the largest rank grew beside its block
 *
 * GRID is NZxNYxNXxSTEPS[s], of double, in tiles of y and x; s: synced after every step. Times are
 * the slowest rank's, from before the open until after the close.
 */
#include "gridio.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { NAMES = 8 };

typedef struct {
    const char *path;
    int size[3], start[3], count[3];
    int steps;
    int synced;
    double *data;
} work;

static int rank, ranks;
static double writes_s; /* of the last file, without its open and close */

static void stop(const char *what)
{
    fprintf(stderr, "layer_loops: rank %d: %s\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void share_out(work *w)
{
    int tiles[2] = {0, 0};
    MPI_Dims_create(ranks, 2, tiles);
    const int place[2] = {rank / tiles[1], rank % tiles[1]};
    w->start[0] = 0;
    w->count[0] = w->size[0];
    for (int d = 1; d < 3; d++) {
        w->start[d] = (int)((long)w->size[d] * place[d - 1] / tiles[d - 1]);
        w->count[d] = (int)((long)w->size[d] * (place[d - 1] + 1) / tiles[d - 1]) - w->start[d];
    }
}

static work prepare(const char *path, const char *grid)
{
    work w = {.path = path};
    char end = 0;
    if (sscanf(grid, "%dx%dx%dx%d%c", &w.size[0], &w.size[1], &w.size[2], &w.steps, &end) < 4)
        stop("a grid is NZxNYxNXxSTEPS");
    w.synced = end == 's';
    share_out(&w);
    const size_t cells = (size_t)w.count[0] * (size_t)w.count[1] * (size_t)w.count[2];
    w.data = malloc(cells * sizeof *w.data + 1);
    for (size_t i = 0; i < cells; i++)
        w.data[i] = (double)i;
    return w;
}

/* The time when all ranks are here. */
static double synchronized(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Wtime();
}

/* --- the two loops --- */

/* As a program without a layer has it: one type for its block, a view at every step. */
static void write_bare(const work *w, int together)
{
    MPI_File file;
    MPI_Datatype place;
    const int cells = w->count[0] * w->count[1] * w->count[2];
    const MPI_Offset step_bytes =
        (MPI_Offset)w->size[0] * w->size[1] * w->size[2] * (MPI_Offset)sizeof(double);
    MPI_Type_create_subarray(3, w->size, w->count, w->start, MPI_ORDER_C, MPI_DOUBLE, &place);
    MPI_Type_commit(&place);
    if (MPI_File_open(MPI_COMM_WORLD, w->path, MPI_MODE_WRONLY | MPI_MODE_CREATE, MPI_INFO_NULL,
                      &file) != MPI_SUCCESS)
        stop("cannot open the file");
    const double begin = synchronized();
    for (int step = 0; step < w->steps; step++) {
        MPI_File_set_view(file, step * step_bytes, MPI_DOUBLE, place, "native", MPI_INFO_NULL);
        int code = (together ? MPI_File_write_all : MPI_File_write)(file, w->data, cells,
                                                                    MPI_DOUBLE, MPI_STATUS_IGNORE);
        if (code != MPI_SUCCESS || (w->synced && MPI_File_sync(file) != MPI_SUCCESS))
            stop("cannot write the file");
    }
    writes_s = synchronized() - begin;
    MPI_File_close(&file);
    MPI_Type_free(&place);
}

static void write_gridio(const work *w, const gridio_options *how)
{
    gridio_file *file;
    int number;
    gridio_variable variable = {.name = "field",
                                .units = "1",
                                .type = GRIDIO_FLOAT64,
                                .dimensions = 3,
                                .tiled = true,
                                .every_step = true};
    gridio_block block = {{0}, {0}};
    for (int d = 0; d < 3; d++)
        variable.size[d] = w->size[d], block.start[d] = w->start[d], block.count[d] = w->count[d];
    int failed = gridio_open(&file, w->path, GRIDIO_WRITE, how, MPI_COMM_WORLD) != 0;
    failed = failed || gridio_define(file, &variable, 1, &block, &number) != 0 ||
             gridio_end_definitions(file) != 0;
    const double begin = synchronized();
    for (int step = 0; step < w->steps && !failed; step++)
        failed =
            gridio_write(file, number, step, w->data) != 0 || (w->synced && gridio_sync(file) != 0);
    writes_s = synchronized() - begin;
    if (failed || gridio_close(&file) != 0)
        stop(gridio_error());
}

/* --- measuring --- */

static double slowest(double seconds)
{
    double most;
    MPI_Allreduce(&seconds, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return most;
}

static void remove_result(const work *w)
{
    char command[4096];
    MPI_Barrier(MPI_COMM_WORLD);
    snprintf(command, sizeof command, "rm -rf '%s'", w->path);
    if (rank == 0 && unlink(w->path) != 0 && system(command) != 0)
        stop("cannot remove the file");
    MPI_Barrier(MPI_COMM_WORLD);
}

/* how == NULL: without gridio. */
static double timed(const work *w, const gridio_options *how, int together)
{
    remove_result(w);
    const double begin = MPI_Wtime();
    if (how)
        write_gridio(w, how);
    else
        write_bare(w, together);
    return slowest(MPI_Wtime() - begin);
}

static void compare_with_bare(const char *method, const work *w, int pairs)
{
    const gridio_options how = {.method = method, .format = "mpiio"};
    const int together = strcmp(method, "collective") == 0;
    for (int pair = -1; pair < pairs; pair++) { /* the first one warms up */
        double seconds[2], writes[2];
        for (int i = 0; i < 2; i++) {
            const int with = (i + pair) & 1;
            seconds[with] = timed(w, with ? &how : NULL, together);
            writes[with] = slowest(writes_s);
        }
        if (rank == 0 && pair >= 0)
            printf("%.6f %.6f %.6f %.6f\n", writes[0], writes[1], seconds[0], seconds[1]);
    }
}

/* Cuts "METHOD/FORMAT/SETTING/…" apart. */
static gridio_options read_way(char *word, const char *settings[NAMES])
{
    char *rest;
    gridio_options how = {.method = strtok_r(word, "/", &rest)};
    how.format = strtok_r(NULL, "/", &rest);
    int count = 0;
    for (char *setting; count < NAMES - 1 && (setting = strtok_r(NULL, "/", &rest));)
        settings[count++] = setting;
    settings[count] = NULL;
    how.settings = settings;
    return how;
}

static void compare_methods(const work *w, int rounds, char **ways)
{
    int count = 0;
    while (ways[count])
        count++;
    gridio_options how[count + 1];
    const char *settings[count + 1][NAMES];
    for (int i = 0; i < count; i++)
        how[i] = read_way(ways[i], settings[i]);
    for (int round = -1; round < rounds; round++)
        for (int i = 0; i < count; i++) {
            const double seconds = timed(w, &how[i], 0);
            if (rank == 0 && round >= 0)
                printf("%.6f%s", seconds, i + 1 < count ? " " : "\n");
        }
}

static void measure_memory(const work *w, char *way)
{
    struct rusage before, after;
    const char *settings[NAMES];
    const gridio_options how = read_way(way, settings);
    getrusage(RUSAGE_SELF, &before);
    timed(w, &how, 0);
    getrusage(RUSAGE_SELF, &after);
    long grown = after.ru_maxrss - before.ru_maxrss, most;
    MPI_Reduce(&grown, &most, 1, MPI_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%ld\n", most * 1024);
}

int main(int count, char **words)
{
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (count == 6 && strcmp(words[1], "bare") == 0) {
        const work w = prepare(words[3], words[5]);
        compare_with_bare(words[2], &w, atoi(words[4]));
    } else if (count >= 6 && strcmp(words[1], "methods") == 0) {
        const work w = prepare(words[2], words[4]);
        compare_methods(&w, atoi(words[3]), words + 5);
    } else if (count == 5 && strcmp(words[1], "memory") == 0) {
        const work w = prepare(words[2], words[3]);
        measure_memory(&w, words[4]);
    } else {
        stop("see the head of layer_loops.c");
    }
    MPI_Finalize();
    return 0;
}
