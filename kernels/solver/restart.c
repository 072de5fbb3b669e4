#include "restart.h"
#include "program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A line as a plan would have it; made where the plan leaves it out. */
static void add(restart *r, plan *p, plan_section *section, const grid *g, const char *words)
{
    const plan_entry made = {.key = "restart", .value = "", .line = section->line};
    variables_add(&r->set, p, &made, words, g);
}

static void add_usual_tracers(restart *r, plan *p, plan_section *section, const model *m)
{
    char words[64];
    for (int v = 1; v <= m->tracers; v++) {
        snprintf(words, sizeof words, "tracer_%d source=tracer:%d", v, v);
        add(r, p, section, &m->g, words);
    }
}

/* How many of the model's tracers the variables hold; each must be there once. */
static bool holds_state(const restart *r, const model *m)
{
    int64_t held = 0;
    for (int v = 1; v < r->set.count; v++) {
        int64_t further = 1;
        if (r->set.from[v].source != SOURCE_TRACER || r->set.shape[v].variable.type != GRIDIO_FLOAT64)
            return false;
        for (int d = 0; d < r->set.shape[v].variable.dimensions; d++)
            further *= r->set.from[v].axis[d] == AXIS_OTHER ? r->set.shape[v].variable.size[d] : 1;
        held += further;
    }
    return held == m->tracers;
}

void restart_from_plan(restart *r, plan *p, plan_section *section, const model *m)
{
    char words[256];
    *r = (restart){.buffer = NULL};
    stream_from_plan(&r->from, p, section, "read", m->g.comm);
    snprintf(words, sizeof words, "%.200s type=int32 shape=none source=step",
             plan_text(p, section, "step_variable", "step"));
    add(r, p, section, &m->g, words);
    variables_from_plan(&r->set, p, section, &m->g);
    if (r->set.count == 1)
        add_usual_tracers(r, p, section, m);
    if (!holds_state(r, m))
        plan_wrong(p, &(plan_entry){.key = "restart", .line = section->line},
                   "needs every tracer once, as float64 with source=tracer:K");
    r->set.shape[0].any_type = true;
    r->from.variable = r->set.shape;
    r->from.variables = r->set.count;
    r->from.steps = 1;
    r->from.last = true;
}

static int64_t as_integer(gridio_type type, const void *data)
{
    return type == GRIDIO_FLOAT64   ? (int64_t)*(const double *)data
           : type == GRIDIO_FLOAT32 ? (int64_t)*(const float *)data
                                    : *(const int32_t *)data;
}

static void take_tracers(const restart *r, int v, model *m)
{
    const stream_variable *shape = &r->set.shape[v];
    const double *values = r->buffer;
    const int64_t rows = variable_rows(shape);
    for (int64_t row = 0; row < rows; row++) {
        const row_place place = variable_row(shape, &r->set.from[v], row);
        const int tracer = (int)((r->set.from[v].k - 1 + place.n) % m->tracers);
        memcpy(&m->now.values[field_index(&m->g, tracer, place.z, place.y, 0)], values,
               (size_t)place.cells * sizeof *values);
        values += place.cells;
    }
}

static int read_one(restart *r, int v, model *m)
{
    const size_t bytes = stream_bytes(&r->set.shape[v]);
    r->buffer = realloc(r->buffer, bytes < 8 ? 8 : bytes);
    const int status = stream_read(&r->from, v, r->buffer);
    if (status == DONE && v == 0)
        m->step = as_integer(r->set.shape[0].variable.type, r->buffer);
    else if (status == DONE)
        take_tracers(r, v, m);
    return status;
}

int restart_read(restart *r, model *m)
{
    int status = stream_read_begin(&r->from);
    if (status == DONE && gridio_steps(r->from.file) == 0)
        status = program_fail(FAILED, "restart from a file with at least one output", "'%s' holds no whole step",
                              r->from.open_path);
    for (int v = 0; v < r->set.count && status == DONE; v++)
        status = read_one(r, v, m);
    if (status == DONE)
        status = stream_read_end(&r->from, m->step);
    if (status == DONE)
        model_state_changed(m);
    return status;
}

void restart_free(restart *r)
{
    stream_abandon(&r->from);
    free(r->buffer);
    variables_free(&r->set);
    stream_free(&r->from);
}
