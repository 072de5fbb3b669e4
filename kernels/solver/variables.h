/* The variables of an output or input: what the plan's lines `variable NAME key=value …` say. */
#ifndef SOLVER_VARIABLES_H
#define SOLVER_VARIABLES_H

#include "grid.h"
#include "stream.h"

typedef enum {
    SOURCE_TRACER,
    SOURCE_DERIVED,
    SOURCE_COLUMN,
    SOURCE_PLACE,
    SOURCE_FORCING,
    SOURCE_LEVEL,
    SOURCE_STEP,
    SOURCE_TIME,
    SOURCE_DATE,
    SOURCE_SWITCH,
    SOURCE_NUMBER
} source_kind;

typedef enum { ROLE_NONE, ROLE_WIND_X, ROLE_WIND_Y, ROLE_TEMPERATURE, ROLE_EMISSION, ROLE_LOGICAL } role_kind;

enum { AXIS_OTHER = 3 }; /* a dimension that is neither Z, Y nor X */

/* Where the values of a variable come from. */
typedef struct {
    source_kind source;
    int64_t k;     /* tracer:K … forcing:K; switch: 1 for true */
    double number; /* number:V */
    role_kind role;
    int role_tracer; /* from 0 */
    int axis[GRIDIO_DIMENSIONS];
    bool staggered[3]; /* along Z, Y, X */
} origin;

typedef struct {
    int count;
    stream_variable *shape; /* as the stream takes them */
    origin *from;           /* of each */
    char **text;            /* of each plan line, which names point into */
} variable_set;

/* Takes all `variable` lines of a section; what is wrong is said in the plan. */
void variables_from_plan(variable_set *set, plan *p, plan_section *section, const grid *g);
/* Adds one by its words, "NAME key=value …". */
void variables_add(variable_set *set, plan *p, const plan_entry *entry, const char *words, const grid *g);
void variables_free(variable_set *set);

/* A row is what lies along a variable's last dimension, of this rank's block. Its place: */
typedef struct {
    int64_t n;  /* number along the further dimensions, in C order */
    int z, y;   /* of this rank's tile, from its first cell; 0 where the variable has no such dimension */
    bool has_z; /* otherwise z is the lowest layer, or the column */
    int cells;  /* in the row */
} row_place;
int64_t variable_rows(const stream_variable *v);
row_place variable_row(const stream_variable *v, const origin *from, int64_t row);

#endif
