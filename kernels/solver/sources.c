#include "sources.h"
#include "allocation.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const double PI = 3.14159265358979323846;

/* --- the state, also between cells --- */

static const double *state_row(const struct model *model, int tracer, int z, int y)
{
    return &model->now.values[field_index(&model->grid, tracer, z, y, 0)];
}

static void mean(int cells, const double *restrict first, const double *restrict second,
                 double *restrict to)
{
    for (int x = 0; x < cells; x++)
        to[x] = 0.5 * (first[x] + second[x]);
}

/* Edge z of layers lies between layers z - 1 and z; the lowest and the highest have one layer only.
 */
static void between_layers(const struct model *model, int tracer, int z, int y, int cells,
                           double *to)
{
    const int top = model->grid.count[Z] - 1;
    mean(cells, state_row(model, tracer, z > 0 ? z - 1 : 0, y),
         state_row(model, tracer, z <= top ? z : top, y), to);
}

/* A tracer's row of `cells`, on the variable's points. */
static void tracer_row(const struct model *model, const struct origin *from, int tracer, int z,
                       const struct row_place *place, double *to)
{
    if (from->staggered[Z])
        between_layers(model, tracer, place->z, place->y, place->cells, to);
    else if (from->staggered[Y])
        mean(place->cells, state_row(model, tracer, z, place->y - 1),
             state_row(model, tracer, z, place->y), to);
    else if (from->staggered[X])
        mean(place->cells, state_row(model, tracer, z, place->y) - 1,
             state_row(model, tracer, z, place->y), to);
    else
        memcpy(to, state_row(model, tracer, z, place->y), (size_t)place->cells * sizeof *to);
}

static void derived(int cells, int64_t k, const double *restrict first,
                    const double *restrict second, double *restrict to)
{
    const double scale = 1 + (double)(k % 7), share = 0.125 * (double)(k % 5),
                 offset = (double)k / 512;
    for (int x = 0; x < cells; x++)
        to[x] =
            scale * (first[x] * first[x] + share * second[x]) / (1 + share * first[x] * second[x]) +
            sqrt(second[x] * second[x] + share) + offset;
}

static void derived_row(const struct model *model, const struct origin *from, int64_t k, int z,
                        const struct row_place *place, double *scratch, double *to)
{
    double *first = scratch, *second = scratch + model->grid.count[X] + 1;
    tracer_row(model, from, (int)((k - 1) % model->tracers), z, place, first);
    tracer_row(model, from, (int)(3 * k % model->tracers), z, place, second);
    derived(place->cells, k, first, second, to);
}

static void column_row(const struct model *model, const struct origin *from, int64_t k,
                       const struct row_place *place, double *scratch, double *to)
{
    double *layer = scratch + 2 * (model->grid.count[X] + 1);
    memset(to, 0, (size_t)place->cells * sizeof *to);
    for (int z = 0; z < model->grid.count[Z]; z++) {
        derived_row(model, from, k, z, place, scratch, layer);
        for (int x = 0; x < place->cells; x++)
            to[x] += layer[x];
    }
    for (int x = 0; x < place->cells; x++)
        to[x] /= model->grid.size[Z];
}

/* --- the place --- */

static double wave(const struct model *model, int64_t k, int64_t y, int64_t x, double more)
{
    const double waves_x = (double)(1 + k % 3), waves_y = (double)(1 + k % 2);
    return sin(2 * PI *
               (waves_x * (double)x / model->grid.size[X] +
                waves_y * (double)y / model->grid.size[Y] + more));
}

static double at_place(const struct model *model, const struct origin *from, int64_t n, int64_t z,
                       int64_t y, int64_t x)
{
    return 1 + (double)(from->k % 5) + 0.5 * wave(model, from->k, y, x, 0) + 0.1 * (double)(n + z);
}

static double forced(const struct model *model, const struct origin *from, int64_t n, int64_t z,
                     int64_t y, int64_t x, int64_t step)
{
    return 1 + 0.5 * wave(model, from->k, y, x, 0.1 * (double)(n + z + step));
}

