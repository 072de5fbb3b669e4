#include "sources.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const double PI = 3.14159265358979323846;

/* --- the state, also between cells ----------------------------------------------------------------------------------
 */

static const double *state_row(const model *m, int tracer, int z, int y)
{
    return &m->now.values[field_index(&m->g, tracer, z, y, 0)];
}

static void mean(int cells, const double *restrict a, const double *restrict b, double *restrict to)
{
    for (int x = 0; x < cells; x++)
        to[x] = 0.5 * (a[x] + b[x]);
}

/* Edge z of layers lies between layers z - 1 and z; the lowest and the highest have one layer only. */
static void between_layers(const model *m, int tracer, int z, int y, int cells, double *to)
{
    const int top = m->g.count[Z] - 1;
    mean(cells, state_row(m, tracer, z > 0 ? z - 1 : 0, y), state_row(m, tracer, z <= top ? z : top, y), to);
}

/* A tracer's row of `cells`, on the variable's points. */
static void tracer_row(const model *m, const origin *from, int tracer, int z, const row_place *place, double *to)
{
    if (from->staggered[Z])
        between_layers(m, tracer, place->z, place->y, place->cells, to);
    else if (from->staggered[Y])
        mean(place->cells, state_row(m, tracer, z, place->y - 1), state_row(m, tracer, z, place->y), to);
    else if (from->staggered[X])
        mean(place->cells, state_row(m, tracer, z, place->y) - 1, state_row(m, tracer, z, place->y), to);
    else
        memcpy(to, state_row(m, tracer, z, place->y), (size_t)place->cells * sizeof *to);
}

static void derived(int cells, int64_t k, const double *restrict a, const double *restrict b, double *restrict to)
{
    const double s = 1 + (double)(k % 7), q = 0.125 * (double)(k % 5), offset = (double)k / 512;
    for (int x = 0; x < cells; x++)
        to[x] = s * (a[x] * a[x] + q * b[x]) / (1 + q * a[x] * b[x]) + sqrt(b[x] * b[x] + q) + offset;
}

static void derived_row(const model *m, const origin *from, int64_t k, int z, const row_place *place, double *scratch,
                        double *to)
{
    double *a = scratch, *b = scratch + m->g.count[X] + 1;
    tracer_row(m, from, (int)((k - 1) % m->tracers), z, place, a);
    tracer_row(m, from, (int)(3 * k % m->tracers), z, place, b);
    derived(place->cells, k, a, b, to);
}

static void column_row(const model *m, const origin *from, int64_t k, const row_place *place, double *scratch,
                       double *to)
{
    double *layer = scratch + 2 * (m->g.count[X] + 1);
    memset(to, 0, (size_t)place->cells * sizeof *to);
    for (int z = 0; z < m->g.count[Z]; z++) {
        derived_row(m, from, k, z, place, scratch, layer);
        for (int x = 0; x < place->cells; x++)
            to[x] += layer[x];
    }
    for (int x = 0; x < place->cells; x++)
        to[x] /= m->g.size[Z];
}

/* --- the place ------------------------------------------------------------------------------------------------------
 */

static double wave(const model *m, int64_t k, int64_t y, int64_t x, double more)
{
    const double a = (double)(1 + k % 3), b = (double)(1 + k % 2);
    return sin(2 * PI * (a * (double)x / m->g.size[X] + b * (double)y / m->g.size[Y] + more));
}

static double at_place(const model *m, const origin *from, int64_t n, int64_t z, int64_t y, int64_t x)
{
    return 1 + (double)(from->k % 5) + 0.5 * wave(m, from->k, y, x, 0) + 0.1 * (double)(n + z);
}

static double forced(const model *m, const origin *from, int64_t n, int64_t z, int64_t y, int64_t x, int64_t step)
{
    return 1 + 0.5 * wave(m, from->k, y, x, 0.1 * (double)(n + z + step));
}

static void place_row(const model *m, const origin *from, const row_place *place, int64_t step, double *to)
{
    const int64_t y = m->g.start[Y] + place->y;
    for (int x = 0; x < place->cells; x++)
        to[x] = from->source == SOURCE_PLACE ? at_place(m, from, place->n, place->z, y, m->g.start[X] + x)
                                             : forced(m, from, place->n, place->z, y, m->g.start[X] + x, step);
}

