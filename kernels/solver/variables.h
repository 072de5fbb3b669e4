/* The variables of an output or input: what the plan's lines `variable NAME key=value …` say. */
#ifndef SOLVER_VARIABLES_H
#define SOLVER_VARIABLES_H

#include "grid.h"
#include "stream.h"

enum source_kind {
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
};

enum role_kind {
    ROLE_NONE,
    ROLE_WIND_X,
    ROLE_WIND_Y,
    ROLE_TEMPERATURE,
    ROLE_EMISSION,
    ROLE_LOGICAL
};

enum { AXIS_OTHER = 3 }; /* a dimension that is neither Z, Y nor X */

/* Where the values of a variable come from. */
struct origin {
    enum source_kind source;
    int64_t k;     /* tracer:K … forcing:K; switch: 1 for true */
    double number; /* number:V */
    enum role_kind role;
    int role_tracer; /* from 0 */
    int axis[GRIDIO_DIMENSIONS];
    bool staggered[3]; /* along Z, Y, X */
};

struct variable_set {
    int count;
    struct stream_variable *shape; /* as the stream takes them */
    struct origin *from;           /* of each */
    char **text;                   /* of each plan line, which names point into */
};

/* Takes all `variable` lines of a section; what is wrong is said in the plan. */
void variables_from_plan(struct variable_set *set, struct plan *plan, struct plan_section *section,
                         const struct grid *grid);
/* Adds one by its words, "NAME key=value …". */
void variables_add(struct variable_set *set, struct plan *plan, const struct plan_entry *entry,
                   const char *words, const struct grid *grid);
void variables_free(struct variable_set *set);

/* A row is what lies along a variable's last dimension, of this rank's block. Its place: */
struct row_place {
    int64_t n;  /* number along the further dimensions, in C order */
    int z, y;   /* of this rank's tile, from its first cell; 0 where the variable has no such
                   dimension */
    bool has_z; /* otherwise z is the lowest layer, or the column */
    int cells;  /* in the row */
};
int64_t variable_rows(const struct stream_variable *variable);
struct row_place variable_row(const struct stream_variable *variable, const struct origin *from,
                              int64_t row);

#endif
