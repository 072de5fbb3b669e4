/* transfers: h5perf's pattern. Each interface writes, and reads, the same file; every iteration
 * with other values. */
#include "cache.h"
#include "allocation.h"
#include "fingerprint.h"
#include "program.h"
#include "records.h"
#include "stream_records.h"
#include "transfers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct transfer_interface *const TRANSFER_INTERFACES[] = {&INTERFACE_POSIX, &INTERFACE_MPIIO,
#ifdef TRANSFERS_HAS_HDF5
                                                                &INTERFACE_HDF5,
#endif
                                                                NULL};

struct measurement {
    struct transfer transfer;
    bool wanted[3]; /* of TRANSFER_INTERFACES */
    bool read;
    int64_t iterations;
    struct stream as_planned;
};

static int agree(struct transfer *transfer, int failed)
{
    return failure_agree(&transfer->problem, failed, transfer->io.comm);
}

/* --- the plan --- */

static bool is_among(const char *words, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = words; (at = strstr(at, word)); at += length)
        if ((at == words || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

static void take_interfaces(struct measurement *measurement, struct plan *plan)
{
    const char *words = plan_text(plan, &plan->section[0], "interfaces", NULL);
    size_t length = 0, known = 0;
    for (int i = 0; TRANSFER_INTERFACES[i]; i++) {
        measurement->wanted[i] = !words || is_among(words, TRANSFER_INTERFACES[i]->name);
        known += measurement->wanted[i] ? strlen(TRANSFER_INTERFACES[i]->name) : 0;
    }
    for (const char *at = words; at && *at; at++)
        length += *at != ' ';
    if (words && length != known)
        plan_wrong(
            plan, plan_find(plan, &plan->section[0], "interfaces"),
            "must be some of posix, mpiio and, where it is built, hdf5, with blanks between them");
}

static void take_pattern(struct pattern *pattern, struct plan *plan)
{
    struct plan_section *own = &plan->section[0];
    pattern->file_bytes = plan_number(plan, own, "file_bytes", 4, INT64_MAX / 2, PLAN_MUST);
    pattern->transfer_bytes = plan_number(plan, own, "transfer_bytes", 4, 1 << 30, 1 << 20);
    pattern->block_bytes = plan_number(plan, own, "block_bytes", 4, 1 << 30, 1 << 17);
    pattern->interleaved = plan_choice(plan, own, "pattern", "contiguous|interleaved", 1) == 1;
    pattern->collective = plan_choice(plan, own, "access", "independent|collective", 1) == 1;
    if (pattern->file_bytes % 4 || pattern->transfer_bytes % 4 || pattern->block_bytes % 4)
        plan_wrong(plan, plan_find(plan, own, "file_bytes"),
                   "and transfer_bytes and block_bytes must be multiples of 4");
    else if (pattern->interleaved && pattern->transfer_bytes % pattern->block_bytes)
        plan_wrong(plan, plan_find(plan, own, "file_bytes"),
                   "cannot be moved so: transfer_bytes must be a multiple of block_bytes where "
                   "they are interleaved");
}

static int take_plan(struct measurement *measurement, struct plan *plan)
{
    struct plan_section *own = &plan->section[0];
    take_pattern(&measurement->transfer.pattern, plan);
    take_interfaces(measurement, plan);
    measurement->read = plan_choice(plan, own, "operations", "write|write read", 1) == 1;
    measurement->iterations = plan_number(plan, own, "iterations", 1, 1000000, 5);
    for (int i = 1; i < plan->sections; i++) {
        if (i > 1 || strcmp(plan->section[i].kind, "output") != 0)
            plan_wrong(
                plan,
                &(struct plan_entry){.key = plan->section[i].kind, .line = plan->section[i].line},
                "is not for transfers, which has one output");
        else
            stream_from_plan(&measurement->as_planned, plan, &plan->section[i], "write",
                             MPI_COMM_WORLD);
    }
    if (plan->sections == 1)
        plan_must(plan, own, "output");
    return program_fail_plan(plan);
}

/* --- contents --- */

/* A number for every place and iteration (the finalizer of splitmix64, see fingerprint.h). */
static int32_t value_at(uint64_t element, uint64_t iteration)
{
    uint64_t x = element * UINT64_C(0x9E3779B97F4A7C15) + iteration;
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return (int32_t)(x ^ (x >> 31));
}

static void fill(const struct transfer *transfer)
{
    int32_t *to = transfer->buffer;
    for (int j = 0; j < transfer->data.blocks; j++)
        for (int64_t i = 0; i < transfer->block[j].count[0]; i++)
            *to++ =
                value_at((uint64_t)(transfer->block[j].start[0] + i), (uint64_t)transfer->io.step);
}

static bool is_right(const struct transfer *transfer)
{
    const int32_t *at = transfer->buffer;
    bool right = true;
    for (int j = 0; j < transfer->data.blocks; j++)
        for (int64_t i = 0; i < transfer->block[j].count[0]; i++)
            right = right && *at++ == value_at((uint64_t)(transfer->block[j].start[0] + i),
                                               (uint64_t)transfer->io.step);
    return right;
}

static void add_fingerprint(struct transfer *transfer)
{
    transfer->data.fingerprint += fingerprint_of_blocks(
        &transfer->data.description, transfer->data.blocks, transfer->block, transfer->buffer);
}

/* --- one iteration --- */

static void choose_call(struct transfer *transfer, int64_t n)
{
    transfer->call = n;
    transfer->data.blocks =
        pattern_blocks(&transfer->pattern, n, transfer->rank, transfer->ranks, transfer->block);
    transfer->bytes = 0;
    for (int i = 0; i < transfer->data.blocks; i++)
        transfer->bytes += transfer->block[i].count[0] * ELEMENT_BYTES;
}

/* What is filled in, and the fingerprint of what was moved, are no part of the measurement. Without
 * fingerprints the same bytes are written again and again, as h5perf does. */
static int write_call(struct transfer *transfer)
{
    if (policy.fingerprints || transfer->call == 0) {
        aside_begin();
        fill(transfer);
        add_fingerprint(transfer);
        aside_end();
    }
    return TIMED(&transfer->io.spent, WRITE, transfer->by->move(transfer, true));
}

static int read_call(struct transfer *transfer, bool *right)
{
    const int status = TIMED(&transfer->io.spent, READ, transfer->by->move(transfer, false));
    if (status != 0 || !policy.fingerprints)
        return status;
    aside_begin();
    *right = *right && is_right(transfer);
    add_fingerprint(transfer);
    aside_end();
    return 0;
}

/* A rank that fails goes on calling, so that the others do not wait for it. */
static int move_all(struct transfer *transfer, bool to_write, bool *right)
{
    int failed = 0;
    for (int64_t n = 0; n < transfer->pattern.calls; n++) {
        choose_call(transfer, n);
        failed |= to_write ? write_call(transfer) : read_call(transfer, right);
    }
    return failed;
}

static int open_here(struct transfer *transfer, bool to_write)
{
    snprintf(transfer->open_path, sizeof transfer->open_path, "%s%s", transfer->path,
             to_write ? ".partial" : "");
    snprintf(transfer->io.open_path, sizeof transfer->io.open_path, "%s", transfer->path);
    if (!to_write && policy.cold)
        cache_drop(transfer->path, transfer->io.comm);
    const int status =
        agree(transfer, TIMED(&transfer->io.spent, OPEN, transfer->by->open(transfer, to_write)));
    if (status != DONE || transfer->io.announced)
        return status;
    transfer->io.announced = true;
    stream_record_start(&transfer->io);
    if (transfer->by->hints)
        transfer->by->hints(transfer, stream_record_hint, &transfer->io);
    return DONE;
}

/* The file gets its name when it is whole. */
static int close_here(struct transfer *transfer, bool to_write)
{
    int status = agree(transfer, TIMED(&transfer->io.spent, CLOSE, transfer->by->close(transfer)));
    if (status == DONE && to_write && transfer->rank == 0)
        status = rename(transfer->open_path, transfer->path) == 0
                     ? DONE
                     : failure_of_system(&transfer->problem, "rename", transfer->path);
    return agree(transfer, status != DONE);
}

static int iterate(struct transfer *transfer, bool to_write, bool *right)
{
    stream_begin(&transfer->io);
    transfer->io.fresh = true;
    int status = open_here(transfer, to_write);
    if (status != DONE)
        return status;
    int failed = move_all(transfer, to_write, right);
    if (to_write && transfer->io.sync && !failed)
        failed = TIMED(&transfer->io.spent, SYNC, transfer->by->sync(transfer));
    status = agree(transfer, failed);
    const int closed = close_here(transfer, to_write && status == DONE);
    if (status != DONE || closed != DONE)
        return FAILED;
    transfer->io.bytes_in_step = transfer->pattern.file_bytes;
    stream_end_at(&transfer->io, transfer->io.step, 0);
    return DONE;
}

/* --- all --- */

static void choose_interface(struct measurement *measurement, const struct transfer_interface *by)
{
    struct transfer *transfer = &measurement->transfer;
    transfer->by = by;
    transfer->io = measurement->as_planned;
    transfer->io.name = by->name;
    transfer->io.method_in_use =
        transfer->pattern.collective && by != &INTERFACE_POSIX ? "collective" : "independent";
    transfer->io.format_in_use = by->format;
    transfer->io.variable = &transfer->data;
    transfer->io.variables = 1;
    transfer->io.steps = measurement->iterations;
    snprintf(transfer->path, sizeof transfer->path, "%.4000s%s", measurement->as_planned.path,
             by->suffix);
}

static int measure(struct measurement *measurement, const struct transfer_interface *by)
{
    bool right = true;
    choose_interface(measurement, by);
    struct stream reading = measurement->transfer.io;
    reading.direction = "read";
    int status = DONE;
    for (int64_t i = 0; i < measurement->iterations && status == DONE; i++) {
        status = iterate(&measurement->transfer, true, &right);
        if (status != DONE || !measurement->read)
            continue;
        const struct stream writing = measurement->transfer.io;
        measurement->transfer.io = reading;
        status = iterate(&measurement->transfer, false, &right);
        reading = measurement->transfer.io;
        measurement->transfer.io = writing;
    }
    if (status != DONE || !measurement->read || !policy.fingerprints)
        return status;
    status = agree(
        &measurement->transfer,
        right ? 0
              : (snprintf(measurement->transfer.problem.sentence,
                          sizeof measurement->transfer.problem.sentence,
                          "'%.500s' does not hold what was written", measurement->transfer.path),
                 1));
    record_check(by->name, "every transfer reads back as it was written", status == DONE);
    return status;
}

static void prepare(struct measurement *measurement)
{
    struct transfer *transfer = &measurement->transfer;
    MPI_Comm_rank(MPI_COMM_WORLD, &transfer->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &transfer->ranks);
    transfer->pattern.calls = pattern_calls(&transfer->pattern, transfer->ranks);
    transfer->block = gridio_allocate((size_t)pattern_blocks_at_most(&transfer->pattern),
                                      sizeof *transfer->block);
    transfer->buffer = gridio_allocate((size_t)transfer->pattern.transfer_bytes, 1);
    transfer->data = (struct stream_variable){
        .description = {.name = "data",
                        .units = "1",
                        .type = GRIDIO_INT32,
                        .dimensions = 1,
                        .size = {transfer->pattern.file_bytes / ELEMENT_BYTES},
                        .dimension_name = {"element"},
                        .tiled = true,
                        .every_step = true},
        .more = transfer->block};
}

static int run(struct plan *plan)
{
    struct measurement measurement = {.iterations = 0};
    int status = take_plan(&measurement, plan);
    if (status == DONE)
        prepare(&measurement);
    for (int i = 0; TRANSFER_INTERFACES[i] && status == DONE; i++)
        if (measurement.wanted[i])
            status = measure(&measurement, TRANSFER_INTERFACES[i]);
    stream_free(&measurement.as_planned);
    free(measurement.transfer.block);
    free(measurement.transfer.buffer);
    return status;
}

int main(int count, char **words)
{
    return program_run(count, words, "transfers", run);
}
