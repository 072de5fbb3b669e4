#include "raw_layout.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TYPES = 4, FIXED_LINES_BYTES = 256 };

/* A header is never this long: a larger value comes from a damaged file. */
static const int64_t LONGEST_HEADER = 64 << 20;

static const char *byte_order(void)
{
    const uint16_t probe = 1;
    return *(const unsigned char *)&probe ? "little" : "big";
}

void raw_steps_line(int64_t steps, char line[RAW_STEPS_BYTES + 1])
{
    snprintf(line, RAW_STEPS_BYTES + 1, "steps %020" PRId64 "\n", steps);
}

static void lay_out(const gridio_file *file, raw_layout *layout)
{
    int64_t once = layout->header_bytes, step = 0;
    for (int i = 0; i < file->variables_count; i++) {
        int64_t *place = file->variables[i].every_step ? &step : &once;
        layout->offset[i] = *place;
        if (!file->shares[i].is_absent)
            *place += (int64_t)gridio_variable_bytes(&file->variables[i]);
    }
    layout->first_step = once;
    layout->step_bytes = step;
}

/* --- to text --- */

static void print_numbers(FILE *text, const int64_t *numbers, int count)
{
    for (int i = 0; i < count; i++)
        fprintf(text, " %" PRId64, numbers[i]);
}

static void print_dimension_names(FILE *text, const gridio_variable *variable)
{
    bool named = false;
    for (int axis = 0; axis < variable->dimensions; axis++)
        named = named || variable->dimension_name[axis];
    if (!named)
        return;
    fputs("dimensions", text);
    for (int axis = 0; axis < variable->dimensions; axis++)
        fprintf(text, " %s", variable->dimension_name[axis] ? variable->dimension_name[axis] : "-");
    fputc('\n', text);
}

static void print_part(FILE *text, const gridio_share *share)
{
    const int dimensions = share->whole.dimensions;
    fprintf(text, "part %d", dimensions);
    print_numbers(text, share->whole.size, dimensions);
    fputc('\n', text);
    for (int i = 0; i < share->blocks; i++) {
        fputs("block", text);
        print_numbers(text, share->block[i].start, dimensions);
        print_numbers(text, share->block[i].count, dimensions);
        fputc('\n', text);
    }
}

static void print_variable(FILE *text, const gridio_variable *variable, const gridio_share *share)
{
    fprintf(text, "variable %s %s %s %s %s %d", variable->name, variable->units,
            gridio_type_name(variable->type), variable->tiled ? "tiled" : "whole",
            variable->every_step ? "every_step" : "once", variable->dimensions);
    print_numbers(text, variable->size, variable->dimensions);
    fputc('\n', text);
    if (share->ordinal > 0)
        fprintf(text, "ordinal %d\n", share->ordinal);
    if (share->is_part)
        print_part(text, share);
    print_dimension_names(text, share->is_part ? &share->whole : variable);
}

/* The variables' lines (to be freed), or NULL. */
static char *print_variables(const gridio_file *file, size_t *bytes)
{
    char *lines = NULL;
    FILE *text = open_memstream(&lines, bytes);
    if (!text)
        return NULL;
    for (int i = 0; i < file->variables_count; i++)
        if (!file->shares[i].is_absent)
            print_variable(text, &file->variables[i], &file->shares[i]);
    return fclose(text) == 0 ? lines : NULL;
}

char *raw_describe(const gridio_file *file, raw_layout *layout)
{
    char steps[RAW_STEPS_BYTES + 1];
    size_t bytes = 0;
    char *lines = print_variables(file, &bytes);
    layout->header_bytes =
        ((int64_t)bytes + FIXED_LINES_BYTES + RAW_PAGE_BYTES - 1) / RAW_PAGE_BYTES * RAW_PAGE_BYTES;
    char *text = lines ? malloc((size_t)layout->header_bytes) : NULL;
    if (text) {
        raw_steps_line(file->steps, steps);
        int used = snprintf(text, (size_t)layout->header_bytes,
                            "gridio 1\n%sbyte_order %s\nheader_bytes %" PRId64 "\n%send\n", steps,
                            byte_order(), layout->header_bytes, lines);
        memset(text + used, ' ', (size_t)(layout->header_bytes - used));
        text[layout->header_bytes - 1] = '\n';
        lay_out(file, layout);
    }
    free(lines);
    return text;
}

/* --- from text --- */

int64_t raw_header_bytes(const char *text)
{
    int64_t bytes = 0;
    const char *line = strstr(text, "\nheader_bytes ");
    if (strncmp(text, "gridio 1\n", RAW_STEPS_OFFSET) != 0 || !line ||
        sscanf(line, "\nheader_bytes %" SCNd64, &bytes) != 1)
        return 0;
    return bytes >= RAW_PAGE_BYTES && bytes <= LONGEST_HEADER && bytes % RAW_PAGE_BYTES == 0 ? bytes
                                                                                             : 0;
}

/* The next blank-separated word of a line, cut out of it. */
static char *next_word(char **rest)
{
    char *word = strtok_r(NULL, " ", rest);
    return word ? word : "";
}

