#include "variables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- words ----------------------------------------------------------------------------------------------------------
 */

/* What is being read, and whether it made sense so far. */
typedef struct {
    plan *p;
    const plan_entry *entry;
    const grid *g;
    stream_variable *v;
    origin *from;
    char *shape, *dimensions;
} reading;

static void complain(reading *r, const char *sentence)
{
    plan_wrong(r->p, r->entry, sentence);
}

/* Which of the names, ended by NULL, it is; -1: none. */
static int find_name(const char *const *names, const char *name, size_t length)
{
    for (int n = 0; names[n]; n++)
        if (strlen(names[n]) == length && strncmp(names[n], name, length) == 0)
            return n;
    return -1;
}

static void take_type(reading *r, const char *value)
{
    static const char *const NAMES[] = {"float64", "float32", "int32", "character", NULL};
    const int type = find_name(NAMES, value, strlen(value));
    if (type < 0)
        complain(r, "needs a type of float64, float32, int32 or character");
    else
        r->v->variable.type = (gridio_type)type;
}

/* The K of tracer:K, from 1. */
static int64_t after_colon(reading *r, const char *value)
{
    const char *colon = strchr(value, ':');
    char *end;
    const long long k = colon ? strtoll(colon + 1, &end, 10) : 0;
    if (colon && end != colon + 1 && *end == '\0' && k >= 1 && k <= 1000000000)
        return k;
    complain(r, "needs a number from 1 after the colon of its source or role");
    return 1;
}

static void take_switch(reading *r, const char *value)
{
    r->from->k = strcmp(value, "switch:true") == 0;
    if (!r->from->k && strcmp(value, "switch:false") != 0)
        complain(r, "needs switch:true or switch:false");
}

static void take_constant(reading *r, const char *value)
{
    char *end;
    const char *digits = value + strlen("number:");
    r->from->number = value[6] == ':' ? strtod(digits, &end) : (end = (char *)value, 0);
    if (value[6] != ':' || end == digits || *end != '\0')
        complain(r, "needs a number after number:");
}

static void take_source(reading *r, const char *value)
{
    static const char *const NAMES[] = {"tracer", "derived", "column", "place",  "forcing", "level",
                                        "step",   "time",    "date",   "switch", "number",  NULL};
    const int source = find_name(NAMES, value, strcspn(value, ":"));
    r->from->source = (source_kind)(source < 0 ? 0 : source);
    if (source < 0)
        complain(r, "has a source that there is not");
    else if (source <= SOURCE_FORCING)
        r->from->k = after_colon(r, value);
    else if (source == SOURCE_SWITCH)
        take_switch(r, value);
    else if (source == SOURCE_NUMBER)
        take_constant(r, value);
}

static void take_role(reading *r, const char *value)
{
    static const char *const NAMES[] = {"none", "wind_x", "wind_y", "temperature", "emission", "logical", NULL};
    const int role = find_name(NAMES, value, strcspn(value, ":"));
    r->from->role = (role_kind)(role < 0 ? 0 : role);
    if (role < 0)
        complain(r, "has a role that there is not");
    else if (role == ROLE_EMISSION)
        r->from->role_tracer = (int)after_colon(r, value) - 1;
}

static void take_when(reading *r, const char *value)
{
    static const char *const NAMES[] = {"once", "every_step", NULL};
    const int when = find_name(NAMES, value, strlen(value));
    if (when < 0)
        complain(r, "needs when=once or when=every_step");
    r->v->variable.every_step = when == 1;
}

static void take_word(reading *r, char *word)
{
    char *value = strchr(word, '=');
    if (!value) {
        complain(r, "has words that are not of the form key=value");
        return;
    }
    *value++ = '\0';
    if (strcmp(word, "type") == 0)
        take_type(r, value);
    else if (strcmp(word, "units") == 0)
        r->v->variable.units = value;
    else if (strcmp(word, "shape") == 0)
        r->shape = value;
    else if (strcmp(word, "dimensions") == 0)
        r->dimensions = value;
    else if (strcmp(word, "source") == 0)
        take_source(r, value);
    else if (strcmp(word, "when") == 0)
        take_when(r, value);
    else if (strcmp(word, "role") == 0)
        take_role(r, value);
    else
        complain(r, "has a key that is none of type, units, shape, dimensions, source, when, role");
}