static void place_row(const struct model *model, const struct origin *from,
                      const struct row_place *place, int64_t step, double *to)
{
    const int64_t y = model->grid.start[Y] + place->y;
    for (int x = 0; x < place->cells; x++)
        to[x] = from->source == SOURCE_PLACE
                    ? at_place(model, from, place->n, place->z, y, model->grid.start[X] + x)
                    : forced(model, from, place->n, place->z, y, model->grid.start[X] + x, step);
}

static void constant_row(double number, int cells, double *to)
{
    for (int x = 0; x < cells; x++)
        to[x] = number;
}

void source_row(const struct model *model, const struct origin *from, const struct row_place *place,
                int64_t input_step, double *scratch, double *row)
{
    const int64_t k = from->k + place->n;
    switch (from->source) {
    case SOURCE_TRACER:
        tracer_row(model, from, (int)((k - 1) % model->tracers), place->z, place, row);
        break;
    case SOURCE_DERIVED: derived_row(model, from, k, place->z, place, scratch, row); break;
    case SOURCE_COLUMN: column_row(model, from, k, place, scratch, row); break;
    case SOURCE_PLACE:
    case SOURCE_FORCING: place_row(model, from, place, input_step, row); break;
    default: constant_row(from->number, place->cells, row);
    }
}

/* --- what every rank holds whole --- */

/* The character at place i of the model's date, which counts from the turn of the millennium. */
static char date_at(const struct model *model, int64_t i)
{
    char text[32];
    struct tm date;
    const time_t seconds = 946684800 + (time_t)((double)model->step * model->step_s);
    gmtime_r(&seconds, &date);
    strftime(text, sizeof text, "%Y-%m-%d_%H:%M:%S", &date);
    return i < (int64_t)strlen(text) ? text[i] : ' ';
}

static double level_at(const struct model *model, const struct origin *from, int64_t i)
{
    return from->staggered[Z] ? (double)i / model->grid.size[Z]
                              : ((double)i + 0.5) / model->grid.size[Z];
}

static bool switch_at(const struct origin *from, int64_t i)
{
    return (from->k == 1) == (i % 2 == 0);
}

static double whole_at(const struct model *model, const struct origin *from, int64_t i)
{
    switch (from->source) {
    case SOURCE_PLACE: return at_place(model, from, i, 0, 0, 0);
    case SOURCE_LEVEL: return level_at(model, from, i);
    case SOURCE_STEP: return (double)model->step;
    case SOURCE_TIME: return (double)model->step * model->step_s;
    case SOURCE_SWITCH: return switch_at(from, i);
    default: return from->number;
    }
}

static char character_at(const struct model *model, const struct origin *from, int64_t i)
{
    if (from->source == SOURCE_DATE)
        return date_at(model, i);
    return switch_at(from, i) ? 'T' : 'F';
}

static void fill_whole(const struct model *model, const struct stream_variable *variable,
                       const struct origin *from, void *data)
{
    const size_t bytes = stream_element_bytes(variable->description.type);
    const int64_t elements = stream_elements(variable);
    for (int64_t i = 0; i < elements; i++) {
        const double value = whole_at(model, from, i);
        char *to = (char *)data + (size_t)i * bytes;
        if (variable->description.type == GRIDIO_CHARACTER)
            *to = character_at(model, from, i);
        else
            source_store(variable->description.type, &value, 1, to);
    }
}

/* --- all --- */

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

static void fill_tiled(const struct model *model, const struct stream_variable *variable,
                       const struct origin *from, int64_t input_step, char *to)
{
    const size_t room = (size_t)model->grid.count[X] + 1;
    double *scratch = gridio_allocate(4 * room, sizeof *scratch), *row = scratch + 3 * room;
    const int64_t rows = variable_rows(variable);
    for (int64_t i = 0; i < rows; i++) {
        const struct row_place place = variable_row(variable, from, i);
        source_row(model, from, &place, input_step, scratch, row);
        source_store(variable->description.type, row, place.cells, to);
        to += (size_t)place.cells * stream_element_bytes(variable->description.type);
    }
    free(scratch);
}

void source_fill(const struct model *model, const struct stream_variable *variable,
                 const struct origin *from, int64_t input_step, void *data)
{
    if (variable->description.tiled)
        fill_tiled(model, variable, from, input_step, data);
    else
        fill_whole(model, variable, from, data);
}
