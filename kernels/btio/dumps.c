#include "dumps.h"
#include "cache.h"
#include "program.h"
#include "stream_records.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- failures -------------------------------------------------------------------------------------------------------
 */

int dumps_mpi_failed(dumps *d, const char *what, int error)
{
    char reason[MPI_MAX_ERROR_STRING];
    int length;
    if (error == MPI_SUCCESS)
        return 0;
    MPI_Error_string(error, reason, &length);
    reason[strcspn(reason, "\n")] = '\0';
    snprintf(d->problem, sizeof d->problem, "cannot %s '%.500s': %.300s", what, d->io.path, reason);
    return -1;
}

int dumps_system_failed(dumps *d, const char *what)
{
    snprintf(d->problem, sizeof d->problem, "cannot %s '%.500s': %s", what, d->io.path, strerror(errno));
    return -1;
}

/* The sentence of the lowest rank that failed becomes everyone's. */
static int agree(dumps *d, int failed)
{
    const int mine = failed ? d->s->c->rank : d->s->c->ranks;
    int lowest;
    aside_begin();
    MPI_Allreduce(&mine, &lowest, 1, MPI_INT, MPI_MIN, d->io.comm);
    if (lowest < d->s->c->ranks)
        MPI_Bcast(d->problem, sizeof d->problem, MPI_CHAR, lowest, d->io.comm);
    aside_end();
    return lowest == d->s->c->ranks ? DONE : program_fail(FAILED, NULL, "%s", d->problem);
}

/* --- the benchmark's own modes --------------------------------------------------------------------------------------
 */

static void record_start(dumps *d)
{
    aside_begin();
    d->io.method_in_use = d->mode->name;
    d->io.format_in_use = "raw";
    stream_record_start(&d->io);
    if (d->mode->hints)
        d->mode->hints(d, stream_record_hint, &d->io);
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
    if (status == DONE)
        record_start(d);
    return status;
}

/* The file gets its name when it is whole. */
static int close_directly(dumps *d, bool to_write)
{
    if (d->io.step < d->io.steps - 1)
        return DONE;
    int status = agree(d, TIMED(&d->io.spent, CLOSE, d->mode->close(d)));
    if (status == DONE && to_write && d->s->c->rank == 0 && d->mode != &DUMP_EPIO)
        status = rename(d->file_path, d->io.path) == 0 ? DONE : dumps_system_failed(d, "rename");
    return agree(d, status != DONE);
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
