#include "stream_records.h"
#include "program.h"
#include "records.h"

#include <stdio.h>
#include <stdlib.h>

static int64_t bytes_of(const stream *s, bool every_step)
{
    int64_t bytes = 0;
    for (int v = 0; v < s->variables; v++) {
        const gridio_variable *variable = &s->variable[v].variable;
        int64_t one = (int64_t)stream_element_bytes(variable->type);
        for (int d = 0; d < variable->dimensions; d++)
            one *= variable->size[d];
        bytes += variable->every_step == every_step ? one : 0;
    }
    return bytes;
}

static int64_t bytes_in_all(const stream *s)
{
    const int64_t files = s->steps_per_file > 0 ? (s->steps + s->steps_per_file - 1) / s->steps_per_file : 1;
    return s->steps * bytes_of(s, true) + files * bytes_of(s, false);
}

static const char *type_name(gridio_type type)
{
    static const char *const NAMES[] = {"float64", "float32", "int32", "character"};
    return NAMES[type];
}

static void record_variable(const stream *s, const gridio_variable *v)
{
    record_begin("variable");
    record_text("stream", s->name);
    record_text("variable", v->name);
    record_text("type", type_name(v->type));
    record_text("units", v->units);
    record_yes("tiled", v->tiled);
    record_yes("every_step", v->every_step);
    record_numbers("size", v->dimensions, v->size);
    record_texts("dimensions", v->dimensions, v->dimension_name);
    record_end();
}

void stream_record_hint(const char *key, const char *value, void *context)
{
    const stream *s = context;
    record_begin("hint");
    record_text("stream", s->name);
    record_text("direction", s->direction);
    record_text("key", key);
    record_text("value", value);
    record_end();
}

void stream_record_start(stream *s)
{
    record_begin("stream");
    record_text("stream", s->name);
    record_text("direction", s->direction);
    record_text("method", s->method_in_use);
    record_text("format", s->format_in_use);
    record_number("steps", s->steps);
    record_number("steps_per_file", s->steps_per_file);
    record_number("bytes", bytes_in_all(s));
    record_end();
    for (int v = 0; v < s->variables; v++)
        record_variable(s, &s->variable[v].variable);
}

/* Afterwards rank 0 has each variable's fingerprint over all ranks. */
static void sum_fingerprints(stream *s)
{
    uint64_t *mine = calloc((size_t)s->variables + 1, sizeof *mine),
             *all = calloc((size_t)s->variables + 1, sizeof *all);
    int rank;
    for (int v = 0; v < s->variables; v++)
        mine[v] = s->variable[v].fingerprint;
    MPI_Reduce(mine, all, s->variables, MPI_UINT64_T, MPI_SUM, 0, s->comm);
    MPI_Comm_rank(s->comm, &rank);
    for (int v = 0; v < s->variables && rank == 0; v++)
        s->variable[v].fingerprint = all[v];
    free(mine);
    free(all);
}

static void record_fingerprints(stream *s, int64_t step_in_file)
{
    char digits[17];
    record_begin("fingerprint");
    record_text("stream", s->name);
    record_text("direction", s->direction);
    record_number("step", s->step);
    record_text("path", s->open_path);
    record_number("step_in_file", step_in_file);
    record_object("values");
    for (int v = 0; v < s->variables; v++)
        if (stream_due(s, v)) {
            snprintf(digits, sizeof digits, "%016llx", (unsigned long long)s->variable[v].fingerprint);
            record_text(s->variable[v].variable.name, digits);
        }
    record_close();
    record_end();
}

void stream_record_step(stream *s, int64_t model_step, int64_t step_in_file)
{
    const record_of_step step = {.stream = s->name,
                                 .direction = s->direction,
                                 .path = s->open_path,
                                 .step = s->step,
                                 .step_in_file = step_in_file,
                                 .model_step = model_step,
                                 .bytes = s->bytes_in_step,
                                 .begin_s = s->begin_s};
    record_step(&step, &s->spent);
    if (!policy.fingerprints)
        return;
    sum_fingerprints(s);
    record_fingerprints(s, step_in_file);
}
