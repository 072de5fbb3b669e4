#include "variables.h"
#include "allocation.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- words --- */

/* What is being read, and whether it made sense so far. */
struct reading {
    struct plan *plan;
    const struct plan_entry *entry;
    const struct grid *grid;
    struct stream_variable *variable;
    struct origin *from;
    char *shape, *dimensions;
};

static void complain(struct reading *reading, const char *sentence)
{
    plan_wrong(reading->plan, reading->entry, sentence);
}

/* Which of the names, ended by NULL, it is; -1: none. */
static int find_name(const char *const *names, const char *name, size_t length)
{
    for (int n = 0; names[n]; n++)
        if (strlen(names[n]) == length && strncmp(names[n], name, length) == 0)
            return n;
    return -1;
}

static void take_type(struct reading *reading, const char *value)
{
    static const char *const NAMES[] = {"float64", "float32", "int32", "character", NULL};
    const int type = find_name(NAMES, value, strlen(value));
    if (type < 0)
        complain(reading, "needs a type of float64, float32, int32 or character");
    else
        reading->variable->description.type = (gridio_type)type;
}

/* The K of tracer:K, from 1. */
static int64_t after_colon(struct reading *reading, const char *value)
{
    const char *colon = strchr(value, ':');
    char *end;
    const long long k = colon ? strtoll(colon + 1, &end, 10) : 0;
    if (colon && end != colon + 1 && *end == '\0' && k >= 1 && k <= 1000000000)
        return k;
    complain(reading, "needs a number from 1 after the colon of its source or role");
    return 1;
}

static void take_switch(struct reading *reading, const char *value)
{
    reading->from->k = strcmp(value, "switch:true") == 0;
    if (!reading->from->k && strcmp(value, "switch:false") != 0)
        complain(reading, "needs switch:true or switch:false");
}

static void take_constant(struct reading *reading, const char *value)
{
    char *end;
    const char *digits = value + strlen("number:");
    reading->from->number = value[6] == ':' ? strtod(digits, &end) : (end = (char *)value, 0);
    if (value[6] != ':' || end == digits || *end != '\0')
        complain(reading, "needs a number after number:");
}

static void take_source(struct reading *reading, const char *value)
{
    static const char *const NAMES[] = {"tracer", "derived", "column", "place",  "forcing", "level",
                                        "step",   "time",    "date",   "switch", "number",  NULL};
    const int source = find_name(NAMES, value, strcspn(value, ":"));
    reading->from->source = (enum source_kind)(source < 0 ? 0 : source);
    if (source < 0)
        complain(reading, "has a source that there is not");
    else if (source <= SOURCE_FORCING)
        reading->from->k = after_colon(reading, value);
    else if (source == SOURCE_SWITCH)
        take_switch(reading, value);
    else if (source == SOURCE_NUMBER)
        take_constant(reading, value);
}

static void take_role(struct reading *reading, const char *value)
{
    static const char *const NAMES[] = {"none",     "wind_x",  "wind_y", "temperature",
                                        "emission", "logical", NULL};
    const int role = find_name(NAMES, value, strcspn(value, ":"));
    reading->from->role = (enum role_kind)(role < 0 ? 0 : role);
    if (role < 0)
        complain(reading, "has a role that there is not");
    else if (role == ROLE_EMISSION)
        reading->from->role_tracer = (int)after_colon(reading, value) - 1;
}

static void take_when(struct reading *reading, const char *value)
{
    static const char *const NAMES[] = {"once", "every_step", NULL};
    const int when = find_name(NAMES, value, strlen(value));
    if (when < 0)
        complain(reading, "needs when=once or when=every_step");
    reading->variable->description.every_step = when == 1;
}

static void take_word(struct reading *reading, char *word)
{
    char *value = strchr(word, '=');
    if (!value) {
        complain(reading, "has words that are not of the form key=value");
        return;
    }
    *value++ = '\0';
    if (strcmp(word, "type") == 0)
        take_type(reading, value);
    else if (strcmp(word, "units") == 0)
        reading->variable->description.units = value;
    else if (strcmp(word, "shape") == 0)
        reading->shape = value;
    else if (strcmp(word, "dimensions") == 0)
        reading->dimensions = value;
    else if (strcmp(word, "source") == 0)
        take_source(reading, value);
    else if (strcmp(word, "when") == 0)
        take_when(reading, value);
    else if (strcmp(word, "role") == 0)
        take_role(reading, value);
    else
        complain(reading,
                 "has a key that is none of type, units, shape, dimensions, source, when, role");
}

