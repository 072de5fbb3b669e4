/* Writes, or reads and checks, one of each kind of variable by any method and format.
 *
 *     formats write|read METHOD FORMAT PATH STEPS EMPTY [NAME=VALUE…] [hints KEY=VALUE…]
 *     formats die METHOD FORMAT PATH STEPS EMPTY [NAME=VALUE…]    writes them, and is killed in the
 * midst of one more formats far METHOD FORMAT PATH 1 -1 [NAME=VALUE…]     16 numbers a rank, beyond
 * 4 GiB in one array (a sparse file)
 *
 * Rank EMPTY has no blocks; -1: all ranks have. Element i of variable number n at step s is 16 i +
 * 4 s + n, and as a character the letter of that number modulo 26; test_formats.py computes the
 * same. */
#include <gridio.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS_AT_MOST = 64, ELEMENTS_AT_MOST = 4096 };

typedef enum { SLABS, CYCLIC, BACKWARD, WHOLE } sharing;

static const struct {
    gridio_variable variable;
    sharing sharing;
    int dimension; /* which is shared out */
} GIVEN[] = {
    {{"ozone", "ppm", GRIDIO_FLOAT64, 3, {5, 7, 6}, {"layer", "row", "column"}, true, true},
     CYCLIC,
     1},
    {{"wind", "m/s", GRIDIO_FLOAT32, 2, {11, 4}, {NULL}, true, true}, SLABS, 0},
    {{"mixing", "1", GRIDIO_FLOAT64, 4, {3, 2, 5, 6}, {"tracer", NULL, NULL, "column"}, true, true},
     SLABS,
     3},
    {{"depth", "m", GRIDIO_FLOAT32, 2, {7, 6}, {"row", "column"}, true, false}, SLABS, 1},
    {{"mask", "1", GRIDIO_INT32, 2, {7, 6}, {"row", "column"}, true, false}, CYCLIC, 0},
    {{"land", "1", GRIDIO_CHARACTER, 2, {7, 6}, {"row", "column"}, true, false}, SLABS, 0},
    {{"title", "1", GRIDIO_CHARACTER, 1, {20}, {"letter"}, false, false}, WHOLE, 0},
    {{"time", "s", GRIDIO_FLOAT64, 0, {0}, {NULL}, false, true}, WHOLE, 0},
    {{"count", "1", GRIDIO_INT32, 0, {0}, {NULL}, false, false}, WHOLE, 0},
    {{"level", "Pa", GRIDIO_FLOAT32, 1, {5}, {"layer"}, false, true}, WHOLE, 0},
    {{"heat", "K", GRIDIO_FLOAT64, 2, {7, 6}, {"row", "column"}, true, true}, BACKWARD, 0},
    {{"row_of", "1", GRIDIO_INT32, 1, {13}, {NULL}, true, true}, SLABS, 0},
};
enum { VARIABLES = sizeof GIVEN / sizeof *GIVEN };

static int rank, ranks, empty;

