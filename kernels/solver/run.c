#include "run.h"
#include "program.h"

#include <stdlib.h>
#include <string.h>

/* --- from the plan --------------------------------------------------------------------------------------------------
 */

/* x, y, z as plans have them to z, y, x. */
static bool take_grid(run *r, plan *p)
{
    int64_t xyz[3] = {0, 0, 0}, tiles[2] = {0, 0};
    if (!plan_sizes(p, &p->section[0], "grid", 3, xyz))
        plan_must(p, &p->section[0], "grid");
    plan_sizes(p, &p->section[0], "tiles", 2, tiles);
    const int size[3] = {(int)xyz[2], (int)xyz[1], (int)xyz[0]}, shares[2] = {(int)tiles[1], (int)tiles[0]};
    return p->problem[0] == '\0' && grid_create(&r->m.g, size, shares, MPI_COMM_WORLD);
}

static int take_sections(run *r, plan *p)
{
    r->outputs = calloc((size_t)p->sections, sizeof *r->outputs);
    r->inputs = calloc((size_t)p->sections, sizeof *r->inputs);
    for (int s = 1; s < p->sections; s++) {
        plan_section *section = &p->section[s];
        if (strcmp(section->kind, "output") == 0)
            output_from_plan(&r->outputs[r->outputs_count++], p, section, &r->m);
        else if (strcmp(section->kind, "input") == 0)
            input_from_plan(&r->inputs[r->inputs_count++], p, section, &r->m, r->prepare);
        else if (!r->from) {
            r->from = malloc(sizeof *r->from);
            restart_from_plan(r->from, p, section, &r->m);
        } else
            plan_wrong(p, &(plan_entry){.key = "restart", .line = section->line}, "is given twice");
    }
    return program_fail_plan(p);
}

int run_from_plan(run *r, plan *p)
{
    plan_section *own = &p->section[0];
    *r = (run){.outputs = NULL};
    r->prepare = plan_choice(p, own, "task", "run|prepare", 0) == 1;
    r->steps = plan_number(p, own, "steps", 1, 1000000000, PLAN_MUST);
    r->m.step_s = (double)plan_number(p, own, "step_s", 1, 1000000000, 300);
    r->m.work = (int)plan_number(p, own, "work", 0, 1000000, 0);
    const int tracers = (int)plan_number(p, own, "tracers", 1, 1000, 2);
    if (!take_grid(r, p))
        return p->problem[0] != '\0' ? program_fail_plan(p)
                                     : program_fail(WRONG_USE, "fewer ranks, other tiles or a larger grid",
                                                    "the ranks cannot be laid out so that each has a cell");
    model_create(&r->m, tracers);
    return take_sections(r, p);
}

void run_free(run *r)
{
    for (int i = 0; i < r->outputs_count; i++)
        output_free(&r->outputs[i]);
    for (int i = 0; i < r->inputs_count; i++)
        input_free(&r->inputs[i]);
    if (r->from)
        restart_free(r->from);
    free(r->outputs);
    free(r->inputs);
    free(r->from);
    if (!r->m.now.values)
        return;
    model_free(&r->m);
    grid_free(&r->m.g);
}

/* --- the run --------------------------------------------------------------------------------------------------------
 */

static int first_state(run *r)
{
    if (r->from && !r->prepare)
        return restart_read(r->from, &r->m);
    model_initialize(&r->m);
    return DONE;
}

static int start(run *r)
{
    const int64_t first = r->m.step, last = first + r->steps;
    int status = DONE;
    for (int i = 0; i < r->inputs_count; i++) {
        input_start(&r->inputs[i], first, last);
        input_prepare(&r->inputs[i]);
    }
    for (int i = 0; i < r->outputs_count && status == DONE; i++) {
        status = output_start(&r->outputs[i], first, last);
        output_prepare(&r->outputs[i]);
    }
    return status;
}

static int write_outputs(run *r)
{
    int status = DONE;
    for (int i = 0; i < r->outputs_count && status == DONE; i++) {
        bool wrote;
        status = output_after_step(&r->outputs[i], &r->m, &wrote);
        if (i == 0 && wrote && status == DONE && r->written)
            r->written(r);
    }
    return status;
}

static int one_step(run *r)
{
    int status = DONE;
    for (int i = 0; i < r->inputs_count && status == DONE; i++)
        status = input_before_step(&r->inputs[i], &r->m);
    if (status != DONE)
        return status;
    model_advance(&r->m);
    return write_outputs(r);
}

static int all_steps(run *r)
{
    int status = DONE;
    for (int i = 0; i < r->outputs_count && status == DONE; i++)
        status = output_initial(&r->outputs[i], &r->m);
    for (int64_t step = 0; step < r->steps && status == DONE; step++)
        status = one_step(r);
    for (int i = 0; i < r->outputs_count && status == DONE; i++)
        status = output_read_back(&r->outputs[i], &r->m);
    return status;
}

static int prepare_inputs(run *r)
{
    int status = DONE;
    for (int i = 0; i < r->inputs_count && status == DONE; i++)
        status = input_write_all(&r->inputs[i], &r->m);
    return status;
}

int run_all(run *r)
{
    int status = first_state(r);
    if (status == DONE)
        status = start(r);
    if (status == DONE)
        status = r->prepare ? prepare_inputs(r) : all_steps(r);
    return status;
}