/* --- shapes ---------------------------------------------------------------------------------------------------------
 */

/* One dimension of the grid, "y" or "y+1". */
static bool take_grid_axis(reading *r, int d, const char *word)
{
    static const char LETTERS[] = "zyx";
    static const char *const NAMES[2][3] = {{"z", "y", "x"}, {"z_staggered", "y_staggered", "x_staggered"}};
    const char *letter = word[0] != '\0' ? strchr(LETTERS, word[0]) : NULL;
    const bool staggered = letter && strcmp(word + 1, "+1") == 0;
    if (!letter || !(word[1] == '\0' || staggered))
        return false;
    const int axis = (int)(letter - LETTERS);
    r->from->axis[d] = axis;
    r->from->staggered[axis] = staggered;
    r->v->variable.size[d] = r->g->size[axis] + staggered;
    r->v->variable.dimension_name[d] = NAMES[staggered][axis];
    return true;
}

/* Any other, "name=N". */
static bool take_other_axis(reading *r, int d, char *word)
{
    char *size = strchr(word, '='), *end;
    if (!size || size == word)
        return false;
    *size++ = '\0';
    const long long cells = strtoll(size, &end, 10);
    r->from->axis[d] = AXIS_OTHER;
    r->v->variable.size[d] = cells;
    r->v->variable.dimension_name[d] = word;
    return end != size && *end == '\0' && cells >= 1 && cells <= 1 << 30;
}

static void take_shape(reading *r, char *words)
{
    gridio_variable *v = &r->v->variable;
    char *word;
    if (strcmp(words, "none") == 0)
        return;
    while ((word = strsep(&words, ","))) {
        if (v->dimensions == GRIDIO_DIMENSIONS) {
            complain(r, "has more than four dimensions");
            return;
        }
        if (!take_grid_axis(r, v->dimensions, word) && !take_other_axis(r, v->dimensions, word))
            complain(r, "has a dimension that is none of x, y, z, x+1, y+1, z+1 and name=N");
        v->dimensions++;
    }
}

static void take_dimension_names(reading *r, char *words)
{
    gridio_variable *v = &r->v->variable;
    char *word;
    int d = 0;
    while (words && (word = strsep(&words, ","))) {
        if (d < v->dimensions)
            v->dimension_name[d] = word;
        d++;
    }
    if (d != 0 && d != v->dimensions)
        complain(r, "needs as many names of dimensions as it has dimensions");
}

/* --- what goes together ---------------------------------------------------------------------------------------------
 */

static bool last_axes_are_horizontal(const reading *r)
{
    const int d = r->v->variable.dimensions;
    return d >= 2 && r->from->axis[d - 2] == Y && r->from->axis[d - 1] == X;
}

/* How often a dimension of the grid is among the variable's. */
static int times(const reading *r, int axis)
{
    int found = 0;
    for (int d = 0; d < r->v->variable.dimensions; d++)
        found += r->from->axis[d] == axis;
    return found;
}

static void check_tiling(reading *r)
{
    r->v->variable.tiled = last_axes_are_horizontal(r);
    if (times(r, X) + times(r, Y) != (r->v->variable.tiled ? 2 : 0) || times(r, Z) > 1)
        complain(r, "must have y and x as its last two dimensions, or neither, and z once at most");
}

static void check_source(reading *r)
{
    const origin *from = r->from;
    const bool of_state = from->source <= SOURCE_COLUMN, tiled = r->v->variable.tiled;
    if ((of_state || from->source == SOURCE_FORCING) && !tiled)
        complain(r, "has a source that only tiled variables have");
    else if (from->source >= SOURCE_LEVEL && from->source <= SOURCE_SWITCH && tiled)
        complain(r, "has a source that no tiled variable has");
    else if (of_state && from->staggered[X] + from->staggered[Y] + from->staggered[Z] > 1)
        complain(r, "is staggered along more than one direction, where the state is not known");
    else if (from->source == SOURCE_COLUMN && times(r, Z) > 0)
        complain(r, "is of whole columns, and so has no z");
    else if (from->source == SOURCE_LEVEL && (times(r, Z) == 0 || r->v->variable.dimensions != 1))
        complain(r, "has the source level, which needs the shape z or z+1");
    else if ((r->v->variable.type == GRIDIO_CHARACTER) && from->source != SOURCE_DATE && from->source != SOURCE_SWITCH)
        complain(r, "is of characters, which only the sources date and switch give");
}