/* --- shapes --- */

/* One dimension of the grid, "y" or "y+1". */
static bool take_grid_axis(struct reading *reading, int place, const char *word)
{
    static const char LETTERS[] = "zyx";
    static const char *const NAMES[2][3] = {{"z", "y", "x"},
                                            {"z_staggered", "y_staggered", "x_staggered"}};
    const char *letter = word[0] != '\0' ? strchr(LETTERS, word[0]) : NULL;
    const bool staggered = letter && strcmp(word + 1, "+1") == 0;
    if (!letter || !(word[1] == '\0' || staggered))
        return false;
    const int axis = (int)(letter - LETTERS);
    reading->from->axis[place] = axis;
    reading->from->staggered[axis] = staggered;
    reading->variable->description.size[place] = reading->grid->size[axis] + staggered;
    reading->variable->description.dimension_name[place] = NAMES[staggered][axis];
    return true;
}

/* Any other, "name=N". */
static bool take_other_axis(struct reading *reading, int place, char *word)
{
    char *size = strchr(word, '='), *end;
    if (!size || size == word)
        return false;
    *size++ = '\0';
    const long long cells = strtoll(size, &end, 10);
    reading->from->axis[place] = AXIS_OTHER;
    reading->variable->description.size[place] = cells;
    reading->variable->description.dimension_name[place] = word;
    return end != size && *end == '\0' && cells >= 1 && cells <= 1 << 30;
}

static void take_shape(struct reading *reading, char *words)
{
    gridio_variable *variable = &reading->variable->description;
    char *word;
    if (strcmp(words, "none") == 0)
        return;
    while ((word = strsep(&words, ","))) {
        if (variable->dimensions == GRIDIO_DIMENSIONS) {
            complain(reading, "has more than four dimensions");
            return;
        }
        if (!take_grid_axis(reading, variable->dimensions, word) &&
            !take_other_axis(reading, variable->dimensions, word))
            complain(reading, "has a dimension that is none of x, y, z, x+1, y+1, z+1 and name=N");
        variable->dimensions++;
    }
}

static void take_dimension_names(struct reading *reading, char *words)
{
    gridio_variable *variable = &reading->variable->description;
    char *word;
    int axis = 0;
    while (words && (word = strsep(&words, ","))) {
        if (axis < variable->dimensions)
            variable->dimension_name[axis] = word;
        axis++;
    }
    if (axis != 0 && axis != variable->dimensions)
        complain(reading, "needs as many names of dimensions as it has dimensions");
}

/* --- what goes together --- */

static bool last_axes_are_horizontal(const struct reading *reading)
{
    const int count = reading->variable->description.dimensions;
    return count >= 2 && reading->from->axis[count - 2] == Y && reading->from->axis[count - 1] == X;
}

/* How often a dimension of the grid is among the variable's. */
static int times(const struct reading *reading, int axis)
{
    int found = 0;
    for (int i = 0; i < reading->variable->description.dimensions; i++)
        found += reading->from->axis[i] == axis;
    return found;
}

static void check_tiling(struct reading *reading)
{
    reading->variable->description.tiled = last_axes_are_horizontal(reading);
    if (times(reading, X) + times(reading, Y) != (reading->variable->description.tiled ? 2 : 0) ||
        times(reading, Z) > 1)
        complain(reading,
                 "must have y and x as its last two dimensions, or neither, and z once at most");
}

static void check_source(struct reading *reading)
{
    const struct origin *from = reading->from;
    const bool of_state = from->source <= SOURCE_COLUMN,
               tiled = reading->variable->description.tiled;
    if ((of_state || from->source == SOURCE_FORCING) && !tiled)
        complain(reading, "has a source that only tiled variables have");
    else if (from->source >= SOURCE_LEVEL && from->source <= SOURCE_SWITCH && tiled)
        complain(reading, "has a source that no tiled variable has");
    else if (of_state && from->staggered[X] + from->staggered[Y] + from->staggered[Z] > 1)
        complain(reading,
                 "is staggered along more than one direction, where the state is not known");
    else if (from->source == SOURCE_COLUMN && times(reading, Z) > 0)
        complain(reading, "is of whole columns, and so has no z");
    else if (from->source == SOURCE_LEVEL &&
             (times(reading, Z) == 0 || reading->variable->description.dimensions != 1))
        complain(reading, "has the source level, which needs the shape z or z+1");
    else if ((reading->variable->description.type == GRIDIO_CHARACTER) &&
             from->source != SOURCE_DATE && from->source != SOURCE_SWITCH)
        complain(reading, "is of characters, which only the sources date and switch give");
}

