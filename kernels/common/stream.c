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

static const char EARLIER[] = "outputs before this one are whole, in the file of that name with .partial";

/* --- what the plan says ---------------------------------------------------------------------------------------------
 */

static void take_how(stream *s, plan *p, plan_section *section)
{
    s->method = plan_text(p, section, "method", NULL);
    s->format = plan_text(p, section, "format", NULL);
    s->hints = plan_list(p, section, "hint");
    s->settings = plan_list(p, section, "setting");
}

void stream_from_plan(stream *s, plan *p, plan_section *section, const char *direction, MPI_Comm comm)
{
    *s = (stream){.name = section->name[0] ? section->name : section->kind, .direction = direction, .comm = comm};
    s->path = plan_must(p, section, "path");
    s->sync = plan_yes(p, section, "sync", false);
    s->steps_per_file = plan_number(p, section, "steps_per_file", 0, INT64_MAX, 0);
    take_how(s, p, section);
}

/* Takes the other list if it is wanted and holds anything. */
static void replace_list(const char ***list, const char **other, bool wanted)
{
    const bool taken = wanted && other[0];
    free(taken ? *list : other);
    if (taken)
        *list = other;
}

void stream_prepare_from_plan(stream *s, plan *p, plan_section *section, bool wanted)
{
    const char *method = plan_text(p, section, "prepare_method", s->method);
    const char *format = plan_text(p, section, "prepare_format", s->format);
    s->method = wanted ? method : s->method;
    s->format = wanted ? format : s->format;
    replace_list(&s->hints, plan_list(p, section, "prepare_hint"), wanted);
    replace_list(&s->settings, plan_list(p, section, "prepare_setting"), wanted);
}

void stream_free(stream *s)
{
    free(s->hints);
    free(s->settings);
}

/* --- sizes ----------------------------------------------------------------------------------------------------------
 */

static int64_t elements_of(const gridio_block *block, int dimensions)
{
    int64_t elements = 1;
    for (int d = 0; d < dimensions; d++)
        elements *= block->count[d];
    return elements;
}

static const gridio_block *blocks_of(const stream_variable *v)
{
    return v->more ? v->more : &v->block;
}

int64_t stream_elements(const stream_variable *v)
{
    int64_t elements = 0;
    for (int b = 0; b < v->blocks; b++)
        elements += elements_of(&blocks_of(v)[b], v->variable.dimensions);
    return elements;
}

size_t stream_element_bytes(gridio_type type)
{
    return type == GRIDIO_FLOAT64 ? 8 : type == GRIDIO_CHARACTER ? 1 : 4;
}

size_t stream_bytes(const stream_variable *v)
{
    return (size_t)stream_elements(v) * stream_element_bytes(v->variable.type);
}

int64_t stream_step_in_file(const stream *s)
{
    if (s->last)
        return s->file ? gridio_steps(s->file) - 1 : 0;
    return s->steps_per_file > 0 ? s->step % s->steps_per_file : s->step;
}

static bool begins_file(const stream *s)
{
    return stream_step_in_file(s) == 0;
}

static bool ends_file(const stream *s)
{
    return s->step == s->steps - 1 || (s->steps_per_file > 0 && (s->step + 1) % s->steps_per_file == 0);
}

bool stream_due(const stream *s, int variable)
{
    return s->variable[variable].variable.every_step || s->fresh;
}

/* --- files ----------------------------------------------------------------------------------------------------------
 */

/* wrfout.nc becomes wrfout-000012.nc where step 12 is the first of the file. */
static void choose_path(stream *s)
{
    const char *base = strrchr(s->path, '/');
    const char *dot = strrchr(base ? base : s->path, '.');
    const int stem = (int)(dot && dot != base + 1 ? dot - s->path : (long)strlen(s->path));
    if (s->steps_per_file == 0 || s->again)
        snprintf(s->open_path, sizeof s->open_path, "%s", s->path);
    else
        snprintf(s->open_path, sizeof s->open_path, "%.*s-%06lld%s", stem, s->path,
                 (long long)(s->step - s->step % s->steps_per_file), s->path + stem);
}

/* What to try next depends on whether it was the file, or what was asked for. */
static const char *hint_on_opening(gridio_mode mode)
{
    if (strncmp(gridio_error(), "cannot ", 7) != 0)
        return "kernels/README.md has the table of methods and formats, and their settings";
    return mode == GRIDIO_READ ? "the file must be written first, by the run that makes it or by `task prepare`"
                               : "the path must be in a directory that exists and can be written";
}

static int open_file(stream *s, gridio_mode mode)
{
    const gridio_options options = {
        .method = s->method, .format = s->format, .hints = s->hints, .settings = s->settings};
    choose_path(s);
    s->fresh = true;
    const int status = TIMED(&s->spent, OPEN, gridio_open(&s->file, s->open_path, mode, &options, s->comm));
    return told(status, hint_on_opening(mode));
}

static int define_one(stream *s, stream_variable *v)
{
    const bool tiled = v->variable.tiled;
    return gridio_define(s->file, &v->variable, tiled ? v->blocks : 0, tiled ? blocks_of(v) : NULL, &v->number);
}

static int define_all(stream *s)
{
    for (int v = 0; v < s->variables; v++)
        if (define_one(s, &s->variable[v]) != 0)
            return told(GRIDIO_FAILED, NULL);
    return told(gridio_end_definitions(s->file), NULL);
}

/* A file that is not whole must not get its name. */
void stream_abandon(stream *s)
{
    if (s->file)
        gridio_abandon(&s->file);
}

static void announce(stream *s)
{
    if (s->announced)
        return;
    s->announced = true;
    s->method_in_use = gridio_method_name(s->file);
    s->format_in_use = gridio_format_name(s->file);
    aside_begin();
    stream_record_start(s);
    gridio_hints(s->file, stream_record_hint, s);
    if (s->opened)
        s->opened(s);
    aside_end();
}