static void check_role(reading *r)
{
    const role_kind role = r->from->role;
    const gridio_variable *v = &r->v->variable;
    const bool number = v->type == GRIDIO_FLOAT64 || v->type == GRIDIO_FLOAT32;
    if (role == ROLE_LOGICAL && (number || v->tiled || v->dimensions > 0))
        complain(r, "has the role logical, which needs the type character or int32 and the shape none");
    else if (role != ROLE_NONE && role != ROLE_LOGICAL && (!number || !v->tiled || times(r, AXIS_OTHER) > 0))
        complain(r, "has a role that needs a floating-point type and a shape of z,y,x or y,x");
}

/* The rank's part: its tile, and beyond the grid's end what is staggered there. */
static void choose_block(reading *r)
{
    const grid *g = r->g;
    gridio_block *b = &r->v->block;
    r->v->blocks = 1;
    for (int d = 0; d < r->v->variable.dimensions; d++) {
        const int axis = r->from->axis[d];
        b->start[d] = axis == AXIS_OTHER || !r->v->variable.tiled ? 0 : g->start[axis];
        b->count[d] = axis == AXIS_OTHER || !r->v->variable.tiled ? r->v->variable.size[d] : g->count[axis];
        if (axis != AXIS_OTHER && r->v->variable.tiled && g->start[axis] + g->count[axis] == g->size[axis])
            b->count[d] += r->from->staggered[axis];
    }
}

/* --- sets -----------------------------------------------------------------------------------------------------------
 */

static void make_room(variable_set *set)
{
    const size_t room = (size_t)set->count + 1;
    set->shape = realloc(set->shape, room * sizeof *set->shape);
    set->from = realloc(set->from, room * sizeof *set->from);
    set->text = realloc(set->text, room * sizeof *set->text);
}

void variables_add(variable_set *set, plan *p, const plan_entry *entry, const char *words, const grid *g)
{
    char usual_shape[] = "z,y,x";
    make_room(set);
    reading r = {.p = p, .entry = entry, .g = g, .v = &set->shape[set->count], .from = &set->from[set->count]};
    char *rest = set->text[set->count] = strdup(words), *word = strsep(&rest, " \t");
    set->count++;
    *r.v = (stream_variable){.variable = {.name = word, .units = "1", .every_step = true}};
    *r.from = (origin){.source = SOURCE_NUMBER};
    while (rest && (word = strsep(&rest, " \t")))
        if (*word != '\0')
            take_word(&r, word);
    take_shape(&r, r.shape ? r.shape : usual_shape);
    take_dimension_names(&r, r.dimensions);
    check_tiling(&r);
    check_source(&r);
    check_role(&r);
    choose_block(&r);
}

void variables_from_plan(variable_set *set, plan *p, plan_section *section, const grid *g)
{
    const plan_entry *entry;
    int at = 0;
    while ((entry = plan_next(p, section, "variable", &at)))
        variables_add(set, p, entry, entry->value, g);
}

void variables_free(variable_set *set)
{
    for (int v = 0; v < set->count; v++)
        free(set->text[v]);
    free(set->text);
    free(set->shape);
    free(set->from);
}

/* --- rows -----------------------------------------------------------------------------------------------------------
 */

int64_t variable_rows(const stream_variable *v)
{
    int64_t rows = 1;
    for (int d = 0; d < v->variable.dimensions - 1; d++)
        rows *= v->block.count[d];
    return v->variable.dimensions > 0 && v->block.count[v->variable.dimensions - 1] == 0 ? 0 : rows;
}

row_place variable_row(const stream_variable *v, const origin *from, int64_t row)
{
    const int last = v->variable.dimensions - 1;
    row_place place = {.cells = last >= 0 ? (int)v->block.count[last] : 1};
    int64_t scale = 1;
    for (int d = last - 1; d >= 0; d--) {
        const int64_t at = row % v->block.count[d];
        row /= v->block.count[d];
        if (from->axis[d] == AXIS_OTHER) {
            place.n += at * scale;
            scale *= v->block.count[d];
        } else if (from->axis[d] == Y)
            place.y = (int)at;
        else {
            place.z = (int)at;
            place.has_z = true;
        }
    }
    return place;
}