static int parse_type(const char *word)
{
    for (int type = 0; type < TYPES; type++)
        if (strcmp(word, gridio_type_name((gridio_type)type)) == 0)
            return type;
    return -1;
}

/* False where the array's bytes would not fit 62 bits: a damaged size must not become a small
 * number by overflow. */
static bool parse_sizes(gridio_variable *variable, char **rest)
{
    int64_t elements = 1;
    variable->dimensions = atoi(next_word(rest));
    if (variable->dimensions < 0 || variable->dimensions > GRIDIO_DIMENSIONS)
        return false;
    for (int axis = 0; axis < variable->dimensions; axis++) {
        int64_t size = strtoll(next_word(rest), NULL, 10);
        if (size < 1 || size > INT32_MAX || elements > INT64_MAX / 16 / size)
            return false;
        elements *= variable->size[axis] = size;
    }
    return true;
}

static bool parse_variable(gridio_file *file, char *rest)
{
    char *name = next_word(&rest), *units = next_word(&rest);
    const int type = parse_type(next_word(&rest));
    char *tiled = next_word(&rest), *when = next_word(&rest);
    gridio_variable variable = {.name = name,
                                .units = units,
                                .type = (gridio_type)type,
                                .tiled = strcmp(tiled, "tiled") == 0,
                                .every_step = strcmp(when, "every_step") == 0};
    return *units && type >= 0 && parse_sizes(&variable, &rest) &&
           gridio_add_variable(file, &variable) >= 0;
}

/* Of the variable, or of what it is a part of: the names that a part has itself are made up again
 * when it is written.
 */
static bool parse_dimension_names(gridio_variable *variable, char *rest)
{
    for (int axis = 0; axis < variable->dimensions; axis++) {
        const char *name = next_word(&rest);
        if (!*name || variable->dimension_name[axis])
            return false;
        variable->dimension_name[axis] = strcmp(name, "-") == 0 ? NULL : strdup(name);
    }
    return true;
}

static bool parse_part(const gridio_variable *variable, gridio_share *share, char *rest)
{
    share->is_part = true;
    share->whole = *variable;
    return parse_sizes(&share->whole, &rest);
}

static bool parse_block(gridio_share *share, char *rest)
{
    const int dimensions = share->whole.dimensions;
    gridio_block *more = realloc(share->block, ((size_t)share->blocks + 1) * sizeof *more);
    if (!more)
        return false;
    gridio_block *block = &more[share->blocks++];
    share->block = more;
    *block = (gridio_block){{0}, {0}};
    for (int i = 0; i < 2 * dimensions; i++)
        (i < dimensions ? block->start : block->count)[i % dimensions] =
            strtoll(next_word(&rest), NULL, 10);
    share->elements += gridio_elements(block, dimensions);
    return share->is_part;
}

/* A line under a variable's own. */
static bool parse_more(gridio_file *file, const char *word, char *rest)
{
    const int last = file->variables_count - 1;
    if (strcmp(word, "dimensions") == 0)
        return last >= 0 &&
               parse_dimension_names(file->shares[last].is_part ? &file->shares[last].whole
                                                                : &file->variables[last],
                                     rest);
    if (strcmp(word, "ordinal") == 0)
        return last >= 0 && (file->shares[last].ordinal = atoi(next_word(&rest))) > 0;
    if (strcmp(word, "part") == 0)
        return last >= 0 && parse_part(&file->variables[last], &file->shares[last], rest);
    if (strcmp(word, "block") == 0)
        return last >= 0 && parse_block(&file->shares[last], rest);
    return true;
}

static int parse_line(gridio_file *file, char *line)
{
    char *rest;
    const char *word = strtok_r(line, " ", &rest);
    if (!word)
        return 0;
    if (strcmp(word, "steps") == 0)
        file->steps = strtoll(next_word(&rest), NULL, 10);
    if (strcmp(word, "byte_order") == 0 && strcmp(next_word(&rest), byte_order()) != 0)
        return gridio_fail(file, "'%s' was written on a machine of the other byte order",
                           file->path);
    if (strcmp(word, "variable") == 0 ? parse_variable(file, rest) : parse_more(file, word, rest))
        return 0;
    return gridio_fail(file, "the header of '%s' has no sense at its variable %d", file->path,
                       file->variables_count);
}

int raw_parse(gridio_file *file, char *text, raw_layout *layout)
{
    layout->header_bytes = raw_header_bytes(text);
    char *rest, *line = strtok_r(text, "\n", &rest);
    while (line && strcmp(line, "end") != 0) {
        if (parse_line(file, line) != 0)
            return GRIDIO_FAILED;
        line = strtok_r(NULL, "\n", &rest);
    }
    if (!line || file->steps < 0)
        return gridio_fail(file, "the header of '%s' is cut off or damaged", file->path);
    lay_out(file, layout);
    return 0;
}

int64_t raw_offset(const gridio_file *file, const raw_layout *layout, int number, int64_t step)
{
    const bool every = file->variables[number].every_step;
    return layout->offset[number] + (every ? layout->first_step + step * layout->step_bytes : 0);
}
