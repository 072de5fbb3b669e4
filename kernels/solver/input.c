#include "input.h"
#include "allocation.h"
#include "logical.h"
#include "program.h"
#include "records.h"
#include "sources.h"

#include <stdlib.h>
#include <string.h>

void input_from_plan(struct input *in, struct plan *plan, struct plan_section *section,
                     const struct model *model, bool prepare)
{
    *in = (struct input){.buffer = NULL};
    stream_from_plan(&in->from, plan, section, prepare ? "write" : "read", model->grid.comm);
    stream_prepare_from_plan(&in->from, plan, section, prepare);
    in->every = plan_number(plan, section, "every", 1, INT64_MAX, PLAN_MUST);
    variables_from_plan(&in->set, plan, section, &model->grid);
    in->from.variable = in->set.shape;
    in->from.variables = in->set.count;
}

void input_start(struct input *in, int64_t first, int64_t last)
{
    in->from.step = first / in->every;
    in->from.steps = (last - 1) / in->every + 1;
}

void input_prepare(struct input *in)
{
    size_t most = 8;
    for (int index = 0; index < in->set.count; index++) {
        const size_t bytes = stream_bytes(&in->set.shape[index]);
        most = bytes > most ? bytes : most;
    }
    in->buffer = gridio_allocate(most, 1);
    in->expected = gridio_allocate(most, 1);
}

void input_free(struct input *in)
{
    stream_abandon(&in->from);
    free(in->buffer);
    free(in->expected);
    variables_free(&in->set);
    stream_free(&in->from);
}

/* --- into the model --- */

static double number_at(gridio_type type, const void *data, int64_t i)
{
    return type == GRIDIO_FLOAT64 ? ((const double *)data)[i] : (double)((const float *)data)[i];
}

/* Where a role's values go; made at its first use. scale: so that what is at most 1.5 is at most 1.
 */
static double **place_of(struct model *model, const struct origin *from, double *scale)
{
    *scale = from->role == ROLE_WIND_X || from->role == ROLE_WIND_Y ? 1 / 1.5 : 1;
    switch (from->role) {
    case ROLE_WIND_X: return &model->force.wind_x;
    case ROLE_WIND_Y: return &model->force.wind_y;
    case ROLE_TEMPERATURE: return &model->force.temperature;
    default: return &model->force.emission[from->role_tracer % model->tracers];
    }
}

static void allocate(struct model *model, double **values, double value)
{
    const size_t cells = model_cell(model, model->grid.count[Z], 0, 0);
    if (*values)
        return;
    *values = gridio_allocate(cells + 1, sizeof **values);
    for (size_t i = 0; i < cells; i++)
        (*values)[i] = value;
}

/* Values without z are those of the lowest layer where they are emitted, and else of all layers.
 * What is staggered drives the cell on the higher side of it. */
static void put_into(struct model *model, const struct input *in, int index, double *to,
                     double scale)
{
    const struct stream_variable *shape = &in->set.shape[index];
    const int64_t rows = variable_rows(shape),
                  row_cells = shape->block.count[shape->description.dimensions - 1];
    for (int64_t row = 0; row < rows; row++) {
        const struct row_place place = variable_row(shape, &in->set.from[index], row);
        const int layers = place.has_z || in->set.from[index].role == ROLE_EMISSION
                               ? place.z + 1
                               : model->grid.count[Z];
        if (place.y >= model->grid.count[Y] || place.z >= model->grid.count[Z])
            continue;
        for (int z = place.z; z < layers; z++)
            for (int x = 0; x < model->grid.count[X]; x++)
                to[model_cell(model, z, place.y, x)] =
                    scale * number_at(shape->description.type, in->buffer, row * row_cells + x);
    }
}

static void drive(struct model *model, const struct input *in, int index)
{
    const struct origin *from = &in->set.from[index];
    double scale, **values;
    if (from->role == ROLE_NONE || from->role == ROLE_LOGICAL)
        return;
    values = place_of(model, from, &scale);
    allocate(model, values, 0);
    if (from->role == ROLE_WIND_X)
        allocate(model, &model->force.wind_y, 1);
    if (from->role == ROLE_WIND_Y)
        allocate(model, &model->force.wind_x, 1);
    put_into(model, in, index, *values, scale);
}

/* --- what it must be --- */

static bool logical_is_right(const struct input *in, int index)
{
    const struct stream_variable *shape = &in->set.shape[index];
    bool value;
    if (!logical_from(shape->description.type, in->buffer, &value))
        return false;
    record_begin("logical");
    record_text("stream", in->from.name);
    record_text("variable", shape->description.name);
    record_yes("value", value);
    record_text("stored_as", shape->description.type == GRIDIO_CHARACTER ? "character" : "int32");
    record_end();
    return value == (in->set.from[index].k == 1);
}

static bool is_right(struct input *in, int index, const struct model *model)
{
    const struct stream_variable *shape = &in->set.shape[index];
    if (in->set.from[index].role == ROLE_LOGICAL)
        return logical_is_right(in, index);
    source_fill(model, shape, &in->set.from[index], in->from.step, in->expected);
    return memcmp(in->buffer, in->expected, stream_bytes(shape)) == 0;
}

static int check(struct input *in, int index, const struct model *model)
{
    int right;
    aside_begin();
    right = is_right(in, index, model);
    MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_LAND, in->from.comm);
    aside_end();
    if (right)
        return DONE;
    return program_fail(FAILED, "write it anew with task prepare and the same plan",
                        "'%s' does not hold in '%s' what the plan says, at its step %lld",
                        in->from.open_path, in->set.shape[index].description.name,
                        (long long)stream_step_in_file(&in->from));
}

/* --- reading and writing --- */

static int read_one(struct input *in, int index, struct model *model)
{
    int status = stream_read(&in->from, index, in->buffer);
    if (status == DONE && policy.fingerprints)
        status = check(in, index, model);
    if (status == DONE)
        drive(model, in, index);
    return status;
}

/* Due at the first model step of each of its steps, and where a continued run starts in the middle
 * of one. */
static bool is_due(const struct input *in, const struct model *model)
{
    return in->from.step < in->from.steps && model->step / in->every >= in->from.step;
}

int input_before_step(struct input *in, struct model *model)
{
    if (!is_due(in, model))
        return DONE;
    int status = stream_read_begin(&in->from);
    for (int index = 0; index < in->set.count && status == DONE; index++)
        if (stream_due(&in->from, index))
            status = read_one(in, index, model);
    return status == DONE ? stream_read_end(&in->from, model->step) : status;
}

static int write_step(struct input *in, const struct model *model)
{
    int status = stream_write_begin(&in->from);
    for (int index = 0; index < in->set.count && status == DONE; index++) {
        if (!stream_due(&in->from, index))
            continue;
        source_fill(model, &in->set.shape[index], &in->set.from[index], in->from.step, in->buffer);
        status = stream_write(&in->from, index, in->buffer);
    }
    return status == DONE ? stream_write_end(&in->from, in->from.step * in->every) : status;
}

int input_write_all(struct input *in, const struct model *model)
{
    int status = DONE;
    while (in->from.step < in->from.steps && status == DONE)
        status = write_step(in, model);
    return status;
}
