/* Writes by one method what the tests then read by another and in numpy: all types, tiled and not, at every step and
 * once, with uneven blocks, with ranks that have none, with a single element.
 *
 *     layer write METHOD FORMAT PATH SIZE EMPTY      EMPTY: this rank (-1: none) has no cell
 *     layer read  METHOD FORMAT PATH SIZE EMPTY
 *     layer far   METHOD FORMAT PATH                 one byte per rank, beyond 4 GiB (a sparse file)
 *     layer bad   METHOD FORMAT PATH                 rank 1 gives a block outside the variable
 */
#include "gridio.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 2, COLUMNS = 5 };
static const char *const NAMES[] = {"double", "single", "integer", "letter"};
static const size_t BYTES[] = {8, 4, 4, 1};

static int rank, ranks;

static int give_up(void)
{
    if (rank == 0)
        fprintf(stderr, "layer: %s\n", gridio_error());
    MPI_Finalize();
    exit(1);
}

/* Every element has its own value: its number in the whole array, the step and the type. */
static void fill(void *data, gridio_type type, int64_t first, int64_t count, int64_t step)
{
    for (int64_t i = 0; i < count; i++) {
        const int value = (int)((first + i) * 10 + step * 4 + (int64_t)type);
        if (type == GRIDIO_FLOAT64)
            ((double *)data)[i] = value;
        if (type == GRIDIO_FLOAT32)
            ((float *)data)[i] = (float)value;
        if (type == GRIDIO_INT32)
            ((int32_t *)data)[i] = value;
        if (type == GRIDIO_CHARACTER)
            ((char *)data)[i] = (char)('a' + value % 26);
    }
}

/* Rows shared out over the ranks but the empty one; the last takes what remains. */
static gridio_block rows(int64_t size, int empty)
{
    const int64_t sharers = empty < 0 || empty >= ranks ? ranks : ranks - 1,
                  mine = rank - (sharers < ranks && rank > empty);
    gridio_block block = {.start = {0, 0}, .count = {0, 0}};
    if (rank == empty)
        return block;
    const int64_t each = size / sharers;
    block.start[0] = mine * each;
    block.count[0] = mine == sharers - 1 ? size - block.start[0] : each;
    block.count[1] = COLUMNS;
    return block;
}

static int check(const void *got, const void *want, size_t bytes, const char *what)
{
    if (memcmp(got, want, bytes) == 0)
        return 0;
    fprintf(stderr, "layer: rank %d reads something else in %s\n", rank, what);
    return 1;
}

static gridio_file *open_file(char **words, gridio_mode mode)
{
    gridio_file *file;
    const gridio_options options = {.method = words[2], .format = words[3]};
    if (gridio_open(&file, words[4], mode, &options, MPI_COMM_WORLD) != 0)
        give_up();
    return file;
}

static void define_all(gridio_file *file, int64_t size)
{
    int number;
    for (int type = 0; type < 4; type++)
        for (int tiled = 0; tiled < 2; tiled++) {
            char name[32];
            snprintf(name, sizeof name, "%s_%s", NAMES[type], tiled ? "tiled" : "whole");
            const gridio_variable variable = {.name = name,
                                              .units = "1",
                                              .type = (gridio_type)type,
                                              .dimensions = 2,
                                              .size = {size, COLUMNS},
                                              .tiled = tiled,
                                              .every_step = type % 2 == 0};
            if (gridio_define(file, &variable, &number) != 0)
                give_up();
        }
    if (gridio_end_definitions(file) != 0)
        give_up();
}

/* The block that this rank moves of a variable: all of it where it is not tiled. */
static gridio_block part(int number, int64_t size, int empty)
{
    return number % 2 ? rows(size, empty) : (gridio_block){.start = {0, 0}, .count = {size, COLUMNS}};
}

