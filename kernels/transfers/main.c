/* transfers: h5perf's pattern. Each interface writes, and reads, the same file; every iteration with other values. */
#include "cache.h"
#include "fingerprint.h"
#include "program.h"
#include "records.h"
#include "stream_records.h"
#include "transfers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const transfer_interface *const TRANSFER_INTERFACES[] = {&INTERFACE_POSIX, &INTERFACE_MPIIO,
#ifdef TRANSFERS_HAS_HDF5
                                                         &INTERFACE_HDF5,
#endif
                                                         NULL};

typedef struct {
    transfer t;
    bool wanted[3]; /* of TRANSFER_INTERFACES */
    bool read;
    int64_t iterations;
    stream as_planned;
} measurement;

/* --- failures and settings ------------------------------------------------------------------------------------------
 */

const char *transfer_setting(const transfer *t, const char *name)
{
    const size_t length = strlen(name);
    for (const char *const *setting = t->io.settings; *setting; setting++)
        if (strncmp(*setting, name, length) == 0 && (*setting)[length] == '=')
            return *setting + length + 1;
    return NULL;
}

static int agree(transfer *t, int failed)
{
    return failure_agree(&t->problem, failed, t->io.comm);
}

/* --- the plan -------------------------------------------------------------------------------------------------------
 */

