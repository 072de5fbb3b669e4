/* btio: the pattern of NAS BT-IO. Steps with a dump every few of them; then all dumps are read back
 * and verified. */
#include "dumps.h"
#include "program.h"
#include "records.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct benchmark {
    struct cells cells;
    struct solution solution;
    struct dumps dumps;
    struct stream_variable variable;
    int64_t steps, every;
    int work;
    bool read;
    double (*norm)[COMPONENTS]; /* of each dump, as it was written */
    uint64_t *fingerprint;      /* of each dump, on rank 0 */
};

/* --- from the plan --- */

static int take_points(struct plan *plan)
{
    static const int POINTS[] = {12, 24, 64, 102, 162};
    struct plan_section *own = &plan->section[0];
    const int class = plan_choice(plan, own, "class", "S|W|A|B|C", -1);
    const int64_t points =
        plan_number(plan, own, "points", 1, 4096, class >= 0 ? POINTS[class] : PLAN_MUST);
    return (int)points;
}

static void take_mode(struct benchmark *benchmark, struct plan *plan)
{
    static const struct dump_mode *const MODES[] = {&DUMP_FULL, &DUMP_SIMPLE, &DUMP_EPIO, NULL};
    benchmark->dumps.mode =
        MODES[plan_choice(plan, &plan->section[0], "mode", "full|simple|epio|gridio", 0)];
}

static int take_output(struct benchmark *benchmark, struct plan *plan)
{
    for (int i = 1; i < plan->sections; i++) {
        if (i > 1 || strcmp(plan->section[i].kind, "output") != 0)
            plan_wrong(
                plan,
                &(struct plan_entry){.key = plan->section[i].kind, .line = plan->section[i].line},
                "is not for btio, which has one output");
        else
            stream_from_plan(&benchmark->dumps.io, plan, &plan->section[i], "write",
                             MPI_COMM_WORLD);
    }
    if (plan->sections == 1)
        plan_must(plan, &plan->section[0], "output");
    return program_fail_plan(plan);
}

static int take_plan(struct benchmark *benchmark, struct plan *plan)
{
    struct plan_section *own = &plan->section[0];
    const int points = take_points(plan);
    benchmark->steps = plan_number(plan, own, "steps", 1, 1000000000, 200);
    benchmark->every = plan_number(plan, own, "every", 1, benchmark->steps, 5);
    benchmark->work = (int)plan_number(plan, own, "work", 0, 1000000, 1);
    benchmark->read = plan_yes(plan, own, "read", true);
    take_mode(benchmark, plan);
    int status = take_output(benchmark, plan);
    if (status == DONE && !cells_create(&benchmark->cells, points, MPI_COMM_WORLD))
        status = program_fail(
            WRONG_USE, "1, 4, 9, 16, … ranks, and at least as many points as cells along an edge",
            "%d ranks cannot share %d points as BT does: their number must be a square",
            benchmark->cells.ranks, points);
    return status;
}

/* --- dumps --- */

static int prepare(struct benchmark *benchmark)
{
    struct dumps *dumps = &benchmark->dumps;
    const int64_t count = benchmark->steps / benchmark->every; /* at least 1 */
    bool enough = solution_create(&benchmark->solution, &benchmark->cells);
    benchmark->variable = (struct stream_variable){.description = cells_variable(&benchmark->cells),
                                                   .blocks = benchmark->cells.count,
                                                   .more = benchmark->cells.block};
    dumps->solution = &benchmark->solution;
    dumps->packed = malloc(solution_packed_elements(&benchmark->solution) * sizeof *dumps->packed);
    dumps->io.variable = &benchmark->variable;
    dumps->io.variables = 1;
    dumps->io.steps = count;
    benchmark->norm = calloc((size_t)count, sizeof *benchmark->norm);
    benchmark->fingerprint = calloc((size_t)count, sizeof *benchmark->fingerprint);
    enough = enough && dumps->packed && benchmark->norm && benchmark->fingerprint;
    MPI_Allreduce(MPI_IN_PLACE, &enough, 1, MPI_C_BOOL, MPI_LAND, benchmark->cells.comm);
    return enough ? DONE
                  : program_fail(FAILED, "more ranks, or fewer points",
                                 "the memory of a rank does not hold its part of %d points a side",
                                 benchmark->cells.points);
}

