#include "raw_layout.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const TYPE_NAMES[] = {"float64", "float32", "int32", "character"};
enum { TYPES = sizeof TYPE_NAMES / sizeof *TYPE_NAMES, LONGEST_LINE = 1024 };

/* A header is never this long: a larger value comes from a damaged file. */
static const int64_t LONGEST_HEADER = (int64_t)LONGEST_LINE * (GRIDIO_VARIABLES_AT_MOST + 8);

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
        *place += (int64_t)gridio_variable_bytes(&file->variables[i]);
    }
    layout->first_step = once;
    layout->step_bytes = step;
}

static int print_variable(char *text, size_t room, const gridio_variable *v)
{
    int length = snprintf(text, room, "variable %s %s %s %s %s %d", v->name, v->units, TYPE_NAMES[v->type],
                          v->tiled ? "tiled" : "whole", v->every_step ? "every_step" : "once", v->dimensions);
    for (int d = 0; d < v->dimensions; d++)
        length += snprintf(text + length, room - (size_t)length, " %" PRId64, v->size[d]);
    return length + snprintf(text + length, room - (size_t)length, "\n");
}

char *raw_describe(const gridio_file *file, raw_layout *layout)
{
    const int64_t room = ((int64_t)file->variables_count + 8) * LONGEST_LINE + RAW_PAGE_BYTES;
    char *variables = malloc((size_t)room), *text = malloc((size_t)room), steps[RAW_STEPS_BYTES + 1];
    if (!variables || !text) {
        free(variables);
        free(text);
        return NULL;
    }
    int length = 0;
    for (int i = 0; i < file->variables_count; i++)
        length += print_variable(variables + length, LONGEST_LINE, &file->variables[i]);

    layout->header_bytes = (length + LONGEST_LINE + RAW_PAGE_BYTES - 1) / RAW_PAGE_BYTES * RAW_PAGE_BYTES;
    raw_steps_line(file->steps, steps);
    int used = snprintf(text, (size_t)room, "gridio 1\n%sbyte_order %s\nheader_bytes %" PRId64 "\n%.*send\n", steps,
                        byte_order(), layout->header_bytes, length, variables);
    memset(text + used, ' ', (size_t)(layout->header_bytes - used));
    text[layout->header_bytes - 1] = '\n';
    free(variables);
    lay_out(file, layout);
    return text;
}

int64_t raw_header_bytes(const char *text)
{
    int64_t bytes = 0;
    const char *line = strstr(text, "\nheader_bytes ");
    if (strncmp(text, "gridio 1\n", RAW_STEPS_OFFSET) != 0 || !line ||
        sscanf(line, "\nheader_bytes %" SCNd64, &bytes) != 1)
        return 0;
    return bytes >= RAW_PAGE_BYTES && bytes <= LONGEST_HEADER && bytes % RAW_PAGE_BYTES == 0 ? bytes : 0;
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
        if (strcmp(word, TYPE_NAMES[type]) == 0)
            return type;
    return -1;
}

/* False where the array's bytes would not fit 62 bits: a damaged size must not become a small number by overflow. */
static bool parse_sizes(gridio_variable *variable, char **rest)
{
    int64_t elements = 1;
    for (int d = 0; d < variable->dimensions; d++) {
        int64_t size = strtoll(next_word(rest), NULL, 10);
        if (size < 1 || elements > INT64_MAX / 16 / size)
            return false;
        elements *= variable->size[d] = size;
    }
    return true;
}

static bool parse_variable(gridio_variable *variable, char *line)
{
    char *rest;
    strtok_r(line, " ", &rest); /* the word "variable" */
    char *name = next_word(&rest), *units = next_word(&rest);
    int type = parse_type(next_word(&rest));
    char *tiled = next_word(&rest), *when = next_word(&rest);
    *variable = (gridio_variable){.type = (gridio_type)type,
                                  .tiled = strcmp(tiled, "tiled") == 0,
                                  .every_step = strcmp(when, "every_step") == 0,
                                  .dimensions = atoi(next_word(&rest))};
    if (!*units || type < 0 || variable->dimensions < 0 || variable->dimensions > GRIDIO_DIMENSIONS)
        return false;
    if (!parse_sizes(variable, &rest))
        return false;
    variable->name = strdup(name);
    variable->units = strdup(units);
    return true;
}

static int parse_line(gridio_file *file, char *line)
{
    if (strncmp(line, "steps ", 6) == 0)
        file->steps = strtoll(line + 6, NULL, 10);
    if (strncmp(line, "byte_order ", 11) == 0 && strcmp(line + 11, byte_order()) != 0)
        return gridio_fail(file, "'%s' was written on a machine of the other byte order", file->path);
    if (strncmp(line, "variable ", 9) != 0)
        return 0;
    if (file->variables_count == GRIDIO_VARIABLES_AT_MOST)
        return gridio_fail(file, "'%s' has more than %d variables", file->path, GRIDIO_VARIABLES_AT_MOST);
    if (!parse_variable(&file->variables[file->variables_count], line))
        return gridio_fail(file, "the header of '%s' has no sense at its variable %d", file->path,
                           file->variables_count);
    file->variables_count++;
    return 0;
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
