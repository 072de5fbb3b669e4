#include "output.h"
#include "program.h"
#include "records.h"
#include "sources.h"

#include <stdlib.h>
#include <string.h>

void output_from_plan(output *o, plan *p, plan_section *section, const model *m)
{
    *o = (output){.buffer = NULL};
    stream_from_plan(&o->to, p, section, "write", m->g.comm);
    o->every = plan_number(p, section, "every", 1, INT64_MAX, PLAN_MUST);
    o->initial = plan_yes(p, section, "initial", false);
    o->average = plan_choice(p, section, "values", "now|average", 0) == 1;
    o->read_back = plan_yes(p, section, "read_back", false);
    variables_from_plan(&o->set, p, section, &m->g);
    o->to.variable = o->set.shape;
    o->to.variables = o->set.count;
}

int output_start(output *o, int64_t first, int64_t last)
{
    o->initial = o->initial && first == 0;
    o->to.steps = last / o->every - first / o->every + o->initial;
    if (!o->average || first % o->every == 0)
        return DONE;
    return program_fail(WRONG_USE, "restart from a step at which the averages were written",
                        "the run starts from step %lld, in the middle of an average of '%s' over %lld steps",
                        (long long)first, o->to.name, (long long)o->every);
}

/* What is averaged: numbers that a model step changes. */
static bool is_averaged(const output *o, int v)
{
    const gridio_type type = o->set.shape[v].variable.type;
    return o->average && o->set.from[v].source <= SOURCE_COLUMN && o->set.shape[v].variable.every_step &&
           (type == GRIDIO_FLOAT64 || type == GRIDIO_FLOAT32);
}

void output_prepare(output *o)
{
    size_t most = 8;
    o->sum = calloc((size_t)o->set.count + 1, sizeof *o->sum);
    for (int v = 0; v < o->set.count; v++) {
        const size_t bytes = stream_bytes(&o->set.shape[v]);
        most = bytes > most ? bytes : most;
        if (is_averaged(o, v))
            o->sum[v] = calloc((size_t)stream_elements(&o->set.shape[v]) + 1, sizeof(double));
    }
    o->buffer = malloc(most);
}

void output_free(output *o)
{
    stream_abandon(&o->to);
    for (int v = 0; o->sum && v < o->set.count; v++)
        free(o->sum[v]);
    free(o->sum);
    free(o->buffer);
    variables_free(&o->set);
    stream_free(&o->to);
}

/* --- averages -------------------------------------------------------------------------------------------------------
 */

static void add_to_sum(output *o, int v, const model *m)
{
    const size_t room = (size_t)m->g.count[X] + 1;
    double *scratch = malloc(4 * room * sizeof *scratch), *row = scratch + 3 * room, *sum = o->sum[v];
    const int64_t rows = variable_rows(&o->set.shape[v]);
    for (int64_t r = 0; r < rows; r++) {
        const row_place place = variable_row(&o->set.shape[v], &o->set.from[v], r);
        source_row(m, &o->set.from[v], &place, 0, scratch, row);
        for (int x = 0; x < place.cells; x++)
            *sum++ += row[x];
    }
    free(scratch);
}

static void sum_up(output *o, const model *m)
{
    const double start = MPI_Wtime();
    for (int v = 0; v < o->set.count; v++)
        if (o->sum[v])
            add_to_sum(o, v, m);
    o->summed++;
    timing_computed(MPI_Wtime() - start);
}

static void take_mean(output *o, int v)
{
    const stream_variable *shape = &o->set.shape[v];
    const int64_t elements = stream_elements(shape);
    const size_t bytes = stream_element_bytes(shape->variable.type);
    for (int64_t i = 0; i < elements; i++) {
        const double mean = o->sum[v][i] / (double)o->summed;
        source_store(shape->variable.type, &mean, 1, (char *)o->buffer + (size_t)i * bytes);
        o->sum[v][i] = 0;
    }
}

/* --- writing --------------------------------------------------------------------------------------------------------
 */

static void fill(output *o, int v, const model *m)
{
    const double start = MPI_Wtime();
    if (o->sum[v] && o->summed > 0)
        take_mean(o, v);
    else
        source_fill(m, &o->set.shape[v], &o->set.from[v], 0, o->buffer);
    timing_computed(MPI_Wtime() - start);
}

static int write_step(output *o, const model *m)
{
    int status = stream_write_begin(&o->to);
    for (int v = 0; v < o->set.count && status == DONE; v++) {
        if (!stream_due(&o->to, v))
            continue;
        fill(o, v, m);
        status = stream_write(&o->to, v, o->buffer);
    }
    if (status == DONE)
        status = stream_write_end(&o->to, m->step);
    o->summed = 0;
    return status;
}

int output_initial(output *o, const model *m)
{
    return o->initial ? write_step(o, m) : DONE;
}

int output_after_step(output *o, const model *m, bool *wrote)
{
    if (o->average)
        sum_up(o, m);
    *wrote = m->step % o->every == 0;
    return *wrote ? write_step(o, m) : DONE;
}

/* --- reading back ---------------------------------------------------------------------------------------------------
 */

static int read_step(stream *from, void *buffer, const model *m)
{
    int status = stream_read_begin(from);
    for (int v = 0; v < from->variables && status == DONE; v++)
        if (from->variable[v].variable.every_step)
            status = stream_read(from, v, buffer);
    return status == DONE ? stream_read_end(from, m->step) : status;
}

static int compare(const output *o, const stream_variable *read)
{
    int same = 1;
    for (int v = 0; v < o->set.count; v++)
        if (o->set.shape[v].variable.every_step)
            same = same && read[v].fingerprint == o->set.shape[v].fingerprint;
    MPI_Bcast(&same, 1, MPI_INT, 0, o->to.comm); /* rank 0 has the sums */
    record_check(o->to.name, "the last step reads back as it was written", same);
    return same ? DONE
                : program_fail(FAILED, NULL, "what was read back from '%s' differs from what was written",
                               o->to.open_path);
}

int output_read_back(output *o, const model *m)
{
    if (!o->read_back || o->to.steps == 0)
        return DONE;
    stream back = o->to;
    back.direction = "read";
    back.announced = false;
    back.opened = NULL;
    back.step = o->to.steps - 1;
    back.variable = malloc((size_t)o->set.count * sizeof *back.variable);
    memcpy(back.variable, o->set.shape, (size_t)o->set.count * sizeof *back.variable);
    int status = read_step(&back, o->buffer, m);
    if (status == DONE)
        status = compare(o, back.variable);
    stream_abandon(&back);
    free(back.variable);
    return status;
}
