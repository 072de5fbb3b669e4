/* zones: the benchmark of parallel CGNS. Writes a zone for every rank, or reads one zone that all ranks share. */
#include "program.h"
#include "records.h"
#include "zones.h"

#include <stdlib.h>
#include <string.h>

typedef enum { TO_WRITE, TO_READ, TO_PREPARE } operation;
typedef enum { BY_CGP, BY_GRIDIO } interface;

typedef struct {
    zone_set z;
    operation what;
    interface by;
    int64_t iterations;
} benchmark;

/* --- from the plan --------------------------------------------------------------------------------------------------
 */

static void take_section(benchmark *b, plan *p)
{
    const char *wanted = b->what == TO_READ ? "input" : "output";
    for (int s = 1; s < p->sections; s++) {
        if (s > 1 || strcmp(p->section[s].kind, wanted) != 0)
            plan_wrong(p, &(plan_entry){.key = p->section[s].kind, .line = p->section[s].line},
                       "is not for this operation, which has one section: `input` to read, otherwise `output`");
        else
            stream_from_plan(&b->z.io, p, &p->section[s], b->what == TO_READ ? "read" : "write", MPI_COMM_WORLD);
    }
    if (p->sections == 1)
        plan_must(p, &p->section[0], wanted);
}

static int take_plan(benchmark *b, plan *p)
{
    plan_section *own = &p->section[0];
    zone_set *z = &b->z;
    z->points = (int)plan_number(p, own, "points", 2, 100000, PLAN_MUST);
    z->arrays = COORDINATES + (int)plan_number(p, own, "fields", 0, 60, 1);
    z->type = plan_choice(p, own, "type", "float32|float64", 1) == 1 ? GRIDIO_FLOAT64 : GRIDIO_FLOAT32;
    z->collective = plan_choice(p, own, "access", "independent|collective", 0) == 1;
    b->what = (operation)plan_choice(p, own, "operation", "write|read|prepare", TO_WRITE);
    b->by = (interface)plan_choice(p, own, "interface", "cgp|gridio", BY_CGP);
    b->iterations = plan_number(p, own, "iterations", 1, 1000000, 1);
    if (b->what == TO_PREPARE)
        b->iterations = 1;
    take_section(b, p);
    return program_fail_plan(p);
}

/* --- parts ----------------------------------------------------------------------------------------------------------
 */

/* A whole zone, or a share of the one along k; the first `points % ranks` shares are one longer. */
static void choose_part(zone_set *z)
{
    const int64_t n = z->points, extra = n % z->ranks;
    z->part = (gridio_block){.start = {0, 0, 0}, .count = {n, n, n}};
    if (z->zones > 1 || z->ranks == 1)
        return;
    z->part.start[0] = n / z->ranks * z->rank + (z->rank < extra ? z->rank : extra);
    z->part.count[0] = n / z->ranks + (z->rank < extra);
}

static void prepare(benchmark *b)
{
    zone_set *z = &b->z;
    z->comm = MPI_COMM_WORLD;
    MPI_Comm_rank(z->comm, &z->rank);
    MPI_Comm_size(z->comm, &z->ranks);
    z->zones = b->what == TO_WRITE ? z->ranks : 1;
    choose_part(z);
    z->buffer = malloc((size_t)zone_elements(z) * stream_element_bytes(z->type) + 8);
    z->right = true;
    z->io.steps = b->iterations;
    z->io.steps_per_file = 1;
    z->io.again = true;
    if (b->by == BY_GRIDIO)
        zones_describe_for_gridio(z);
#ifdef ZONES_HAS_CGP
    else
        zones_describe_for_cgp(z);
#endif
}

void zones_forget(zone_set *z)
{
    for (int v = 0; v < z->io.variables; v++)
        free((char *)z->io.variable[v].variable.name);
    free(z->io.variable);
    free(z->buffer);
    stream_abandon(&z->io);
    stream_free(&z->io);
}

/* --- iterations -----------------------------------------------------------------------------------------------------
 */

static int iterate(benchmark *b)
{
#ifdef ZONES_HAS_CGP
    if (b->by == BY_CGP)
        return b->what == TO_READ ? zones_read_by_cgp(&b->z) : zones_write_by_cgp(&b->z);
#endif
    return b->what == TO_READ ? zones_read_by_gridio(&b->z) : zones_write_by_gridio(&b->z);
}

static int check(benchmark *b)
{
    int right = b->z.right;
    MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_LAND, b->z.comm);
    record_check(b->z.io.name, "the block reads as it was prepared", right);
    return right ? DONE
                 : program_fail(FAILED, "write it anew with `operation prepare` and the same plan",
                                "'%s' does not hold the block that the plan says", b->z.io.path);
}

static int run_all(benchmark *b)
{
    int status = DONE;
    for (int64_t i = 0; i < b->iterations && status == DONE; i++)
        status = iterate(b);
    return status == DONE && b->what == TO_READ && policy.fingerprints ? check(b) : status;
}

static int run(plan *p)
{
    benchmark b = {.iterations = 0};
    int status = take_plan(&b, p);
#ifndef ZONES_HAS_CGP
    if (status == DONE && b.by == BY_CGP)
        status = program_fail(FAILED, "build with parallel HDF5, or choose `interface gridio`",
                              "this build has no parallel CGNS, for want of a parallel HDF5 for its MPI");
#endif
    if (status == DONE) {
        prepare(&b);
        status = run_all(&b);
    }
    zones_forget(&b.z);
    return status;
}

int main(int count, char **words)
{
    return program_run(count, words, "zones", run);
}