static int move_all(gridio_file *file, int64_t size, int empty, int writing)
{
    void *data = malloc((size_t)(size * COLUMNS * 8) + 1), *want = malloc((size_t)(size * COLUMNS * 8) + 1);
    int wrong = 0;
    for (int64_t step = 0; step < STEPS; step++)
        for (int number = 0; number < 8; number++) {
            const int type = number / 2;
            const int64_t when = type % 2 == 0 ? step : 0;
            const gridio_block block = part(number, size, empty);
            const int64_t count = block.count[0] * block.count[1];
            fill(want, (gridio_type)type, block.start[0] * COLUMNS, count, when);
            int status = writing ? gridio_write(file, number, step, &block, want)
                                 : gridio_read(file, number, step, &block, data);
            if (status != 0)
                give_up();
            if (!writing)
                wrong += check(data, want, (size_t)count * BYTES[type], NAMES[type]);
        }
    free(data);
    free(want);
    return wrong;
}

static int far_away(char **words)
{
    gridio_file *file = open_file(words, GRIDIO_WRITE);
    const int64_t step = ((int64_t)5 << 30) / ranks; /* bytes: one a rank and step */
    const gridio_variable bytes = {.name = "bytes",
                                   .units = "1",
                                   .type = GRIDIO_CHARACTER,
                                   .dimensions = 1,
                                   .size = {ranks},
                                   .tiled = true,
                                   .every_step = true};
    const gridio_block block = {.start = {rank}, .count = {1}};
    const char mine = (char)('A' + rank);
    int number;
    if (gridio_define(file, &bytes, &number) != 0 || gridio_end_definitions(file) != 0)
        give_up();
    if (gridio_write(file, number, step, &block, &mine) != 0 || gridio_close(&file) != 0)
        give_up();

    file = open_file(words, GRIDIO_READ);
    char back = 0;
    if (gridio_steps(file) != step + 1 || gridio_read(file, number, step, &block, &back) != 0)
        give_up();
    gridio_close(&file);
    return check(&back, &mine, 1, "the far byte");
}

/* All ranks must get the sentence, at the sync, and nobody may hang. */
static int bad_block(char **words)
{
    gridio_file *file = open_file(words, GRIDIO_WRITE);
    const gridio_variable row = {.name = "row",
                                 .units = "1",
                                 .type = GRIDIO_INT32,
                                 .dimensions = 1,
                                 .size = {ranks},
                                 .tiled = true,
                                 .every_step = true};
    const gridio_block block = {.start = {rank == 1 ? ranks : rank}, .count = {1}};
    const int32_t value = rank;
    int number;
    if (gridio_define(file, &row, &number) != 0 || gridio_end_definitions(file) != 0)
        give_up();
    if (gridio_write(file, number, 0, &block, &value) != 0)
        give_up();
    int told = gridio_sync(file) == GRIDIO_FAILED && strstr(gridio_error(), "outside row") != NULL, all;
    MPI_Allreduce(&told, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return gridio_close(&file) == GRIDIO_FAILED && all ? 0 : 1;
}

static int run(int count, char **words)
{
    if (strcmp(words[1], "far") == 0)
        return far_away(words);
    if (strcmp(words[1], "bad") == 0)
        return bad_block(words);
    if (count != 7)
        return 2;
    const int writing = strcmp(words[1], "write") == 0;
    const int64_t size = atoll(words[5]);
    gridio_file *file = open_file(words, writing ? GRIDIO_WRITE : GRIDIO_READ);
    if (writing)
        define_all(file, size);
    if (!writing && (gridio_variables(file) != 8 || gridio_describe(file, 7)->size[0] != size))
        return 1;
    int wrong = move_all(file, size, atoi(words[6]), writing);
    if (gridio_close(&file) != 0)
        give_up();
    return wrong ? 1 : 0;
}

int main(int count, char **words)
{
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int status = count >= 5 ? run(count, words) : 2;
    MPI_Finalize();
    return status;
}