static void clean_up(struct benchmark *benchmark)
{
    dumps_abandon(&benchmark->dumps);
    stream_free(&benchmark->dumps.io);
    free(benchmark->norm);
    free(benchmark->fingerprint);
    free(benchmark->dumps.packed);
    solution_free(&benchmark->solution);
    if (benchmark->cells.at)
        cells_free(&benchmark->cells);
}

static int write_dump(struct benchmark *benchmark, int64_t step)
{
    const int64_t n = benchmark->dumps.io.step;
    const int status = dumps_write(&benchmark->dumps, step);
    if (status != DONE)
        return status;
    aside_begin();
    solution_norm(&benchmark->solution, benchmark->norm[n]);
    benchmark->fingerprint[n] = benchmark->variable.fingerprint;
    aside_end();
    return DONE;
}

static int write_all(struct benchmark *benchmark)
{
    int status = DONE;
    for (int64_t step = 1; step <= benchmark->steps && status == DONE; step++) {
        solution_step(&benchmark->solution, benchmark->work);
        if (step % benchmark->every == 0)
            status = write_dump(benchmark, step);
    }
    return status;
}

/* --- verification --- */

/* The benchmark accumulates the norms of what it reads. Their sums may be added up in another order
 * here than when the dump was written; the fingerprints have no such freedom. */
static bool same_norms(const double *written, const double *read)
{
    bool same = true;
    for (int component = 0; component < COMPONENTS; component++)
        same =
            same && fabs(written[component] - read[component]) <= 1e-12 * fabs(written[component]);
    return same;
}

static int read_dump(struct benchmark *benchmark, bool *right)
{
    const int64_t n = benchmark->dumps.io.step;
    double norm[COMPONENTS];
    const int status = dumps_read(&benchmark->dumps, (n + 1) * benchmark->every);
    if (status != DONE)
        return status;
    solution_norm(&benchmark->solution, norm);
    *right = *right && same_norms(norm, benchmark->norm[n]);
    if (benchmark->cells.rank == 0 && policy.fingerprints)
        *right = *right && benchmark->variable.fingerprint == benchmark->fingerprint[n];
    return DONE;
}

static int read_all(struct benchmark *benchmark)
{
    bool right = true;
    int status = DONE;
    benchmark->dumps.io.direction = "read";
    benchmark->dumps.io.announced = false;
    benchmark->dumps.io.step = 0;
    solution_clear(&benchmark->solution);
    while (benchmark->dumps.io.step < benchmark->dumps.io.steps && status == DONE)
        status = read_dump(benchmark, &right);
    if (status != DONE)
        return status;
    MPI_Bcast(&right, 1, MPI_C_BOOL, 0, MPI_COMM_WORLD);
    record_check(benchmark->dumps.io.name,
                 "norms and fingerprints of all dumps read back are those of the solution", right);
    return right ? DONE
                 : program_fail(FAILED, NULL, "'%s' does not hold what was dumped",
                                benchmark->dumps.io.path);
}

static int run(struct plan *plan)
{
    struct benchmark benchmark = {.steps = 0};
    int status = take_plan(&benchmark, plan);
    if (status == DONE)
        status = prepare(&benchmark);
    if (status == DONE)
        status = write_all(&benchmark);
    if (status == DONE && benchmark.read && benchmark.dumps.io.steps > 0)
        status = read_all(&benchmark);
    clean_up(&benchmark);
    return status;
}

int main(int count, char **words)
{
    return program_run(count, words, "btio", run);
}
