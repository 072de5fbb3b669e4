#include "stream.h"
#include "cache.h"
#include "fingerprint.h"
#include "program.h"
#include "stream_records.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* gridio's failure becomes the program's. */
static int told(int status, const char *hint)
{
    return status == 0 ? DONE : program_fail(FAILED, hint, "%s", gridio_error());
}

static const char EARLIER[] =
    "outputs before this one are whole, in the file of that name with .partial";

/* --- what the plan says --- */

static void take_how(struct stream *stream, struct plan *plan, struct plan_section *section)
{
    stream->method = plan_text(plan, section, "method", NULL);
    stream->format = plan_text(plan, section, "format", NULL);
    stream->hints = plan_list(plan, section, "hint");
    stream->settings = plan_list(plan, section, "setting");
}

void stream_from_plan(struct stream *stream, struct plan *plan, struct plan_section *section,
                      const char *direction, MPI_Comm comm)
{
    *stream = (struct stream){.name = section->name[0] ? section->name : section->kind,
                              .direction = direction,
                              .comm = comm};
    stream->path = plan_must(plan, section, "path");
    stream->sync = plan_yes(plan, section, "sync", false);
    stream->steps_per_file = plan_number(plan, section, "steps_per_file", 0, INT64_MAX, 0);
    take_how(stream, plan, section);
}

/* Takes the other list if it is wanted and holds anything. */
static void replace_list(const char ***list, const char **other, bool wanted)
{
    const bool taken = wanted && other[0];
    free(taken ? *list : other);
    if (taken)
        *list = other;
}

void stream_prepare_from_plan(struct stream *stream, struct plan *plan,
                              struct plan_section *section, bool wanted)
{
    const char *method = plan_text(plan, section, "prepare_method", stream->method);
    const char *format = plan_text(plan, section, "prepare_format", stream->format);
    stream->method = wanted ? method : stream->method;
    stream->format = wanted ? format : stream->format;
    replace_list(&stream->hints, plan_list(plan, section, "prepare_hint"), wanted);
    replace_list(&stream->settings, plan_list(plan, section, "prepare_setting"), wanted);
}

void stream_free(struct stream *stream)
{
    free(stream->hints);
    free(stream->settings);
}

/* --- files --- */

static bool begins_file(const struct stream *stream)
{
    return stream_step_in_file(stream) == 0;
}

static bool ends_file(const struct stream *stream)
{
    return stream->step == stream->steps - 1 ||
           (stream->steps_per_file > 0 && (stream->step + 1) % stream->steps_per_file == 0);
}

/* wrfout.nc becomes wrfout-000012.nc where step 12 is the first of the file. */
static void choose_path(struct stream *stream)
{
    const char *base = strrchr(stream->path, '/');
    const char *dot = strrchr(base ? base : stream->path, '.');
    const int stem =
        (int)(dot && dot != base + 1 ? dot - stream->path : (long)strlen(stream->path));
    if (stream->steps_per_file == 0 || stream->again)
        snprintf(stream->open_path, sizeof stream->open_path, "%s", stream->path);
    else
        snprintf(stream->open_path, sizeof stream->open_path, "%.*s-%06lld%s", stem, stream->path,
                 (long long)(stream->step - stream->step % stream->steps_per_file),
                 stream->path + stem);
}

/* What to try next depends on whether it was the file, or what was asked for. */
static const char *hint_on_opening(gridio_mode mode)
{
    if (strncmp(gridio_error(), "cannot ", 7) != 0)
        return "kernels/README.md has the table of methods and formats, and their settings";
    return mode == GRIDIO_READ
               ? "the file must be written first, by the run that makes it or by `task prepare`"
               : "the path must be in a directory that exists and can be written";
}

static int open_file(struct stream *stream, gridio_mode mode)
{
    const gridio_options options = {.method = stream->method,
                                    .format = stream->format,
                                    .hints = stream->hints,
                                    .settings = stream->settings};
    choose_path(stream);
    stream->fresh = true;
    const int status =
        TIMED(&stream->spent, OPEN,
              gridio_open(&stream->file, stream->open_path, mode, &options, stream->comm));
    return told(status, hint_on_opening(mode));
}

static int define_one(struct stream *stream, struct stream_variable *variable)
{
    const bool tiled = variable->description.tiled;
    return gridio_define(stream->file, &variable->description, tiled ? variable->blocks : 0,
                         tiled ? stream_blocks(variable) : NULL, &variable->number);
}

static int define_all(struct stream *stream)
{
    for (int index = 0; index < stream->variables; index++)
        if (define_one(stream, &stream->variable[index]) != 0)
            return told(GRIDIO_FAILED, NULL);
    return told(gridio_end_definitions(stream->file), NULL);
}

/* A file that is not whole must not get its name. */
void stream_abandon(struct stream *stream)
{
    if (stream->file)
        gridio_abandon(&stream->file);
}

static void announce(struct stream *stream)
{
    if (stream->announced)
        return;
    stream->announced = true;
    stream->method_in_use = gridio_method_name(stream->file);
    stream->format_in_use = gridio_format_name(stream->file);
    aside_begin();
    stream_record_start(stream);
    gridio_hints(stream->file, stream_record_hint, stream);
    if (stream->opened)
        stream->opened(stream);
    aside_end();
}

/* --- one step --- */

void stream_begin(struct stream *stream)
{
    memset(&stream->spent, 0, sizeof stream->spent);
    stream->bytes_in_step = 0;
    stream->fresh = false;
    stream->begin_s = timing_since_start();
    for (int index = 0; index < stream->variables; index++)
        stream->variable[index].fingerprint = 0;
}

