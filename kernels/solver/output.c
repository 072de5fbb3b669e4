#include "output.h"
#include "allocation.h"
#include "program.h"
#include "records.h"
#include "sources.h"

#include <stdlib.h>
#include <string.h>

void output_from_plan(struct output *output, struct plan *plan, struct plan_section *section,
                      const struct model *model)
{
    *output = (struct output){.buffer = NULL};
    stream_from_plan(&output->to, plan, section, "write", model->grid.comm);
    output->every = plan_number(plan, section, "every", 1, INT64_MAX, PLAN_MUST);
    output->initial = plan_yes(plan, section, "initial", false);
    output->average = plan_choice(plan, section, "values", "now|average", 0) == 1;
    output->read_back = plan_yes(plan, section, "read_back", false);
    variables_from_plan(&output->set, plan, section, &model->grid);
    output->to.variable = output->set.shape;
    output->to.variables = output->set.count;
}

int output_start(struct output *output, int64_t first, int64_t last)
{
    output->initial = output->initial && first == 0;
    output->to.steps = last / output->every - first / output->every + output->initial;
    if (!output->average || first % output->every == 0)
        return DONE;
    return program_fail(
        WRONG_USE, "restart from a step at which the averages were written",
        "the run starts from step %lld, in the middle of an average of '%s' over %lld steps",
        (long long)first, output->to.name, (long long)output->every);
}

/* What is averaged: numbers that a model step changes. */
static bool is_averaged(const struct output *output, int index)
{
    const gridio_type type = output->set.shape[index].description.type;
    return output->average && output->set.from[index].source <= SOURCE_COLUMN &&
           output->set.shape[index].description.every_step &&
           (type == GRIDIO_FLOAT64 || type == GRIDIO_FLOAT32);
}

void output_prepare(struct output *output)
{
    size_t most = 8;
    output->sum = gridio_allocate((size_t)output->set.count + 1, sizeof *output->sum);
    for (int index = 0; index < output->set.count; index++) {
        const size_t bytes = stream_bytes(&output->set.shape[index]);
        most = bytes > most ? bytes : most;
        if (is_averaged(output, index))
            output->sum[index] = gridio_allocate(
                (size_t)stream_elements(&output->set.shape[index]) + 1, sizeof(double));
    }
    output->buffer = gridio_allocate(most, 1);
}

void output_free(struct output *output)
{
    stream_abandon(&output->to);
    for (int index = 0; output->sum && index < output->set.count; index++)
        free(output->sum[index]);
    free(output->sum);
    free(output->buffer);
    variables_free(&output->set);
    stream_free(&output->to);
}

/* --- averages --- */

static void add_to_sum(struct output *output, int index, const struct model *model)
{
    const size_t room = (size_t)model->grid.count[X] + 1;
    double *scratch = gridio_allocate(4 * room, sizeof *scratch), *row = scratch + 3 * room,
           *sum = output->sum[index];
    const int64_t rows = variable_rows(&output->set.shape[index]);
    for (int64_t i = 0; i < rows; i++) {
        const struct row_place place =
            variable_row(&output->set.shape[index], &output->set.from[index], i);
        source_row(model, &output->set.from[index], &place, 0, scratch, row);
        for (int x = 0; x < place.cells; x++)
            *sum++ += row[x];
    }
    free(scratch);
}

static void sum_up(struct output *output, const struct model *model)
{
    const double start = MPI_Wtime();
    for (int index = 0; index < output->set.count; index++)
        if (output->sum[index])
            add_to_sum(output, index, model);
    output->summed++;
    timing_computed(MPI_Wtime() - start);
}

static void take_mean(struct output *output, int index)
{
    const struct stream_variable *shape = &output->set.shape[index];
    const int64_t elements = stream_elements(shape);
    const size_t bytes = stream_element_bytes(shape->description.type);
    for (int64_t i = 0; i < elements; i++) {
        const double mean = output->sum[index][i] / (double)output->summed;
        source_store(shape->description.type, &mean, 1, (char *)output->buffer + (size_t)i * bytes);
        output->sum[index][i] = 0;
    }
}

/* --- writing --- */

static void fill(struct output *output, int index, const struct model *model)
{
    const double start = MPI_Wtime();
    if (output->sum[index] && output->summed > 0)
        take_mean(output, index);
    else
        source_fill(model, &output->set.shape[index], &output->set.from[index], 0, output->buffer);
    timing_computed(MPI_Wtime() - start);
}

static int write_step(struct output *output, const struct model *model)
{
    int status = stream_write_begin(&output->to);
    for (int index = 0; index < output->set.count && status == DONE; index++) {
        if (!stream_due(&output->to, index))
            continue;
        fill(output, index, model);
        status = stream_write(&output->to, index, output->buffer);
    }
    if (status == DONE)
        status = stream_write_end(&output->to, model->step);
    output->summed = 0;
    return status;
}

int output_initial(struct output *output, const struct model *model)
{
    return output->initial ? write_step(output, model) : DONE;
}

int output_after_step(struct output *output, const struct model *model, bool *wrote)
{
    if (output->average)
        sum_up(output, model);
    *wrote = model->step % output->every == 0;
    return *wrote ? write_step(output, model) : DONE;
}

/* --- reading back --- */

static int read_step(struct stream *from, void *buffer, const struct model *model)
{
    int status = stream_read_begin(from);
    for (int index = 0; index < from->variables && status == DONE; index++)
        if (from->variable[index].description.every_step)
            status = stream_read(from, index, buffer);
    return status == DONE ? stream_read_end(from, model->step) : status;
}

static int compare(const struct output *output, const struct stream_variable *read)
{
    int same = 1;
    for (int index = 0; index < output->set.count; index++)
        if (output->set.shape[index].description.every_step)
            same = same && read[index].fingerprint == output->set.shape[index].fingerprint;
    MPI_Bcast(&same, 1, MPI_INT, 0, output->to.comm); /* rank 0 has the sums */
    record_check(output->to.name, "the last step reads back as it was written", same);
    return same ? DONE
                : program_fail(FAILED, NULL,
                               "what was read back from '%s' differs from what was written",
                               output->to.open_path);
}

int output_read_back(struct output *output, const struct model *model)
{
    if (!output->read_back || output->to.steps == 0)
        return DONE;
    struct stream back = output->to;
    back.direction = "read";
    back.announced = false;
    back.opened = NULL;
    back.step = output->to.steps - 1;
    back.variable = gridio_allocate((size_t)output->set.count, sizeof *back.variable);
    memcpy(back.variable, output->set.shape, (size_t)output->set.count * sizeof *back.variable);
    int status = read_step(&back, output->buffer, model);
    if (status == DONE)
        status = compare(output, back.variable);
    stream_abandon(&back);
    free(back.variable);
    return status;
}
