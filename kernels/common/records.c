#include "records.h"
#include "allocation.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { VERSION = 1 };

static struct {
    FILE *file; /* on rank 0 while something is recorded */
    MPI_Comm comm;
    int rank, ranks;
    bool wanted; /* on all ranks: something is recorded */
    bool comma;
} records;

static void put_string(const char *text)
{
    fputc('"', records.file);
    for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
        if (*at == '"' || *at == '\\')
            fprintf(records.file, "\\%c", *at);
        else if (*at < 0x20)
            fprintf(records.file, "\\u%04x", *at);
        else
            fputc(*at, records.file);
    }
    fputc('"', records.file);
}

static void put_real(double value)
{
    if (isfinite(value))
        fprintf(records.file, "%.9g", value);
    else
        fputs("null", records.file); /* JSON has no infinity */
}

/* False where this rank records nothing. */
static bool put_key(const char *key)
{
    if (!records.file)
        return false;
    if (records.comma)
        fputc(',', records.file);
    records.comma = true;
    put_string(key);
    fputc(':', records.file);
    return true;
}

void record_begin(const char *kind)
{
    if (!records.file)
        return;
    fputc('{', records.file);
    records.comma = false;
    record_text("kind", kind);
}

void record_text(const char *key, const char *value)
{
    if (put_key(key))
        put_string(value ? value : "");
}

void record_number(const char *key, int64_t value)
{
    if (put_key(key))
        fprintf(records.file, "%lld", (long long)value);
}

void record_real(const char *key, double value)
{
    if (put_key(key))
        put_real(value);
}

void record_yes(const char *key, bool value)
{
    if (put_key(key))
        fputs(value ? "true" : "false", records.file);
}

void record_numbers(const char *key, int count, const int64_t *values)
{
    if (!put_key(key))
        return;
    fputc('[', records.file);
    for (int i = 0; i < count; i++)
        fprintf(records.file, "%s%lld", i ? "," : "", (long long)values[i]);
    fputc(']', records.file);
}

void record_texts(const char *key, int count, const char *const *values)
{
    if (!put_key(key))
        return;
    fputc('[', records.file);
    for (int i = 0; i < count; i++) {
        if (i)
            fputc(',', records.file);
        put_string(values[i] ? values[i] : "");
    }
    fputc(']', records.file);
}

void record_object(const char *key)
{
    if (!put_key(key))
        return;
    fputc('{', records.file);
    records.comma = false;
}

void record_close(void)
{
    if (records.file)
        fputc('}', records.file);
    records.comma = true;
}

/* At once, so that whoever watches the run sees it, and a killed run leaves it. */
void record_end(void)
{
    if (!records.file)
        return;
    fputs("}\n", records.file);
    fflush(records.file);
}

/* The first line, with single blanks. */
static void squeeze(char *text)
{
    char *to = text;
    for (const char *at = text; *at != '\0' && *at != '\n'; at++)
        if (!(at[0] == ' ' && at[1] == ' '))
            *to++ = *at;
    *to = '\0';
}

static void record_start(const char *program, const char *name)
{
    char mpi[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(mpi, &length);
    squeeze(mpi);
    record_begin("start");
    record_number("version", VERSION);
    record_text("program", program);
    record_text("name", name);
    record_number("ranks", records.ranks);
    record_text("mpi", mpi);
    record_end();
}

bool records_open(const char *path, const char *program, const char *name, MPI_Comm comm)
{
    int opened = 1;
    records.comm = comm;
    MPI_Comm_rank(comm, &records.rank);
    MPI_Comm_size(comm, &records.ranks);
    if (records.rank == 0 && path) {
        records.file = fopen(path, "w");
        opened = records.file != NULL;
    }
    MPI_Bcast(&opened, 1, MPI_INT, 0, comm);
    records.wanted = path && opened;
    if (opened)
        record_start(program, name);
    return opened;
}

void record_check(const char *stream, const char *what, bool ok)
{
    record_begin("check");
    record_text("stream", stream);
    record_text("what", what);
    record_yes("ok", ok);
    record_end();
}

/* One phase of all ranks; all: as gathered, rank after rank. */
static void put_phase(const double *all, enum phase which)
{
    if (!put_key(PHASE_KEY[which]))
        return;
    for (int rank = 0; rank < records.ranks; rank++) {
        fputc(rank ? ',' : '[', records.file);
        put_real(all[(size_t)rank * PHASES + which]);
    }
    fputc(']', records.file);
}

void record_step(const struct record_of_step *step, const struct phases *spent)
{
    if (!records.wanted)
        return;
    double *all =
        records.rank == 0 ? gridio_allocate((size_t)records.ranks * PHASES, sizeof *all) : NULL;
    MPI_Gather(spent->seconds, PHASES, MPI_DOUBLE, all, PHASES, MPI_DOUBLE, 0, records.comm);
    record_begin("step");
    record_text("stream", step->stream);
    record_text("direction", step->direction);
    record_number("step", step->step);
    record_text("path", step->path);
    record_number("step_in_file", step->step_in_file);
    record_number("model_step", step->model_step);
    record_real("begin_s", step->begin_s);
    for (enum phase which = 0; which < PHASES; which++)
        put_phase(all, which);
    record_number("bytes", step->bytes);
    record_end();
    free(all);
}

struct rank_used {
    struct usage used;
    char node[MPI_MAX_PROCESSOR_NAME];
};

static void record_rank(int rank, const struct rank_used *used)
{
    record_begin("rank");
    record_number("rank", rank);
    record_text("node", used->node);
    record_real("user_s", used->used.user_s);
    record_real("system_s", used->used.system_s);
    record_real("elapsed_s", used->used.elapsed_s);
    record_real("compute_s", used->used.compute_s);
    record_real("communicate_s", used->used.communicate_s);
    record_real("aside_s", used->used.aside_s);
    record_number("maximum_resident_bytes", used->used.maximum_resident_bytes);
    record_end();
}

static void record_ranks(void)
{
    struct rank_used mine = {.used = timing_used()}, *all = NULL;
    int length;
    MPI_Get_processor_name(mine.node, &length);
    if (records.rank == 0)
        all = gridio_allocate((size_t)records.ranks, sizeof *all);
    MPI_Gather(&mine, sizeof mine, MPI_BYTE, all, sizeof mine, MPI_BYTE, 0, records.comm);
    for (int rank = 0; rank < records.ranks && records.rank == 0; rank++)
        record_rank(rank, &all[rank]);
    free(all);
}

void records_close(int status, const char *error)
{
    if (records.wanted)
        record_ranks();
    record_begin("end");
    record_number("status", status);
    if (error)
        record_text("error", error);
    record_end();
    if (records.file)
        fclose(records.file);
    records.file = NULL;
    records.wanted = false;
}

bool records_wanted(void)
{
    return records.wanted;
}

void records_interrupt(const char *line, size_t length)
{
    if (records.file && write(fileno(records.file), line, length) < 0)
        return; /* nothing more can be said */
}