static bool is_among(const char *words, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = words; (at = strstr(at, word)); at += length)
        if ((at == words || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

static void take_interfaces(measurement *m, plan *p)
{
    const char *words = plan_text(p, &p->section[0], "interfaces", NULL);
    size_t length = 0, known = 0;
    for (int i = 0; TRANSFER_INTERFACES[i]; i++) {
        m->wanted[i] = !words || is_among(words, TRANSFER_INTERFACES[i]->name);
        known += m->wanted[i] ? strlen(TRANSFER_INTERFACES[i]->name) : 0;
    }
    for (const char *at = words; at && *at; at++)
        length += *at != ' ';
    if (words && length != known)
        plan_wrong(p, plan_find(p, &p->section[0], "interfaces"),
                   "must be some of posix, mpiio and, where it is built, hdf5, with blanks between them");
}

static void take_pattern(pattern *q, plan *p)
{
    plan_section *own = &p->section[0];
    q->file_bytes = plan_number(p, own, "file_bytes", 4, INT64_MAX / 2, PLAN_MUST);
    q->transfer_bytes = plan_number(p, own, "transfer_bytes", 4, 1 << 30, 1 << 20);
    q->block_bytes = plan_number(p, own, "block_bytes", 4, 1 << 30, 1 << 17);
    q->interleaved = plan_choice(p, own, "pattern", "contiguous|interleaved", 1) == 1;
    q->collective = plan_choice(p, own, "access", "independent|collective", 1) == 1;
    if (q->file_bytes % 4 || q->transfer_bytes % 4 || q->block_bytes % 4)
        plan_wrong(p, plan_find(p, own, "file_bytes"), "and transfer_bytes and block_bytes must be multiples of 4");
    else if (q->interleaved && q->transfer_bytes % q->block_bytes)
        plan_wrong(p, plan_find(p, own, "file_bytes"),
                   "cannot be moved so: transfer_bytes must be a multiple of block_bytes where they are interleaved");
}

static int take_plan(measurement *m, plan *p)
{
    plan_section *own = &p->section[0];
    take_pattern(&m->t.p, p);
    take_interfaces(m, p);
    m->read = plan_choice(p, own, "operations", "write|write read", 1) == 1;
    m->iterations = plan_number(p, own, "iterations", 1, 1000000, 5);
    for (int s = 1; s < p->sections; s++) {
        if (s > 1 || strcmp(p->section[s].kind, "output") != 0)
            plan_wrong(p, &(plan_entry){.key = p->section[s].kind, .line = p->section[s].line},
                       "is not for transfers, which has one output");
        else
            stream_from_plan(&m->as_planned, p, &p->section[s], "write", MPI_COMM_WORLD);
    }
    if (p->sections == 1)
        plan_must(p, own, "output");
    return program_fail_plan(p);
}

/* --- contents -------------------------------------------------------------------------------------------------------
 */

/* A number for every place and iteration (the finalizer of splitmix64, see fingerprint.h). */
static int32_t value_at(uint64_t element, uint64_t iteration)
{
    uint64_t x = element * UINT64_C(0x9E3779B97F4A7C15) + iteration;
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return (int32_t)(x ^ (x >> 31));
}

static void fill(const transfer *t)
{
    int32_t *to = t->buffer;
    for (int b = 0; b < t->data.blocks; b++)
        for (int64_t i = 0; i < t->block[b].count[0]; i++)
            *to++ = value_at((uint64_t)(t->block[b].start[0] + i), (uint64_t)t->io.step);
}

static bool is_right(const transfer *t)
{
    const int32_t *at = t->buffer;
    bool right = true;
    for (int b = 0; b < t->data.blocks; b++)
        for (int64_t i = 0; i < t->block[b].count[0]; i++)
            right = right && *at++ == value_at((uint64_t)(t->block[b].start[0] + i), (uint64_t)t->io.step);
    return right;
}

static void add_fingerprint(transfer *t)
{
    t->data.fingerprint += fingerprint_of_blocks(&t->data.variable, t->data.blocks, t->block, t->buffer);
}

/* --- one iteration --------------------------------------------------------------------------------------------------
 */

static void choose_call(transfer *t, int64_t n)
{
    t->call = n;
    t->data.blocks = pattern_blocks(&t->p, n, t->rank, t->ranks, t->block);
    t->bytes = 0;
    for (int b = 0; b < t->data.blocks; b++)
        t->bytes += t->block[b].count[0] * ELEMENT_BYTES;
}

/* What is filled in, and the fingerprint of what was moved, are no part of the measurement. Without fingerprints the
 * same bytes are written again and again, as h5perf does. */
static int write_call(transfer *t)
{
    if (policy.fingerprints || t->call == 0) {
        aside_begin();
        fill(t);
        add_fingerprint(t);
        aside_end();
    }
    return TIMED(&t->io.spent, WRITE, t->by->move(t, true));
}

static int read_call(transfer *t, bool *right)
{
    const int status = TIMED(&t->io.spent, READ, t->by->move(t, false));
    if (status != 0 || !policy.fingerprints)
        return status;
    aside_begin();
    *right = *right && is_right(t);
    add_fingerprint(t);
    aside_end();
    return 0;
}

/* A rank that fails goes on calling, so that the others do not wait for it. */
static int move_all(transfer *t, bool to_write, bool *right)
{
    int failed = 0;
    for (int64_t n = 0; n < t->p.calls; n++) {
        choose_call(t, n);
        failed |= to_write ? write_call(t) : read_call(t, right);
    }
    return failed;
}

static int open_here(transfer *t, bool to_write)
{
    snprintf(t->open_path, sizeof t->open_path, "%s%s", t->path, to_write ? ".partial" : "");
    snprintf(t->io.open_path, sizeof t->io.open_path, "%s", t->path);
    if (!to_write && policy.cold)
        cache_drop(t->path, t->io.comm);
    const int status = agree(t, TIMED(&t->io.spent, OPEN, t->by->open(t, to_write)));
    if (status != DONE || t->io.announced)
        return status;
    t->io.announced = true;
    stream_record_start(&t->io);
    if (t->by->hints)
        t->by->hints(t, stream_record_hint, &t->io);
    return DONE;
}

/* The file gets its name when it is whole. */
static int close_here(transfer *t, bool to_write)
{
    int status = agree(t, TIMED(&t->io.spent, CLOSE, t->by->close(t)));
    if (status == DONE && to_write && t->rank == 0)
        status = rename(t->open_path, t->path) == 0 ? DONE : failure_of_system(&t->problem, "rename", t->path);
    return agree(t, status != DONE);
}

static int iterate(transfer *t, bool to_write, bool *right)
{
    stream_begin(&t->io);
    t->io.fresh = true;
    int status = open_here(t, to_write);
    if (status != DONE)
        return status;
    int failed = move_all(t, to_write, right);
    if (to_write && t->io.sync && !failed)
        failed = TIMED(&t->io.spent, SYNC, t->by->sync(t));
    status = agree(t, failed);
    const int closed = close_here(t, to_write && status == DONE);
    if (status != DONE || closed != DONE)
        return FAILED;
    t->io.bytes_in_step = t->p.file_bytes;
    stream_end_at(&t->io, t->io.step, 0);
    return DONE;
}

/* --- all ------------------------------------------------------------------------------------------------------------
 */

static void choose_interface(measurement *m, const transfer_interface *by)
{
    transfer *t = &m->t;
    t->by = by;
    t->io = m->as_planned;
    t->io.name = by->name;
    t->io.method_in_use = t->p.collective && by != &INTERFACE_POSIX ? "collective" : "independent";
    t->io.format_in_use = by->format;
    t->io.variable = &t->data;
    t->io.variables = 1;
    t->io.steps = m->iterations;
    snprintf(t->path, sizeof t->path, "%.4000s%s", m->as_planned.path, by->suffix);
}

static int measure(measurement *m, const transfer_interface *by)
{
    bool right = true;
    choose_interface(m, by);
    stream reading = m->t.io;
    reading.direction = "read";
    int status = DONE;
    for (int64_t i = 0; i < m->iterations && status == DONE; i++) {
        status = iterate(&m->t, true, &right);
        if (status != DONE || !m->read)
            continue;
        const stream writing = m->t.io;
        m->t.io = reading;
        status = iterate(&m->t, false, &right);
        reading = m->t.io;
        m->t.io = writing;
    }
    if (status != DONE || !m->read || !policy.fingerprints)
        return status;
    status = agree(&m->t, right ? 0
                                : (snprintf(m->t.problem.sentence, sizeof m->t.problem.sentence,
                                            "'%.500s' does not hold what was written", m->t.path),
                                   1));
    record_check(by->name, "every transfer reads back as it was written", status == DONE);
    return status;
}

static void prepare(measurement *m)
{
    transfer *t = &m->t;
    MPI_Comm_rank(MPI_COMM_WORLD, &t->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &t->ranks);
    t->p.calls = pattern_calls(&t->p, t->ranks);
    t->block = calloc((size_t)pattern_blocks_at_most(&t->p), sizeof *t->block);
    t->buffer = calloc((size_t)t->p.transfer_bytes, 1);
    t->data = (stream_variable){.variable = {.name = "data",
                                             .units = "1",
                                             .type = GRIDIO_INT32,
                                             .dimensions = 1,
                                             .size = {t->p.file_bytes / ELEMENT_BYTES},
                                             .dimension_name = {"element"},
                                             .tiled = true,
                                             .every_step = true},
                                .more = t->block};
}

static int run(plan *p)
{
    measurement m = {.iterations = 0};
    int status = take_plan(&m, p);
    if (status == DONE)
        prepare(&m);
    for (int i = 0; TRANSFER_INTERFACES[i] && status == DONE; i++)
        if (m.wanted[i])
            status = measure(&m, TRANSFER_INTERFACES[i]);
    stream_free(&m.as_planned);
    free(m.t.block);
    free(m.t.buffer);
    return status;
}

int main(int count, char **words)
{
    return program_run(count, words, "transfers", run);
}