static void stop(const char *what)
{
    fprintf(stderr, "rank %d: %s: %s\n", rank, what, gridio_error());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* --- blocks --- */

static gridio_block cut(const gridio_variable *variable, int dimension, int64_t start,
                        int64_t count)
{
    gridio_block block = {{0}, {0}};
    for (int d = 0; d < variable->dimensions; d++)
        block.count[d] = variable->size[d];
    block.start[dimension] = start;
    block.count[dimension] = count;
    return block;
}

/* This rank's blocks of a variable; ranks without any are passed over. */
static int blocks_of(int number, gridio_block *blocks)
{
    const gridio_variable *variable = &GIVEN[number].variable;
    const int dimension = GIVEN[number].dimension, sharers = ranks - (empty >= 0);
    const int mine = rank - (empty >= 0 && rank > empty);
    const int64_t size = variable->size[dimension];
    int count = 0;
    if (GIVEN[number].sharing == WHOLE || rank == empty || sharers == 0)
        return 0;
    if (GIVEN[number].sharing == SLABS) {
        blocks[0] = cut(variable, dimension, size * mine / sharers,
                        size * (mine + 1) / sharers - size * mine / sharers);
        return 1;
    }
    for (int64_t start = mine; start < size; start += sharers)
        blocks[count++] = cut(variable, dimension, start, 1);
    for (int b = 0; GIVEN[number].sharing == BACKWARD && b < count / 2; b++) {
        const gridio_block kept = blocks[b];
        blocks[b] = blocks[count - 1 - b];
        blocks[count - 1 - b] = kept;
    }
    return count;
}

/* --- values --- */

static int64_t element_bytes(gridio_type type)
{
    return type == GRIDIO_FLOAT64 ? 8 : type == GRIDIO_CHARACTER ? 1 : 4;
}

static void put_value(gridio_type type, char *place, int64_t value)
{
    const double as_double = (double)value;
    const float as_float = (float)value;
    const int32_t as_integer = (int32_t)value;
    const char as_letter = (char)('a' + value % 26);
    const void *values[] = {&as_double, &as_float, &as_integer, &as_letter};
    memcpy(place, values[type], (size_t)element_bytes(type));
}

/* Fills one block's values in its order and returns how many bytes they are. */
static int64_t fill_block(int number, int64_t step, const gridio_block *block, char *place)
{
    const gridio_variable *variable = &GIVEN[number].variable;
    int64_t elements = 1;
    for (int d = 0; d < variable->dimensions; d++)
        elements *= block->count[d];
    for (int64_t i = 0; i < elements; i++) {
        int64_t index = 0, stride = 1, rest = i;
        for (int d = variable->dimensions - 1; d >= 0; stride *= variable->size[d--]) {
            index += stride * (block->start[d] + rest % block->count[d]);
            rest /= block->count[d];
        }
        put_value(variable->type, place + i * element_bytes(variable->type),
                  16 * index + (variable->every_step ? 4 * step : 0) + number);
    }
    return elements * element_bytes(variable->type);
}

static int64_t fill(int number, int64_t step, char *data)
{
    gridio_block blocks[BLOCKS_AT_MOST];
    int count = blocks_of(number, blocks);
    int64_t bytes = 0;
    if (GIVEN[number].sharing == WHOLE)
        blocks[count++] = cut(&GIVEN[number].variable, 0, 0, GIVEN[number].variable.size[0]);
    for (int b = 0; b < count; b++)
        bytes += fill_block(number, step, &blocks[b], data + bytes);
    return bytes;
}

/* --- writing and reading --- */

static void write_step(gridio_file *file, const int *numbers, int variables, int64_t step)
{
    static char data[ELEMENTS_AT_MOST];
    for (int n = 0; n < variables; n++) {
        if (!GIVEN[n].variable.every_step && step > 0)
            continue;
        fill(n, step, data);
        if (gridio_write(file, numbers[n], step, data) != 0)
            stop("write");
        memset(data, 0x55, sizeof data); /* what was given may be used again at once */
    }
}

static void write_all(gridio_file *file, int64_t steps, int dies)
{
    gridio_block blocks[BLOCKS_AT_MOST];
    int numbers[VARIABLES];
    for (int n = 0; n < VARIABLES; n++)
        if (gridio_define(file, &GIVEN[n].variable, blocks_of(n, blocks), blocks, &numbers[n]) != 0)
            stop("define");
    if (gridio_end_definitions(file) != 0)
        stop("end_definitions");
    for (int64_t step = 0; step < steps; step++) {
        write_step(file, numbers, VARIABLES, step);
        if (gridio_sync(file) != 0)
            stop("sync");
    }
    if (!dies)
        return;
    write_step(file, numbers, VARIABLES / 2, steps);
    MPI_Barrier(MPI_COMM_WORLD);
    raise(SIGKILL);
}

static int same_text(const char *left, const char *right)
{
    return left && right && strcmp(left, right) == 0;
}

static void check_description(gridio_file *file, int n, int number)
{
    const gridio_variable *wanted = &GIVEN[n].variable, *got = gridio_describe(file, number);
    int same = got && got->type == wanted->type && got->dimensions == wanted->dimensions &&
               got->tiled == wanted->tiled && got->every_step == wanted->every_step &&
               same_text(got->units, wanted->units);
    for (int d = 0; same && d < wanted->dimensions; d++)
        same = got->size[d] == wanted->size[d] &&
               (!wanted->dimension_name[d] ||
                same_text(got->dimension_name[d], wanted->dimension_name[d]));
    if (same)
        return;
    fprintf(stderr, "rank %d: %s is described otherwise\n", rank, wanted->name);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void check_values(gridio_file *file, int n, int number, int64_t step)
{
    static char data[ELEMENTS_AT_MOST], wanted[ELEMENTS_AT_MOST];
    memset(data, 0x55, sizeof data);
    memset(wanted, 0x55, sizeof wanted);
    fill(n, step, wanted);
    if (gridio_read(file, number, step, data) != 0)
        stop("read");
    if (memcmp(data, wanted, sizeof data) == 0)
        return;
    fprintf(stderr, "rank %d: %s at step %d differs\n", rank, GIVEN[n].variable.name, (int)step);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void read_all(gridio_file *file, int64_t steps)
{
    gridio_block blocks[BLOCKS_AT_MOST];
    if (gridio_steps(file) != steps || gridio_variables(file) != VARIABLES) {
        fprintf(stderr, "rank %d: %d steps of %d variables\n", rank, (int)gridio_steps(file),
                gridio_variables(file));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (int n = 0; n < VARIABLES; n++) {
        const int number = gridio_find(file, GIVEN[n].variable.name);
        check_description(file, n, number);
        const int count = blocks_of(n, blocks);
        if (GIVEN[n].variable.tiled && gridio_select(file, number, count, blocks) != 0)
            stop("select");
        for (int64_t step = 0; step < steps; step++)
            check_values(file, n, number, step);
    }
}

/* The last plane's first rows, and then the same read back. */
static void write_and_read_far(const gridio_options *options, const char *path)
{
    const gridio_variable variable = {.name = "far",
                                      .units = "1",
                                      .type = GRIDIO_FLOAT64,
                                      .dimensions = 3,
                                      .size = {700, 1024, 1024},
                                      .tiled = true,
                                      .every_step = true};
    const gridio_block block = {.start = {699, rank, 1000}, .count = {1, 1, 16}};
    double data[16], back[16] = {0};
    gridio_file *file;
    int number;
    for (int i = 0; i < 16; i++)
        data[i] = 100.0 * rank + i + 1;
    if (gridio_open(&file, path, GRIDIO_WRITE, options, MPI_COMM_WORLD) != 0 ||
        gridio_define(file, &variable, 1, &block, &number) != 0 ||
        gridio_end_definitions(file) != 0 || gridio_write(file, number, 0, data) != 0 ||
        gridio_sync(file) != 0 || gridio_close(&file) != 0)
        stop("write");
    if (gridio_open(&file, path, GRIDIO_READ, options, MPI_COMM_WORLD) != 0 ||
        gridio_select(file, number, 1, &block) != 0 || gridio_read(file, number, 0, back) != 0 ||
        gridio_close(&file) != 0)
        stop("read");
    if (memcmp(data, back, sizeof data) != 0) {
        fprintf(stderr, "rank %d: what is far away differs\n", rank);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void print_hint(const char *key, const char *value, void *context)
{
    (void)context;
    if (rank == 0)
        printf("%s=%s\n", key, value);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc < 7)
        MPI_Abort(MPI_COMM_WORLD, 2);
    const int writes = strcmp(argv[1], "read") != 0;
    int settings = 7;
    while (argv[settings] && strcmp(argv[settings], "hints") != 0)
        settings++;
    const gridio_options options = {.method = argv[2],
                                    .format = argv[3],
                                    .hints =
                                        (const char *const *)argv + settings + (settings < argc),
                                    .settings = (const char *const *)argv + 7};
    argv[settings] = NULL; /* the end of the settings */
    gridio_file *file;
    empty = atoi(argv[6]);
    if (strcmp(argv[1], "far") == 0) {
        write_and_read_far(&options, argv[4]);
        MPI_Finalize();
        return 0;
    }
    if (gridio_open(&file, argv[4], writes ? GRIDIO_WRITE : GRIDIO_READ, &options,
                    MPI_COMM_WORLD) != 0)
        stop("open");
    gridio_hints(file, print_hint, NULL);
    if (writes)
        write_all(file, atoll(argv[5]), strcmp(argv[1], "die") == 0);
    else
        read_all(file, atoll(argv[5]));
    if (gridio_close(&file) != 0)
        stop("close");
    MPI_Finalize();
    return 0;
}