static void constant_row(double number, int cells, double *to)
{
    for (int x = 0; x < cells; x++)
        to[x] = number;
}

void source_row(const model *m, const origin *from, const row_place *place, int64_t input_step, double *scratch,
                double *row)
{
    const int64_t k = from->k + place->n;
    switch (from->source) {
    case SOURCE_TRACER: tracer_row(m, from, (int)((k - 1) % m->tracers), place->z, place, row); break;
    case SOURCE_DERIVED: derived_row(m, from, k, place->z, place, scratch, row); break;
    case SOURCE_COLUMN: column_row(m, from, k, place, scratch, row); break;
    case SOURCE_PLACE:
    case SOURCE_FORCING: place_row(m, from, place, input_step, row); break;
    default: constant_row(from->number, place->cells, row);
    }
}

/* --- what every rank holds whole ------------------------------------------------------------------------------------
 */

/* The character at place i of the model's date, which counts from the turn of the millennium. */
static char date_at(const model *m, int64_t i)
{
    char text[32];
    struct tm date;
    const time_t seconds = 946684800 + (time_t)((double)m->step * m->step_s);
    gmtime_r(&seconds, &date);
    strftime(text, sizeof text, "%Y-%m-%d_%H:%M:%S", &date);
    return i < (int64_t)strlen(text) ? text[i] : ' ';
}

static double level_at(const model *m, const origin *from, int64_t i)
{
    return from->staggered[Z] ? (double)i / m->g.size[Z] : ((double)i + 0.5) / m->g.size[Z];
}

static bool switch_at(const origin *from, int64_t i)
{
    return (from->k == 1) == (i % 2 == 0);
}

static double whole_at(const model *m, const origin *from, int64_t i)
{
    switch (from->source) {
    case SOURCE_PLACE: return at_place(m, from, i, 0, 0, 0);
    case SOURCE_LEVEL: return level_at(m, from, i);
    case SOURCE_STEP: return (double)m->step;
    case SOURCE_TIME: return (double)m->step * m->step_s;
    case SOURCE_SWITCH: return switch_at(from, i);
    default: return from->number;
    }
}

static char character_at(const model *m, const origin *from, int64_t i)
{
    if (from->source == SOURCE_DATE)
        return date_at(m, i);
    return switch_at(from, i) ? 'T' : 'F';
}

static void fill_whole(const model *m, const stream_variable *v, const origin *from, void *data)
{
    const size_t bytes = stream_element_bytes(v->variable.type);
    const int64_t elements = stream_elements(v);
    for (int64_t i = 0; i < elements; i++) {
        const double value = whole_at(m, from, i);
        char *to = (char *)data + (size_t)i * bytes;
        if (v->variable.type == GRIDIO_CHARACTER)
            *to = character_at(m, from, i);
        else
            source_store(v->variable.type, &value, 1, to);
    }
}

/* --- all ------------------------------------------------------------------------------------------------------------
 */

void source_store(gridio_type type, const double *row, int64_t cells, void *to)
{
    float *floats = to;
    int32_t *integers = to;
    if (type == GRIDIO_FLOAT64)
        memcpy(to, row, (size_t)cells * sizeof *row);
    for (int64_t i = 0; type == GRIDIO_FLOAT32 && i < cells; i++)
        floats[i] = (float)row[i];
    for (int64_t i = 0; type == GRIDIO_INT32 && i < cells; i++)
        integers[i] = (int32_t)row[i];
}

static void fill_tiled(const model *m, const stream_variable *v, const origin *from, int64_t input_step, char *to)
{
    const size_t room = (size_t)m->g.count[X] + 1;
    double *scratch = malloc(4 * room * sizeof *scratch), *row = scratch + 3 * room;
    const int64_t rows = variable_rows(v);
    for (int64_t r = 0; r < rows; r++) {
        const row_place place = variable_row(v, from, r);
        source_row(m, from, &place, input_step, scratch, row);
        source_store(v->variable.type, row, place.cells, to);
        to += (size_t)place.cells * stream_element_bytes(v->variable.type);
    }
    free(scratch);
}

void source_fill(const model *m, const stream_variable *v, const origin *from, int64_t input_step, void *data)
{
    if (v->variable.tiled)
        fill_tiled(m, v, from, input_step, data);
    else
        fill_whole(m, v, from, data);
}
