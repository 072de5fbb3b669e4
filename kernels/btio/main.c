/* btio: the pattern of NAS BT-IO. Steps with a dump every few of them; then all dumps are read back and verified. */
#include "dumps.h"
#include "program.h"
#include "records.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    cells c;
    solution s;
    dumps d;
    stream_variable u;
    int64_t steps, every;
    int work;
    bool read;
    double (*norm)[COMPONENTS]; /* of each dump, as it was written */
    uint64_t *fingerprint;      /* of each dump, on rank 0 */
} benchmark;

/* --- from the plan --------------------------------------------------------------------------------------------------
 */

static int take_points(plan *p)
{
    static const int POINTS[] = {12, 24, 64, 102, 162};
    plan_section *own = &p->section[0];
    const int class = plan_choice(p, own, "class", "S|W|A|B|C", -1);
    const int64_t points = plan_number(p, own, "points", 1, 4096, class >= 0 ? POINTS[class] : PLAN_MUST);
    return (int)points;
}

static void take_mode(benchmark *b, plan *p)
{
    static const dump_mode *const MODES[] = {&DUMP_FULL, &DUMP_SIMPLE, &DUMP_EPIO, NULL};
    b->d.mode = MODES[plan_choice(p, &p->section[0], "mode", "full|simple|epio|gridio", 0)];
}

static int take_output(benchmark *b, plan *p)
{
    for (int s = 1; s < p->sections; s++) {
        if (s > 1 || strcmp(p->section[s].kind, "output") != 0)
            plan_wrong(p, &(plan_entry){.key = p->section[s].kind, .line = p->section[s].line},
                       "is not for btio, which has one output");
        else
            stream_from_plan(&b->d.io, p, &p->section[s], "write", MPI_COMM_WORLD);
    }
    if (p->sections == 1)
        plan_must(p, &p->section[0], "output");
    return program_fail_plan(p);
}

static int take_plan(benchmark *b, plan *p)
{
    plan_section *own = &p->section[0];
    const int points = take_points(p);
    b->steps = plan_number(p, own, "steps", 1, 1000000000, 200);
    b->every = plan_number(p, own, "every", 1, b->steps, 5);
    b->work = (int)plan_number(p, own, "work", 0, 1000000, 1);
    b->read = plan_yes(p, own, "read", true);
    take_mode(b, p);
    int status = take_output(b, p);
    if (status == DONE && !cells_create(&b->c, points, MPI_COMM_WORLD))
        status = program_fail(WRONG_USE, "1, 4, 9, 16, … ranks, and at least as many points as cells along an edge",
                              "%d ranks cannot share %d points as BT does: their number must be a square", b->c.ranks,
                              points);
    return status;
}

/* --- dumps ----------------------------------------------------------------------------------------------------------
 */

static void prepare(benchmark *b)
{
    const int64_t count = b->steps / b->every;
    solution_create(&b->s, &b->c);
    b->u = (stream_variable){.variable = cells_variable(&b->c), .blocks = b->c.count, .more = b->c.block};
    b->d.s = &b->s;
    b->d.packed = malloc(solution_packed_elements(&b->s) * sizeof(double) + 8);
    b->d.io.variable = &b->u;
    b->d.io.variables = 1;
    b->d.io.steps = count;
    b->norm = calloc((size_t)count + 1, sizeof *b->norm);
    b->fingerprint = calloc((size_t)count + 1, sizeof *b->fingerprint);
}

static void clean_up(benchmark *b)
{
    dumps_abandon(&b->d);
    stream_free(&b->d.io);
    free(b->norm);
    free(b->fingerprint);
    free(b->d.packed);
    if (b->s.now)
        solution_free(&b->s);
    if (b->c.at)
        cells_free(&b->c);
}

static int write_dump(benchmark *b, int64_t step)
{
    const int64_t n = b->d.io.step;
    const int status = dumps_write(&b->d, step);
    if (status != DONE)
        return status;
    aside_begin();
    solution_norm(&b->s, b->norm[n]);
    b->fingerprint[n] = b->u.fingerprint;
    aside_end();
    return DONE;
}

static int write_all(benchmark *b)
{
    int status = DONE;
    for (int64_t step = 1; step <= b->steps && status == DONE; step++) {
        solution_step(&b->s, b->work);
        if (step % b->every == 0)
            status = write_dump(b, step);
    }
    return status;
}

/* --- verification ---------------------------------------------------------------------------------------------------
 */

/* The benchmark accumulates the norms of what it reads. Their sums may be added up in another order here than when the
 * dump was written; the fingerprints have no such freedom. */
static bool same_norms(const double *a, const double *b)
{
    bool same = true;
    for (int m = 0; m < COMPONENTS; m++)
        same = same && fabs(a[m] - b[m]) <= 1e-12 * fabs(a[m]);
    return same;
}

static int read_dump(benchmark *b, bool *right)
{
    const int64_t n = b->d.io.step;
    double norm[COMPONENTS];
    const int status = dumps_read(&b->d, (n + 1) * b->every);
    if (status != DONE)
        return status;
    solution_norm(&b->s, norm);
    *right = *right && same_norms(norm, b->norm[n]);
    if (b->c.rank == 0 && policy.fingerprints)
        *right = *right && b->u.fingerprint == b->fingerprint[n];
    return DONE;
}

static int read_all(benchmark *b)
{
    bool right = true;
    int status = DONE;
    b->d.io.direction = "read";
    b->d.io.announced = false;
    b->d.io.step = 0;
    solution_clear(&b->s);
    while (b->d.io.step < b->d.io.steps && status == DONE)
        status = read_dump(b, &right);
    if (status != DONE)
        return status;
    MPI_Bcast(&right, 1, MPI_C_BOOL, 0, MPI_COMM_WORLD);
    record_check(b->d.io.name, "norms and fingerprints of all dumps read back are those of the solution", right);
    return right ? DONE : program_fail(FAILED, NULL, "'%s' does not hold what was dumped", b->d.io.path);
}

static int run(plan *p)
{
    benchmark b = {.steps = 0};
    int status = take_plan(&b, p);
    if (status == DONE) {
        prepare(&b);
        status = write_all(&b);
    }
    if (status == DONE && b.read && b.d.io.steps > 0)
        status = read_all(&b);
    clean_up(&b);
    return status;
}

int main(int count, char **words)
{
    return program_run(count, words, "btio", run);
}
