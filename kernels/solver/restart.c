#include "restart.h"
#include "allocation.h"
#include "program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A line as a plan would have it; made where the plan leaves it out. */
static void add(struct restart *restart, struct plan *plan, struct plan_section *section,
                const struct grid *grid, const char *words)
{
    const struct plan_entry made = {.key = "restart", .value = "", .line = section->line};
    variables_add(&restart->set, plan, &made, words, grid);
}

static void add_default_tracers(struct restart *restart, struct plan *plan,
                                struct plan_section *section, const struct model *model)
{
    char words[64];
    for (int index = 1; index <= model->tracers; index++) {
        snprintf(words, sizeof words, "tracer_%d source=tracer:%d", index, index);
        add(restart, plan, section, &model->grid, words);
    }
}

/* How many of the model's tracers the variables hold; each must be there once. */
static bool holds_state(const struct restart *restart, const struct model *model)
{
    int64_t held = 0;
    for (int index = 1; index < restart->set.count; index++) {
        int64_t further = 1;
        if (restart->set.from[index].source != SOURCE_TRACER ||
            restart->set.shape[index].description.type != GRIDIO_FLOAT64)
            return false;
        for (int axis = 0; axis < restart->set.shape[index].description.dimensions; axis++)
            further *= restart->set.from[index].axis[axis] == AXIS_OTHER
                           ? restart->set.shape[index].description.size[axis]
                           : 1;
        held += further;
    }
    return held == model->tracers;
}

void restart_from_plan(struct restart *restart, struct plan *plan, struct plan_section *section,
                       const struct model *model)
{
    char words[256];
    *restart = (struct restart){.buffer = NULL};
    stream_from_plan(&restart->from, plan, section, "read", model->grid.comm);
    snprintf(words, sizeof words, "%.200s type=int32 shape=none source=step",
             plan_text(plan, section, "step_variable", "step"));
    add(restart, plan, section, &model->grid, words);
    variables_from_plan(&restart->set, plan, section, &model->grid);
    if (restart->set.count == 1)
        add_default_tracers(restart, plan, section, model);
    if (!holds_state(restart, model))
        plan_wrong(plan, &(struct plan_entry){.key = "restart", .line = section->line},
                   "needs every tracer once, as float64 with source=tracer:K");
    restart->set.shape[0].any_type = true;
    restart->from.variable = restart->set.shape;
    restart->from.variables = restart->set.count;
    restart->from.steps = 1;
    restart->from.last = true;
}

static int64_t as_integer(gridio_type type, const void *data)
{
    return type == GRIDIO_FLOAT64   ? (int64_t)*(const double *)data
           : type == GRIDIO_FLOAT32 ? (int64_t)*(const float *)data
                                    : *(const int32_t *)data;
}

static void take_tracers(const struct restart *restart, int index, struct model *model)
{
    const struct stream_variable *shape = &restart->set.shape[index];
    const double *values = restart->buffer;
    const int64_t rows = variable_rows(shape);
    for (int64_t row = 0; row < rows; row++) {
        const struct row_place place = variable_row(shape, &restart->set.from[index], row);
        const int tracer = (int)((restart->set.from[index].k - 1 + place.n) % model->tracers);
        memcpy(&model->now.values[field_index(&model->grid, tracer, place.z, place.y, 0)], values,
               (size_t)place.cells * sizeof *values);
        values += place.cells;
    }
}

static int read_one(struct restart *restart, int index, struct model *model)
{
    const size_t bytes = stream_bytes(&restart->set.shape[index]);
    restart->buffer = gridio_enlarge(restart->buffer, bytes < 8 ? 8 : bytes, 1);
    const int status = stream_read(&restart->from, index, restart->buffer);
    if (status == DONE && index == 0)
        model->step = as_integer(restart->set.shape[0].description.type, restart->buffer);
    else if (status == DONE)
        take_tracers(restart, index, model);
    return status;
}

int restart_read(struct restart *restart, struct model *model)
{
    int status = stream_read_begin(&restart->from);
    if (status == DONE && gridio_steps(restart->from.file) == 0)
        status = program_fail(FAILED, "restart from a file with at least one output",
                              "'%s' holds no whole step", restart->from.open_path);
    for (int index = 0; index < restart->set.count && status == DONE; index++)
        status = read_one(restart, index, model);
    if (status == DONE)
        status = stream_read_end(&restart->from, model->step);
    if (status == DONE)
        model_state_changed(model);
    return status;
}

void restart_free(struct restart *restart)
{
    stream_abandon(&restart->from);
    free(restart->buffer);
    variables_free(&restart->set);
    stream_free(&restart->from);
}
