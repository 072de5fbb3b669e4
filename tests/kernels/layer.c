/* Writes by one method what the tests then read by another and in numpy: all types, tiled and not,
 * at every step and once, in blocks that are uneven, several a rank, between each other's rows, or
 * none.
 *
 *     layer write METHOD FORMAT PATH SIZE PATTERN SETTING...
 *     layer read  METHOD FORMAT PATH SIZE PATTERN SETTING...
 *     layer matrix DIRECTORY SIZE PATTERN...        every pair of method and format that this build
 * has: writes DIRECTORY/PATTERN/METHOD-FORMAT and reads it back layer far   METHOD FORMAT PATH
 * SETTING...     one byte per rank, beyond 4 GiB (a sparse file) layer bad   METHOD FORMAT PATH
 * SETTING...     rank 1 gives a block outside the variable
 *
 * SIZE is ROWS, or ROWS:STEPS, of which there are usually two. PATTERN, of these rows and five
 * columns on R ranks: rows       rank r has the r-th share of the rows but-K      the same, but
 * rank K has none columns    rank r has the r-th share of the columns diagonal   R x R cells, of
 * which rank r has (i, i + r modulo R) comb       2 R shares of the columns, of which rank r has
 * the (R + r)-th and the r-th, in this order
 */
#include "gridio.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 5, MOST_RANKS = 16 };
static const char *const NAMES[] = {"double", "single", "integer", "letter"};
static const size_t BYTES[] = {8, 4, 4, 1};

static int rank, ranks;
static int64_t steps = 2;

static int give_up(void)
{
    if (rank == 0)
        fprintf(stderr, "layer: %s\n", gridio_error());
    MPI_Finalize();
    exit(1);
}

/* --- the pattern --- */

typedef struct {
    gridio_block block[2 * MOST_RANKS];
    int blocks;
    int64_t elements;
} part;

static void add(part *mine, int64_t y, int64_t x, int64_t rows, int64_t columns)
{
    mine->block[mine->blocks++] = (gridio_block){.start = {y, x}, .count = {rows, columns}};
    mine->elements += rows * columns;
}

/* Where share i of n begins. */
static int64_t begin(int64_t size, int64_t n, int64_t i)
{
    return size * i / n;
}

static void add_rows(part *mine, int64_t size, int sharers, int i)
{
    add(mine, begin(size, sharers, i), 0, begin(size, sharers, i + 1) - begin(size, sharers, i),
        COLUMNS);
}

static void add_columns(part *mine, int64_t size, int sharers, int i)
{
    add(mine, 0, begin(COLUMNS, sharers, i), size,
        begin(COLUMNS, sharers, i + 1) - begin(COLUMNS, sharers, i));
}

static void add_cell(part *mine, int64_t size, int i, int j)
{
    const int64_t y = begin(size, ranks, i), x = begin(COLUMNS, ranks, j);
    add(mine, y, x, begin(size, ranks, i + 1) - y, begin(COLUMNS, ranks, j + 1) - x);
}

static part part_of(const char *pattern, int64_t size)
{
    part mine = {.blocks = 0};
    if (strcmp(pattern, "rows") == 0)
        add_rows(&mine, size, ranks, rank);
    if (strncmp(pattern, "but-", 4) == 0 && rank != atoi(pattern + 4))
        add_rows(&mine, size, ranks - 1, rank - (rank > atoi(pattern + 4)));
    if (strcmp(pattern, "columns") == 0)
        add_columns(&mine, size, ranks, rank);
    for (int i = 0; i < ranks && strcmp(pattern, "diagonal") == 0; i++)
        add_cell(&mine, size, i, (i + rank) % ranks);
    for (int half = 1; half >= 0 && strcmp(pattern, "comb") == 0; half--)
        add_columns(&mine, size, 2 * ranks, half * ranks + rank);
    return mine;
}

/* --- values --- */

/* Every element has its own value: its number in the whole array, the step and the type. */
static void put_value(void *data, gridio_type type, int64_t at, int64_t number, int64_t step)
{
    const int value = (int)(number * 10 + step * 4 + (int64_t)type);
    if (type == GRIDIO_FLOAT64)
        ((double *)data)[at] = value;
    if (type == GRIDIO_FLOAT32)
        ((float *)data)[at] = (float)value;
    if (type == GRIDIO_INT32)
        ((int32_t *)data)[at] = value;
    if (type == GRIDIO_CHARACTER)
        ((char *)data)[at] = (char)('a' + value % 26);
}

