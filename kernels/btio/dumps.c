#include "dumps.h"
#include "allocation.h"
#include "cache.h"
#include "program.h"
#include "records.h"
#include "stream_records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int agree(struct dumps *dumps, int failed)
{
    return failure_agree(&dumps->problem, failed, dumps->io.comm);
}

/* --- the benchmark's own modes --- */

static void record_blocks_of(const struct dumps *dumps, int rank, const int64_t *numbers)
{
    char path[4200];
    snprintf(path, sizeof path, "%s.%04d", dumps->io.path, rank);
    record_begin("blocks");
    record_text("stream", dumps->io.name);
    record_text("direction", dumps->io.direction);
    record_number("rank", rank);
    record_text("path", path);
    record_numbers("blocks", 2 * GRIDIO_DIMENSIONS * dumps->solution->cells->count, numbers);
    record_end();
}

/* A gridio_block of four dimensions is its start, then its count. */
static void record_blocks(const struct dumps *dumps)
{
    const struct cells *cells = dumps->solution->cells;
    const int each = 2 * GRIDIO_DIMENSIONS * cells->count;
    int64_t *all =
        cells->rank == 0 ? gridio_allocate((size_t)cells->ranks * (size_t)each, sizeof *all) : NULL;
    MPI_Gather(cells->block, each, MPI_INT64_T, all, each, MPI_INT64_T, 0, cells->comm);
    for (int rank = 0; rank < cells->ranks && cells->rank == 0; rank++)
        record_blocks_of(dumps, rank, all + (size_t)rank * (size_t)each);
    free(all);
}

static void record_start(struct dumps *dumps)
{
    aside_begin();
    dumps->io.method_in_use = dumps->mode->name;
    dumps->io.format_in_use = "raw";
    stream_record_start(&dumps->io);
    if (dumps->mode->hints)
        dumps->mode->hints(dumps, stream_record_hint, &dumps->io);
    if (dumps->mode == &DUMP_EPIO && records_wanted())
        record_blocks(dumps);
    aside_end();
}

static int open_directly(struct dumps *dumps, bool to_write)
{
    if (dumps->io.step > 0)
        return DONE;
    if (!to_write && policy.cold)
        cache_drop(dumps->io.path, dumps->io.comm);
    snprintf(dumps->io.open_path, sizeof dumps->io.open_path, "%s", dumps->io.path);
    snprintf(dumps->file_path, sizeof dumps->file_path, "%s%s", dumps->io.path,
             to_write ? ".partial" : "");
    dumps->io.fresh = true;
    const int status =
        agree(dumps, TIMED(&dumps->io.spent, OPEN, dumps->mode->open(dumps, to_write)));
    if (status != DONE)
        return status;
    dumps->is_open = true;
    record_start(dumps);
    return DONE;
}

static int publish(struct dumps *dumps)
{
    if (dumps->mode->publish)
        return dumps->mode->publish(dumps);
    if (dumps->solution->cells->rank != 0 || rename(dumps->file_path, dumps->io.path) == 0)
        return 0;
    return failure_of_system(&dumps->problem, "rename", dumps->file_path);
}

/* The file gets its name when it is whole. */
static int close_directly(struct dumps *dumps, bool to_write)
{
    if (dumps->io.step < dumps->io.steps - 1)
        return DONE;
    dumps->is_open = false;
    const int status = agree(dumps, TIMED(&dumps->io.spent, CLOSE, dumps->mode->close(dumps)));
    return status == DONE && to_write ? agree(dumps, publish(dumps)) : status;
}

void dumps_abandon(struct dumps *dumps)
{
    if (dumps->is_open)
        dumps->mode->close(dumps);
    dumps->is_open = false;
    stream_abandon(&dumps->io);
}

static void note_moved(struct dumps *dumps)
{
    aside_begin();
    solution_pack(dumps->solution, dumps->packed);
    aside_end();
    stream_moved(&dumps->io, 0, dumps->packed);
}

static int write_directly(struct dumps *dumps, int64_t model_step)
{
    stream_begin(&dumps->io);
    int status = open_directly(dumps, true);
    if (status != DONE)
        return status;
    note_moved(dumps);
    status = TIMED(&dumps->io.spent, WRITE, dumps->mode->write(dumps, dumps->io.step));
    if (status == 0 && dumps->io.sync)
        status = TIMED(&dumps->io.spent, SYNC, dumps->mode->sync(dumps));
    status = agree(dumps, status);
    if (status == DONE)
        status = close_directly(dumps, true);
    if (status == DONE)
        stream_end(&dumps->io, model_step);
    return status;
}

static int read_directly(struct dumps *dumps, int64_t model_step)
{
    stream_begin(&dumps->io);
    int status = open_directly(dumps, false);
    if (status == DONE)
        status =
            agree(dumps, TIMED(&dumps->io.spent, READ, dumps->mode->read(dumps, dumps->io.step)));
    if (status != DONE)
        return status;
    note_moved(dumps);
    status = close_directly(dumps, false);
    if (status == DONE)
        stream_end(&dumps->io, model_step);
    return status;
}

/* --- through gridio --- */

static int write_by_gridio(struct dumps *dumps, int64_t model_step)
{
    int status = stream_write_begin(&dumps->io);
    if (status != DONE)
        return status;
    const double start = MPI_Wtime();
    solution_pack(dumps->solution, dumps->packed);
    timing_computed(MPI_Wtime() - start);
    status = stream_write(&dumps->io, 0, dumps->packed);
    return status == DONE ? stream_write_end(&dumps->io, model_step) : status;
}

static int read_by_gridio(struct dumps *dumps, int64_t model_step)
{
    int status = stream_read_begin(&dumps->io);
    if (status == DONE)
        status = stream_read(&dumps->io, 0, dumps->packed);
    if (status != DONE)
        return status;
    const double start = MPI_Wtime();
    solution_unpack(dumps->solution, dumps->packed);
    timing_computed(MPI_Wtime() - start);
    return stream_read_end(&dumps->io, model_step);
}

/* --- both --- */

int dumps_write(struct dumps *dumps, int64_t model_step)
{
    return dumps->mode ? write_directly(dumps, model_step) : write_by_gridio(dumps, model_step);
}

int dumps_read(struct dumps *dumps, int64_t model_step)
{
    return dumps->mode ? read_directly(dumps, model_step) : read_by_gridio(dumps, model_step);
}