static void check_role(struct reading *reading)
{
    const enum role_kind role = reading->from->role;
    const gridio_variable *variable = &reading->variable->description;
    const bool number = variable->type == GRIDIO_FLOAT64 || variable->type == GRIDIO_FLOAT32;
    if (role == ROLE_LOGICAL && (number || variable->tiled || variable->dimensions > 0))
        complain(
            reading,
            "has the role logical, which needs the type character or int32 and the shape none");
    else if (role != ROLE_NONE && role != ROLE_LOGICAL &&
             (!number || !variable->tiled || times(reading, AXIS_OTHER) > 0))
        complain(reading,
                 "has a role that needs a floating-point type and a shape of z,y,x or y,x");
}

/* The rank's part: its tile, and beyond the grid's end what is staggered there. */
static void choose_block(struct reading *reading)
{
    const struct grid *grid = reading->grid;
    gridio_block *block = &reading->variable->block;
    reading->variable->blocks = 1;
    for (int i = 0; i < reading->variable->description.dimensions; i++) {
        const int axis = reading->from->axis[i];
        if (axis == AXIS_OTHER || !reading->variable->description.tiled) {
            block->start[i] = 0;
            block->count[i] = reading->variable->description.size[i];
            continue;
        }
        block->start[i] = grid->start[axis];
        block->count[i] = grid->count[axis];
        if (grid->start[axis] + grid->count[axis] == grid->size[axis])
            block->count[i] += reading->from->staggered[axis];
    }
}

/* --- sets --- */

static void make_room(struct variable_set *set)
{
    const size_t room = (size_t)set->count + 1;
    set->shape = gridio_enlarge(set->shape, room, sizeof *set->shape);
    set->from = gridio_enlarge(set->from, room, sizeof *set->from);
    set->text = gridio_enlarge(set->text, room, sizeof *set->text);
}

void variables_add(struct variable_set *set, struct plan *plan, const struct plan_entry *entry,
                   const char *words, const struct grid *grid)
{
    char default_shape[] = "z,y,x";
    make_room(set);
    struct reading reading = {.plan = plan,
                              .entry = entry,
                              .grid = grid,
                              .variable = &set->shape[set->count],
                              .from = &set->from[set->count]};
    char *rest = set->text[set->count] = strdup(words), *word = strsep(&rest, " \t");
    set->count++;
    *reading.variable =
        (struct stream_variable){.description = {.name = word, .units = "1", .every_step = true}};
    *reading.from = (struct origin){.source = SOURCE_NUMBER};
    while (rest && (word = strsep(&rest, " \t")))
        if (*word != '\0')
            take_word(&reading, word);
    take_shape(&reading, reading.shape ? reading.shape : default_shape);
    take_dimension_names(&reading, reading.dimensions);
    check_tiling(&reading);
    check_source(&reading);
    check_role(&reading);
    choose_block(&reading);
}

void variables_from_plan(struct variable_set *set, struct plan *plan, struct plan_section *section,
                         const struct grid *grid)
{
    const struct plan_entry *entry;
    int at = 0;
    while ((entry = plan_next(plan, section, "variable", &at)))
        variables_add(set, plan, entry, entry->value, grid);
}

void variables_free(struct variable_set *set)
{
    for (int index = 0; index < set->count; index++)
        free(set->text[index]);
    free(set->text);
    free(set->shape);
    free(set->from);
}

/* --- rows --- */

int64_t variable_rows(const struct stream_variable *variable)
{
    int64_t rows = 1;
    for (int axis = 0; axis < variable->description.dimensions - 1; axis++)
        rows *= variable->block.count[axis];
    return variable->description.dimensions > 0 &&
                   variable->block.count[variable->description.dimensions - 1] == 0
               ? 0
               : rows;
}

struct row_place variable_row(const struct stream_variable *variable, const struct origin *from,
                              int64_t row)
{
    const int last = variable->description.dimensions - 1;
    struct row_place place = {.cells = last >= 0 ? (int)variable->block.count[last] : 1};
    int64_t scale = 1;
    for (int axis = last - 1; axis >= 0; axis--) {
        const int64_t at = row % variable->block.count[axis];
        row /= variable->block.count[axis];
        if (from->axis[axis] == AXIS_OTHER) {
            place.n += at * scale;
            scale *= variable->block.count[axis];
        } else if (from->axis[axis] == Y)
            place.y = (int)at;
        else {
            place.z = (int)at;
            place.has_z = true;
        }
    }
    return place;
}