static void fill(void *data, gridio_type type, const part *mine, int64_t step)
{
    int64_t at = 0;
    for (int i = 0; i < mine->blocks; i++) {
        const gridio_block *block = &mine->block[i];
        for (int64_t y = block->start[0]; y < block->start[0] + block->count[0]; y++)
            for (int64_t x = block->start[1]; x < block->start[1] + block->count[1]; x++)
                put_value(data, type, at++, y * COLUMNS + x, step);
    }
}

static int check(const void *got, const void *want, size_t bytes, const char *what)
{
    if (memcmp(got, want, bytes) == 0)
        return 0;
    fprintf(stderr, "layer: rank %d reads something else in %s\n", rank, what);
    return 1;
}

/* --- whole files --- */

typedef struct {
    const char *method, *format, *path;
    char **settings;
} way;

static gridio_file *open_file(const way *how, gridio_mode mode)
{
    gridio_file *file;
    const gridio_options options = {.method = how->method,
                                    .format = how->format,
                                    .settings = (const char *const *)how->settings};
    if (gridio_open(&file, how->path, mode, &options, MPI_COMM_WORLD) != 0)
        give_up();
    return file;
}

static void define_all(gridio_file *file, int64_t size, const part *mine)
{
    int number;
    for (int type = 0; type < 4; type++)
        for (int tiled = 0; tiled < 2; tiled++) {
            char name[32];
            snprintf(name, sizeof name, "%s_%s", NAMES[type], tiled ? "tiled" : "whole");
            const gridio_variable variable = {
                .name = name,
                .units = "1",
                .type = (gridio_type)type,
                .dimensions = 2,
                .size = {size, COLUMNS},
                .dimension_name = {"row", type == 0 ? NULL : "column"},
                .tiled = tiled,
                .every_step = type % 2 == 0};
            if (gridio_define(file, &variable, mine->blocks, mine->block, &number) != 0)
                give_up();
        }
    if (gridio_end_definitions(file) != 0)
        give_up();
}

static int move(gridio_file *file, int number, int64_t step, const part *mine, void *data,
                void *want)
{
    const int type = number / 2;
    const bool writing = data == NULL;
    fill(want, (gridio_type)type, mine, type % 2 == 0 ? step : 0);
    if ((writing ? gridio_write(file, number, step, want)
                 : gridio_read(file, number, step, data)) != 0)
        give_up();
    return writing ? 0 : check(data, want, (size_t)mine->elements * BYTES[type], NAMES[type]);
}

static int move_all(gridio_file *file, int64_t size, const part *mine, bool writing)
{
    const size_t room = (size_t)(size * COLUMNS * 8) + 1;
    void *data = writing ? NULL : malloc(room), *want = malloc(room);
    part whole = {.blocks = 0};
    int wrong = 0;
    add(&whole, 0, 0, size, COLUMNS);
    for (int number = 0; number < 8 && !writing; number++)
        if (gridio_select(file, number, mine->blocks, mine->block) != 0)
            give_up();
    for (int64_t step = 0; step < steps; step++) {
        for (int number = 0; number < 8; number++)
            wrong += move(file, number, step, number % 2 ? mine : &whole, data, want);
        if (writing && gridio_sync(file) != 0)
            give_up();
    }
    free(data);
    free(want);
    return wrong;
}

static bool is_as_defined(gridio_file *file, int64_t size)
{
    const int last = gridio_find(file, "letter_tiled");
    const gridio_variable *variable = gridio_describe(file, last);
    return gridio_variables(file) == 8 && gridio_steps(file) == steps && last == 7 &&
           variable->size[0] == size && variable->size[1] == COLUMNS && variable->tiled &&
           !variable->every_step && variable->type == GRIDIO_CHARACTER &&
           strcmp(variable->units, "1") == 0 && gridio_find(file, "letter") == -1;
}

