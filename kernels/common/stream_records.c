#include "stream_records.h"
#include "allocation.h"
#include "program.h"
#include "records.h"

#include <stdio.h>
#include <stdlib.h>

static int64_t bytes_of(const struct stream *stream, bool every_step)
{
    int64_t bytes = 0;
    for (int index = 0; index < stream->variables; index++) {
        const struct stream_variable *variable = &stream->variable[index];
        if (variable->description.every_step == every_step)
            bytes += stream_whole_bytes(variable);
    }
    return bytes;
}

static int64_t bytes_in_all(const struct stream *stream)
{
    const int64_t files =
        stream->steps_per_file > 0
            ? (stream->steps + stream->steps_per_file - 1) / stream->steps_per_file
            : 1;
    return stream->steps * bytes_of(stream, true) + files * bytes_of(stream, false);
}

static const char *type_name(gridio_type type)
{
    static const char *const NAMES[] = {"float64", "float32", "int32", "character"};
    return NAMES[type];
}

static void record_variable(const struct stream *stream, const gridio_variable *variable)
{
    record_begin("variable");
    record_text("stream", stream->name);
    record_text("variable", variable->name);
    record_text("type", type_name(variable->type));
    record_text("units", variable->units);
    record_yes("tiled", variable->tiled);
    record_yes("every_step", variable->every_step);
    record_numbers("size", variable->dimensions, variable->size);
    record_texts("dimensions", variable->dimensions, variable->dimension_name);
    record_end();
}

void stream_record_hint(const char *key, const char *value, void *context)
{
    const struct stream *stream = context;
    record_begin("hint");
    record_text("stream", stream->name);
    record_text("direction", stream->direction);
    record_text("key", key);
    record_text("value", value);
    record_end();
}

void stream_record_start(struct stream *stream)
{
    record_begin("stream");
    record_text("stream", stream->name);
    record_text("direction", stream->direction);
    record_text("method", stream->method_in_use);
    record_text("format", stream->format_in_use);
    record_number("steps", stream->steps);
    record_number("steps_per_file", stream->steps_per_file);
    record_number("bytes", bytes_in_all(stream));
    record_end();
    for (int index = 0; index < stream->variables; index++)
        record_variable(stream, &stream->variable[index].description);
}

/* Afterwards rank 0 has each variable's fingerprint over all ranks. */
static void sum_fingerprints(struct stream *stream)
{
    uint64_t *mine = gridio_allocate((size_t)stream->variables + 1, sizeof *mine),
             *all = gridio_allocate((size_t)stream->variables + 1, sizeof *all);
    int rank;
    for (int index = 0; index < stream->variables; index++)
        mine[index] = stream->variable[index].fingerprint;
    MPI_Reduce(mine, all, stream->variables, MPI_UINT64_T, MPI_SUM, 0, stream->comm);
    MPI_Comm_rank(stream->comm, &rank);
    for (int index = 0; index < stream->variables && rank == 0; index++)
        stream->variable[index].fingerprint = all[index];
    free(mine);
    free(all);
}

static void record_fingerprints(struct stream *stream, int64_t step_in_file)
{
    char digits[17];
    record_begin("fingerprint");
    record_text("stream", stream->name);
    record_text("direction", stream->direction);
    record_number("step", stream->step);
    record_text("path", stream->open_path);
    record_number("step_in_file", step_in_file);
    record_object("values");
    for (int index = 0; index < stream->variables; index++)
        if (stream_due(stream, index)) {
            snprintf(digits, sizeof digits, "%016llx",
                     (unsigned long long)stream->variable[index].fingerprint);
            record_text(stream->variable[index].description.name, digits);
        }
    record_close();
    record_end();
}

void stream_record_step(struct stream *stream, int64_t model_step, int64_t step_in_file)
{
    const struct record_of_step step = {.stream = stream->name,
                                        .direction = stream->direction,
                                        .path = stream->open_path,
                                        .step = stream->step,
                                        .step_in_file = step_in_file,
                                        .model_step = model_step,
                                        .bytes = stream->bytes_in_step,
                                        .begin_s = stream->begin_s};
    record_step(&step, &stream->spent);
    if (!policy.fingerprints)
        return;
    sum_fingerprints(stream);
    record_fingerprints(stream, step_in_file);
}