int stream_write_begin(struct stream *stream)
{
    stream_begin(stream);
    if (!begins_file(stream))
        return DONE;
    int status = open_file(stream, GRIDIO_WRITE);
    if (status == DONE)
        status = TIMED(&stream->spent, DEFINE, define_all(stream));
    if (status == DONE)
        announce(stream);
    return status;
}

/* Of what every rank holds whole, rank 0's is the one that counts. */
void stream_moved(struct stream *stream, int index, const void *data)
{
    struct stream_variable *variable = &stream->variable[index];
    int rank;
    stream->bytes_in_step += stream_whole_bytes(variable);
    MPI_Comm_rank(stream->comm, &rank);
    if (!policy.fingerprints || (!variable->description.tiled && rank != 0))
        return;
    aside_begin();
    variable->fingerprint = fingerprint_of_blocks(&variable->description, variable->blocks,
                                                  stream_blocks(variable), data);
    aside_end();
}

int stream_write(struct stream *stream, int index, const void *data)
{
    struct stream_variable *variable = &stream->variable[index];
    stream_moved(stream, index, data);
    return told(
        TIMED(&stream->spent, WRITE,
              gridio_write(stream->file, variable->number, stream_step_in_file(stream), data)),
        EARLIER);
}

/* Sums up the fingerprints and records the step, all ranks together. */
void stream_end_at(struct stream *stream, int64_t model_step, int64_t step_in_file)
{
    aside_begin();
    stream_record_step(stream, model_step, step_in_file);
    aside_end();
    stream->step++;
}

static int close_file(struct stream *stream)
{
    const int status = told(TIMED(&stream->spent, CLOSE, gridio_close(&stream->file)),
                            stream->direction[0] == 'w' ? EARLIER : NULL);
    if (status != DONE || !policy.cold)
        return status;
    aside_begin();
    cache_drop(stream->open_path, stream->comm);
    aside_end();
    return DONE;
}

int stream_write_end(struct stream *stream, int64_t model_step)
{
    int status = DONE;
    if (stream->sync)
        status = told(TIMED(&stream->spent, SYNC, gridio_sync(stream->file)), EARLIER);
    if (status == DONE && ends_file(stream))
        status = close_file(stream);
    if (status == DONE)
        stream_end_at(stream, model_step, stream_step_in_file(stream));
    return status;
}

void stream_end(struct stream *stream, int64_t model_step)
{
    stream_end_at(stream, model_step, stream->step);
}

/* --- reading --- */

static bool same_size(const gridio_variable *wanted, const gridio_variable *found)
{
    bool same = wanted->dimensions == found->dimensions;
    for (int axis = 0; same && axis < wanted->dimensions; axis++)
        same = wanted->size[axis] == found->size[axis];
    return same;
}

/* A logical switch may be stored either way. */
static bool same_type(const gridio_variable *wanted, const gridio_variable *found)
{
    const bool either = wanted->type == GRIDIO_CHARACTER || wanted->type == GRIDIO_INT32;
    return found->type == wanted->type ||
           (either && (found->type == GRIDIO_CHARACTER || found->type == GRIDIO_INT32));
}

static int select_one(struct stream *stream, struct stream_variable *variable)
{
    variable->number = gridio_find(stream->file, variable->description.name);
    if (variable->number < 0)
        return program_fail(FAILED, NULL, "'%s' has no variable '%s'", stream->open_path,
                            variable->description.name);
    const gridio_variable *found = gridio_describe(stream->file, variable->number);
    if (!same_size(&variable->description, found) ||
        !(variable->any_type || same_type(&variable->description, found)))
        return program_fail(FAILED, "it was written with another grid or type; write it anew",
                            "'%s' has '%s' in another size or type", stream->open_path,
                            variable->description.name);
    variable->description.type = found->type;
    return found->tiled ? told(gridio_select(stream->file, variable->number, variable->blocks,
                                             stream_blocks(variable)),
                               NULL)
                        : DONE;
}

static int select_all(struct stream *stream)
{
    for (int index = 0; index < stream->variables; index++)
        if (select_one(stream, &stream->variable[index]) != DONE)
            return FAILED;
    return DONE;
}

static void drop_before_reading(struct stream *stream)
{
    if (!policy.cold)
        return;
    aside_begin();
    cache_drop(stream->open_path, stream->comm);
    aside_end();
}

int stream_read_begin(struct stream *stream)
{
    stream_begin(stream);
    if (stream->file)
        return DONE;
    choose_path(stream);
    drop_before_reading(stream);
    int status = open_file(stream, GRIDIO_READ);
    if (status == DONE)
        status = TIMED(&stream->spent, DEFINE, select_all(stream));
    if (status == DONE)
        announce(stream);
    return status;
}

int stream_read(struct stream *stream, int index, void *data)
{
    struct stream_variable *variable = &stream->variable[index];
    const int status =
        told(TIMED(&stream->spent, READ,
                   gridio_read(stream->file, variable->number, stream_step_in_file(stream), data)),
             NULL);
    if (status == DONE)
        stream_moved(stream, index, data);
    return status;
}

int stream_read_end(struct stream *stream, int64_t model_step)
{
    const int64_t step_in_file = stream_step_in_file(stream);
    int status = DONE;
    if (ends_file(stream))
        status = close_file(stream);
    if (status == DONE)
        stream_end_at(stream, model_step, step_in_file);
    return status;
}