static int write_file(const way *how, int64_t size, const char *pattern)
{
    const part mine = part_of(pattern, size);
    gridio_file *file = open_file(how, GRIDIO_WRITE);
    define_all(file, size, &mine);
    move_all(file, size, &mine, true);
    if (gridio_close(&file) != 0)
        give_up();
    return 0;
}

static int read_file(const way *how, int64_t size, const char *pattern)
{
    const part mine = part_of(pattern, size);
    gridio_file *file = open_file(how, GRIDIO_READ);
    if (!is_as_defined(file, size)) {
        fprintf(stderr, "layer: rank %d reads other variables from '%s'\n", rank, how->path);
        return 1;
    }
    int wrong = move_all(file, size, &mine, false);
    if (gridio_close(&file) != 0)
        give_up();
    return wrong ? 1 : 0;
}

static int write_and_read(const char *method, const char *format, const char *directory,
                          int64_t size, const char *pattern)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s/%s-%s", directory, pattern, method, format);
    const way how = {.method = method, .format = format, .path = path};
    return write_file(&how, size, pattern) + read_file(&how, size, pattern);
}

static int matrix(const char *directory, int64_t size, char **patterns)
{
    int wrong = 0;
    for (; *patterns; patterns++)
        for (int m = 0; gridio_method_at(m); m++)
            for (int f = 0; gridio_format_at(f); f++)
                if (!gridio_pair(gridio_method_at(m), gridio_format_at(f)))
                    wrong += write_and_read(gridio_method_at(m), gridio_format_at(f), directory,
                                            size, *patterns);
    return wrong ? 1 : 0;
}

/* --- special cases --- */

static int far_away(const way *how)
{
    gridio_file *file = open_file(how, GRIDIO_WRITE);
    const int64_t far_step = ((int64_t)5 << 30) / ranks; /* bytes: one a rank and step */
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
    if (gridio_define(file, &bytes, 1, &block, &number) != 0 || gridio_end_definitions(file) != 0)
        give_up();
    if (gridio_write(file, number, far_step, &mine) != 0 || gridio_close(&file) != 0)
        give_up();

    file = open_file(how, GRIDIO_READ);
    char back = 0;
    if (gridio_steps(file) != far_step + 1 || gridio_select(file, number, 1, &block) != 0 ||
        gridio_read(file, number, far_step, &back) != 0)
        give_up();
    gridio_close(&file);
    return check(&back, &mine, 1, "the far byte");
}

/* All ranks must get the sentence, when the definitions end, and nobody may hang. */
static int bad_block(const way *how)
{
    gridio_file *file = open_file(how, GRIDIO_WRITE);
    const gridio_variable row = {.name = "row",
                                 .units = "1",
                                 .type = GRIDIO_INT32,
                                 .dimensions = 1,
                                 .size = {ranks},
                                 .tiled = true,
                                 .every_step = true};
    const gridio_block block = {.start = {rank == 1 ? ranks : rank}, .count = {1}};
    int number;
    if (gridio_define(file, &row, 1, &block, &number) != 0)
        give_up();
    int told = gridio_end_definitions(file) == GRIDIO_FAILED &&
               strstr(gridio_error(), "outside row") != NULL,
        all;
    MPI_Allreduce(&told, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return gridio_close(&file) == GRIDIO_FAILED && all ? 0 : 1;
}

/* The rows; and after a colon how many steps. */
static int64_t read_size(const char *word)
{
    const char *colon = strchr(word, ':');
    if (colon)
        steps = atoll(colon + 1);
    return atoll(word);
}

static int run(int count, char **words)
{
    const char *what = words[1];
    if (ranks > MOST_RANKS)
        return 2;
    if (strcmp(what, "matrix") == 0)
        return matrix(words[2], read_size(words[3]), words + 4);
    way how = {.method = words[2], .format = words[3], .path = words[4], .settings = words + 5};
    if (strcmp(what, "far") == 0)
        return far_away(&how);
    if (strcmp(what, "bad") == 0)
        return bad_block(&how);
    if (count < 7)
        return 2;
    how.settings = words + 7;
    return (strcmp(what, "write") == 0 ? write_file : read_file)(&how, read_size(words[5]),
                                                                 words[6]);
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
