#include "dumps.h"
#include "cache.h"
#include "program.h"
#include "records.h"
#include "stream_records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int agree(dumps *d, int failed)
{
    return failure_agree(&d->problem, failed, d->io.comm);
}

/* --- the benchmark's own modes --------------------------------------------------------------------------------------
 */

static void record_blocks_of(const dumps *d, int rank, const int64_t *numbers)
{
    char path[4200];
    snprintf(path, sizeof path, "%s.%04d", d->io.path, rank);
    record_begin("blocks");
    record_text("stream", d->io.name);
    record_text("direction", d->io.direction);
    record_number("rank", rank);
    record_text("path", path);
    record_numbers("blocks", 2 * GRIDIO_DIMENSIONS * d->s->c->count, numbers);
    record_end();
}

/* A gridio_block of four dimensions is its start, then its count. */
static void record_blocks(const dumps *d)
{
    const cells *c = d->s->c;
    const int each = 2 * GRIDIO_DIMENSIONS * c->count;
    int64_t *all = c->rank == 0 ? malloc((size_t)c->ranks * (size_t)each * sizeof *all) : NULL;
    MPI_Gather(c->block, each, MPI_INT64_T, all, each, MPI_INT64_T, 0, c->comm);
    for (int rank = 0; rank < c->ranks && c->rank == 0; rank++)
        record_blocks_of(d, rank, all + (size_t)rank * (size_t)each);
    free(all);
}

static void record_start(dumps *d)
{
    aside_begin();
    d->io.method_in_use = d->mode->name;
    d->io.format_in_use = "raw";
    stream_record_start(&d->io);
    if (d->mode->hints)
        d->mode->hints(d, stream_record_hint, &d->io);
    if (d->mode == &DUMP_EPIO && records_wanted())
        record_blocks(d);
    aside_end();
}

static int open_directly(dumps *d, bool to_write)
{
    if (d->io.step > 0)
        return DONE;
    if (!to_write && policy.cold)
        cache_drop(d->io.path, d->io.comm);
    snprintf(d->io.open_path, sizeof d->io.open_path, "%s", d->io.path);
    snprintf(d->file_path, sizeof d->file_path, "%s%s", d->io.path, to_write ? ".partial" : "");
    d->io.fresh = true;
    const int status = agree(d, TIMED(&d->io.spent, OPEN, d->mode->open(d, to_write)));
    if (status != DONE)
        return status;
    d->is_open = true;
    record_start(d);
    return DONE;
}

static int publish(dumps *d)
{
    if (d->mode->publish)
        return d->mode->publish(d);
    if (d->s->c->rank != 0 || rename(d->file_path, d->io.path) == 0)
        return 0;
    return failure_of_system(&d->problem, "rename", d->file_path);
}

/* The file gets its name when it is whole. */
static int close_directly(dumps *d, bool to_write)
{
    if (d->io.step < d->io.steps - 1)
        return DONE;
    d->is_open = false;
    const int status = agree(d, TIMED(&d->io.spent, CLOSE, d->mode->close(d)));
    return status == DONE && to_write ? agree(d, publish(d)) : status;
}

void dumps_abandon(dumps *d)
{
    if (d->is_open)
        d->mode->close(d);
    d->is_open = false;
    stream_abandon(&d->io);
}

static void note_moved(dumps *d)
{
    aside_begin();
    solution_pack(d->s, d->packed);
    aside_end();
    stream_moved(&d->io, 0, d->packed);
}

static int write_directly(dumps *d, int64_t model_step)
{
    stream_begin(&d->io);
    int status = open_directly(d, true);
    if (status != DONE)
        return status;
    note_moved(d);
    status = TIMED(&d->io.spent, WRITE, d->mode->write(d, d->io.step));
    if (status == 0 && d->io.sync)
        status = TIMED(&d->io.spent, SYNC, d->mode->sync(d));
    status = agree(d, status);
    if (status == DONE)
        status = close_directly(d, true);
    if (status == DONE)
        stream_end(&d->io, model_step);
    return status;
}

static int read_directly(dumps *d, int64_t model_step)
{
    stream_begin(&d->io);
    int status = open_directly(d, false);
    if (status == DONE)
        status = agree(d, TIMED(&d->io.spent, READ, d->mode->read(d, d->io.step)));
    if (status != DONE)
        return status;
    note_moved(d);
    status = close_directly(d, false);
    if (status == DONE)
        stream_end(&d->io, model_step);
    return status;
}

/* --- through gridio -------------------------------------------------------------------------------------------------
 */

static int write_by_gridio(dumps *d, int64_t model_step)
{
    int status = stream_write_begin(&d->io);
    if (status != DONE)
        return status;
    const double start = MPI_Wtime();
    solution_pack(d->s, d->packed);
    timing_computed(MPI_Wtime() - start);
    status = stream_write(&d->io, 0, d->packed);
    return status == DONE ? stream_write_end(&d->io, model_step) : status;
}

static int read_by_gridio(dumps *d, int64_t model_step)
{
    int status = stream_read_begin(&d->io);
    if (status == DONE)
        status = stream_read(&d->io, 0, d->packed);
    if (status != DONE)
        return status;
    const double start = MPI_Wtime();
    solution_unpack(d->s, d->packed);
    timing_computed(MPI_Wtime() - start);
    return stream_read_end(&d->io, model_step);
}

/* --- both -----------------------------------------------------------------------------------------------------------
 */

int dumps_write(dumps *d, int64_t model_step)
{
    return d->mode ? write_directly(d, model_step) : write_by_gridio(d, model_step);
}

int dumps_read(dumps *d, int64_t model_step)
{
    return d->mode ? read_directly(d, model_step) : read_by_gridio(d, model_step);
}
