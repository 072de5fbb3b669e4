/* zones: the benchmark of parallel CGNS. Writes a zone for every rank, or reads one zone that all
 * ranks share. */
#include "program.h"
#include "allocation.h"
#include "records.h"
#include "zones.h"

#include <stdlib.h>
#include <string.h>

enum operation { TO_WRITE, TO_READ, TO_PREPARE };
enum interface { BY_CGP, BY_GRIDIO };

struct benchmark {
    struct zone_set zones;
    enum operation what;
    enum interface by;
    int64_t iterations;
};

/* --- from the plan --- */

static void take_section(struct benchmark *benchmark, struct plan *plan)
{
    const char *wanted = benchmark->what == TO_READ ? "input" : "output";
    for (int i = 1; i < plan->sections; i++) {
        if (i > 1 || strcmp(plan->section[i].kind, wanted) != 0)
            plan_wrong(
                plan,
                &(struct plan_entry){.key = plan->section[i].kind, .line = plan->section[i].line},
                "is not for this operation, which has one section: `input` to read, "
                "otherwise `output`");
        else
            stream_from_plan(&benchmark->zones.io, plan, &plan->section[i],
                             benchmark->what == TO_READ ? "read" : "write", MPI_COMM_WORLD);
    }
    if (plan->sections == 1)
        plan_must(plan, &plan->section[0], wanted);
}

static int take_plan(struct benchmark *benchmark, struct plan *plan)
{
    struct plan_section *own = &plan->section[0];
    struct zone_set *zones = &benchmark->zones;
    zones->points = (int)plan_number(plan, own, "points", 2, 100000, PLAN_MUST);
    zones->arrays = COORDINATES + (int)plan_number(plan, own, "fields", 0, 60, 1);
    zones->type =
        plan_choice(plan, own, "type", "float32|float64", 1) == 1 ? GRIDIO_FLOAT64 : GRIDIO_FLOAT32;
    zones->collective = plan_choice(plan, own, "access", "independent|collective", 0) == 1;
    benchmark->what =
        (enum operation)plan_choice(plan, own, "operation", "write|read|prepare", TO_WRITE);
    benchmark->by = (enum interface)plan_choice(plan, own, "interface", "cgp|gridio", BY_CGP);
    benchmark->iterations = plan_number(plan, own, "iterations", 1, 1000000, 1);
    if (benchmark->what == TO_PREPARE)
        benchmark->iterations = 1;
    take_section(benchmark, plan);
    return program_fail_plan(plan);
}

/* --- parts --- */

/* A whole zone, or a share of the one along k; the first `points % ranks` shares are one longer. */
static void choose_part(struct zone_set *zones)
{
    const int64_t n = zones->points, extra = n % zones->ranks;
    zones->part = (gridio_block){.start = {0, 0, 0}, .count = {n, n, n}};
    if (zones->zones > 1 || zones->ranks == 1)
        return;
    zones->part.start[0] =
        n / zones->ranks * zones->rank + (zones->rank < extra ? zones->rank : extra);
    zones->part.count[0] = n / zones->ranks + (zones->rank < extra);
}

static void prepare(struct benchmark *benchmark)
{
    struct zone_set *zones = &benchmark->zones;
    zones->comm = MPI_COMM_WORLD;
    MPI_Comm_rank(zones->comm, &zones->rank);
    MPI_Comm_size(zones->comm, &zones->ranks);
    zones->zones = benchmark->what == TO_WRITE ? zones->ranks : 1;
    choose_part(zones);
    zones->buffer =
        gridio_allocate((size_t)zone_elements(zones) * stream_element_bytes(zones->type) + 8, 1);
    zones->right = true;
    zones->io.steps = benchmark->iterations;
    zones->io.steps_per_file = 1;
    zones->io.again = true;
    if (benchmark->by == BY_GRIDIO)
        zones_describe_for_gridio(zones);
#ifdef ZONES_HAS_CGP
    else
        zones_describe_for_cgp(zones);
#endif
}

void zones_forget(struct zone_set *zones)
{
    for (int index = 0; index < zones->io.variables; index++)
        free((char *)zones->io.variable[index].description.name);
    free(zones->io.variable);
    free(zones->buffer);
    stream_abandon(&zones->io);
    stream_free(&zones->io);
}

/* --- iterations --- */

static int iterate(struct benchmark *benchmark)
{
#ifdef ZONES_HAS_CGP
    if (benchmark->by == BY_CGP)
        return benchmark->what == TO_READ ? zones_read_by_cgp(&benchmark->zones)
                                          : zones_write_by_cgp(&benchmark->zones);
#endif
    return benchmark->what == TO_READ ? zones_read_by_gridio(&benchmark->zones)
                                      : zones_write_by_gridio(&benchmark->zones);
}

static int check(struct benchmark *benchmark)
{
    int right = benchmark->zones.right;
    MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_LAND, benchmark->zones.comm);
    record_check(benchmark->zones.io.name, "the block reads as it was prepared", right);
    return right ? DONE
                 : program_fail(FAILED, "write it anew with `operation prepare` and the same plan",
                                "'%s' does not hold the block that the plan says",
                                benchmark->zones.io.path);
}

static int run_all(struct benchmark *benchmark)
{
    int status = DONE;
    for (int64_t i = 0; i < benchmark->iterations && status == DONE; i++)
        status = iterate(benchmark);
    return status == DONE && benchmark->what == TO_READ && policy.fingerprints ? check(benchmark)
                                                                               : status;
}

static int run(struct plan *plan)
{
    struct benchmark benchmark = {.iterations = 0};
    int status = take_plan(&benchmark, plan);
#ifndef ZONES_HAS_CGP
    if (status == DONE && benchmark.by == BY_CGP)
        status = program_fail(
            FAILED, "build with parallel HDF5, or choose `interface gridio`",
            "this build has no parallel CGNS, for want of a parallel HDF5 for its MPI");
#endif
    if (status == DONE) {
        prepare(&benchmark);
        status = run_all(&benchmark);
    }
    zones_forget(&benchmark.zones);
    return status;
}

int main(int count, char **words)
{
    return program_run(count, words, "zones", run);
}