/* --- one step -------------------------------------------------------------------------------------------------------
 */

void stream_begin(stream *s)
{
    memset(&s->spent, 0, sizeof s->spent);
    s->bytes_in_step = 0;
    s->fresh = false;
    s->begin_s = timing_since_start();
    for (int v = 0; v < s->variables; v++)
        s->variable[v].fingerprint = 0;
}

int stream_write_begin(stream *s)
{
    stream_begin(s);
    if (!begins_file(s))
        return DONE;
    int status = open_file(s, GRIDIO_WRITE);
    if (status == DONE)
        status = TIMED(&s->spent, DEFINE, define_all(s));
    if (status == DONE)
        announce(s);
    return status;
}

static int64_t whole_bytes(const stream_variable *v)
{
    int64_t bytes = (int64_t)stream_element_bytes(v->variable.type);
    for (int d = 0; d < v->variable.dimensions; d++)
        bytes *= v->variable.size[d];
    return bytes;
}

/* Of what every rank holds whole, rank 0's is the one that counts. */
void stream_moved(stream *s, int variable, const void *data)
{
    stream_variable *v = &s->variable[variable];
    int rank;
    s->bytes_in_step += whole_bytes(v);
    MPI_Comm_rank(s->comm, &rank);
    if (!policy.fingerprints || (!v->variable.tiled && rank != 0))
        return;
    aside_begin();
    v->fingerprint = fingerprint_of_blocks(&v->variable, v->blocks, blocks_of(v), data);
    aside_end();
}

int stream_write(stream *s, int variable, const void *data)
{
    stream_variable *v = &s->variable[variable];
    stream_moved(s, variable, data);
    return told(TIMED(&s->spent, WRITE, gridio_write(s->file, v->number, stream_step_in_file(s), data)), EARLIER);
}

/* Sums up the fingerprints and records the step, all ranks together. */
void stream_end_at(stream *s, int64_t model_step, int64_t step_in_file)
{
    aside_begin();
    stream_record_step(s, model_step, step_in_file);
    aside_end();
    s->step++;
}

static int close_file(stream *s)
{
    const int status = told(TIMED(&s->spent, CLOSE, gridio_close(&s->file)), s->direction[0] == 'w' ? EARLIER : NULL);
    if (status != DONE || !policy.cold)
        return status;
    aside_begin();
    cache_drop(s->open_path, s->comm);
    aside_end();
    return DONE;
}

int stream_write_end(stream *s, int64_t model_step)
{
    int status = DONE;
    if (s->sync)
        status = told(TIMED(&s->spent, SYNC, gridio_sync(s->file)), EARLIER);
    if (status == DONE && ends_file(s))
        status = close_file(s);
    if (status == DONE)
        stream_end_at(s, model_step, stream_step_in_file(s));
    return status;
}

void stream_end(stream *s, int64_t model_step)
{
    stream_end_at(s, model_step, s->step);
}

/* --- reading --------------------------------------------------------------------------------------------------------
 */

static bool same_size(const gridio_variable *a, const gridio_variable *b)
{
    bool same = a->dimensions == b->dimensions;
    for (int d = 0; same && d < a->dimensions; d++)
        same = a->size[d] == b->size[d];
    return same;
}

/* A logical switch may be stored either way. */
static bool same_type(const gridio_variable *wanted, const gridio_variable *found)
{
    const bool either = wanted->type == GRIDIO_CHARACTER || wanted->type == GRIDIO_INT32;
    return found->type == wanted->type || (either && (found->type == GRIDIO_CHARACTER || found->type == GRIDIO_INT32));
}

static int select_one(stream *s, stream_variable *v)
{
    v->number = gridio_find(s->file, v->variable.name);
    if (v->number < 0)
        return program_fail(FAILED, NULL, "'%s' has no variable '%s'", s->open_path, v->variable.name);
    const gridio_variable *found = gridio_describe(s->file, v->number);
    if (!same_size(&v->variable, found) || !(v->any_type || same_type(&v->variable, found)))
        return program_fail(FAILED, "it was written with another grid or type; write it anew",
                            "'%s' has '%s' in another size or type", s->open_path, v->variable.name);
    v->variable.type = found->type;
    return found->tiled ? told(gridio_select(s->file, v->number, v->blocks, blocks_of(v)), NULL) : DONE;
}

static int select_all(stream *s)
{
    for (int v = 0; v < s->variables; v++)
        if (select_one(s, &s->variable[v]) != DONE)
            return FAILED;
    return DONE;
}

static void drop_before_reading(stream *s)
{
    if (!policy.cold)
        return;
    aside_begin();
    cache_drop(s->open_path, s->comm);
    aside_end();
}

int stream_read_begin(stream *s)
{
    stream_begin(s);
    if (s->file)
        return DONE;
    choose_path(s);
    drop_before_reading(s);
    int status = open_file(s, GRIDIO_READ);
    if (status == DONE)
        status = TIMED(&s->spent, DEFINE, select_all(s));
    if (status == DONE)
        announce(s);
    return status;
}

int stream_read(stream *s, int variable, void *data)
{
    stream_variable *v = &s->variable[variable];
    const int status =
        told(TIMED(&s->spent, READ, gridio_read(s->file, v->number, stream_step_in_file(s), data)), NULL);
    if (status == DONE)
        stream_moved(s, variable, data);
    return status;
}

int stream_read_end(stream *s, int64_t model_step)
{
    const int64_t step_in_file = stream_step_in_file(s);
    int status = DONE;
    if (ends_file(s))
        status = close_file(s);
    if (status == DONE)
        stream_end_at(s, model_step, step_in_file);
    return status;
}
