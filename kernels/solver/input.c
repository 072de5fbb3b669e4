#include "input.h"
#include "logical.h"
#include "program.h"
#include "records.h"
#include "sources.h"

#include <stdlib.h>
#include <string.h>

void input_from_plan(input *in, plan *p, plan_section *section, const model *m, bool prepare)
{
    *in = (input){.buffer = NULL};
    stream_from_plan(&in->from, p, section, prepare ? "write" : "read", m->g.comm);
    stream_prepare_from_plan(&in->from, p, section, prepare);
    in->every = plan_number(p, section, "every", 1, INT64_MAX, PLAN_MUST);
    variables_from_plan(&in->set, p, section, &m->g);
    in->from.variable = in->set.shape;
    in->from.variables = in->set.count;
}

void input_start(input *in, int64_t first, int64_t last)
{
    in->from.step = first / in->every;
    in->from.steps = (last - 1) / in->every + 1;
}

void input_prepare(input *in)
{
    size_t most = 8;
    for (int v = 0; v < in->set.count; v++) {
        const size_t bytes = stream_bytes(&in->set.shape[v]);
        most = bytes > most ? bytes : most;
    }
    in->buffer = malloc(most);
    in->expected = malloc(most);
}

void input_free(input *in)
{
    stream_abandon(&in->from);
    free(in->buffer);
    free(in->expected);
    variables_free(&in->set);
    stream_free(&in->from);
}

/* --- into the model -------------------------------------------------------------------------------------------------
 */

static double number_at(gridio_type type, const void *data, int64_t i)
{
    return type == GRIDIO_FLOAT64 ? ((const double *)data)[i] : (double)((const float *)data)[i];
}

/* Where a role's values go; made at its first use. scale: so that what is at most 1.5 is at most 1. */
static double **place_of(model *m, const origin *from, double *scale)
{
    *scale = from->role == ROLE_WIND_X || from->role == ROLE_WIND_Y ? 1 / 1.5 : 1;
    switch (from->role) {
    case ROLE_WIND_X: return &m->force.wind_x;
    case ROLE_WIND_Y: return &m->force.wind_y;
    case ROLE_TEMPERATURE: return &m->force.temperature;
    default: return &m->force.emission[from->role_tracer % m->tracers];
    }
}

static void allocate(model *m, double **values, double value)
{
    const size_t cells = model_cell(m, m->g.count[Z], 0, 0);
    if (*values)
        return;
    *values = malloc((cells + 1) * sizeof **values);
    for (size_t i = 0; i < cells; i++)
        (*values)[i] = value;
}

/* Values without z are those of the lowest layer where they are emitted, and else of all layers. What is staggered
 * drives the cell on the higher side of it. */
static void put_into(model *m, const input *in, int v, double *to, double scale)
{
    const stream_variable *shape = &in->set.shape[v];
    const int64_t rows = variable_rows(shape), row_cells = shape->block.count[shape->variable.dimensions - 1];
    for (int64_t r = 0; r < rows; r++) {
        const row_place place = variable_row(shape, &in->set.from[v], r);
        const int layers = place.has_z || in->set.from[v].role == ROLE_EMISSION ? place.z + 1 : m->g.count[Z];
        if (place.y >= m->g.count[Y] || place.z >= m->g.count[Z])
            continue;
        for (int z = place.z; z < layers; z++)
            for (int x = 0; x < m->g.count[X]; x++)
                to[model_cell(m, z, place.y, x)] =
                    scale * number_at(shape->variable.type, in->buffer, r * row_cells + x);
    }
}

static void drive(model *m, const input *in, int v)
{
    const origin *from = &in->set.from[v];
    double scale, **values;
    if (from->role == ROLE_NONE || from->role == ROLE_LOGICAL)
        return;
    values = place_of(m, from, &scale);
    allocate(m, values, 0);
    if (from->role == ROLE_WIND_X)
        allocate(m, &m->force.wind_y, 1);
    if (from->role == ROLE_WIND_Y)
        allocate(m, &m->force.wind_x, 1);
    put_into(m, in, v, *values, scale);
}

/* --- what it must be ------------------------------------------------------------------------------------------------
 */

static bool logical_is_right(const input *in, int v)
{
    const stream_variable *shape = &in->set.shape[v];
    bool value;
    if (!logical_from(shape->variable.type, in->buffer, &value))
        return false;
    record_begin("logical");
    record_text("stream", in->from.name);
    record_text("variable", shape->variable.name);
    record_yes("value", value);
    record_text("stored_as", shape->variable.type == GRIDIO_CHARACTER ? "character" : "int32");
    record_end();
    return value == (in->set.from[v].k == 1);
}

static bool is_right(input *in, int v, const model *m)
{
    const stream_variable *shape = &in->set.shape[v];
    if (in->set.from[v].role == ROLE_LOGICAL)
        return logical_is_right(in, v);
    source_fill(m, shape, &in->set.from[v], in->from.step, in->expected);
    return memcmp(in->buffer, in->expected, stream_bytes(shape)) == 0;
}

static int check(input *in, int v, const model *m)
{
    int right;
    aside_begin();
    right = is_right(in, v, m);
    MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_LAND, in->from.comm);
    aside_end();
    if (right)
        return DONE;
    return program_fail(FAILED, "write it anew with task prepare and the same plan",
                        "'%s' does not hold in '%s' what the plan says, at its step %lld", in->from.open_path,
                        in->set.shape[v].variable.name, (long long)stream_step_in_file(&in->from));
}

/* --- reading and writing --------------------------------------------------------------------------------------------
 */

static int read_one(input *in, int v, model *m)
{
    int status = stream_read(&in->from, v, in->buffer);
    if (status == DONE && policy.fingerprints)
        status = check(in, v, m);
    if (status == DONE)
        drive(m, in, v);
    return status;
}

/* Due at the first model step of each of its steps, and where a continued run starts in the middle of one. */
static bool is_due(const input *in, const model *m)
{
    return in->from.step < in->from.steps && m->step / in->every >= in->from.step;
}

int input_before_step(input *in, model *m)
{
    if (!is_due(in, m))
        return DONE;
    int status = stream_read_begin(&in->from);
    for (int v = 0; v < in->set.count && status == DONE; v++)
        if (stream_due(&in->from, v))
            status = read_one(in, v, m);
    return status == DONE ? stream_read_end(&in->from, m->step) : status;
}

static int write_step(input *in, const model *m)
{
    int status = stream_write_begin(&in->from);
    for (int v = 0; v < in->set.count && status == DONE; v++) {
        if (!stream_due(&in->from, v))
            continue;
        source_fill(m, &in->set.shape[v], &in->set.from[v], in->from.step, in->buffer);
        status = stream_write(&in->from, v, in->buffer);
    }
    return status == DONE ? stream_write_end(&in->from, in->from.step * in->every) : status;
}

int input_write_all(input *in, const model *m)
{
    int status = DONE;
    while (in->from.step < in->from.steps && status == DONE)
        status = write_step(in, m);
    return status;
}
