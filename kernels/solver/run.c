#include "run.h"
#include "allocation.h"
#include "program.h"

#include <stdlib.h>
#include <string.h>

/* --- from the plan --- */

/* x, y, z as plans have them to z, y, x. */
static bool take_grid(struct run *run, struct plan *plan)
{
    int64_t xyz[3] = {0, 0, 0}, tiles[2] = {0, 0};
    if (!plan_sizes(plan, &plan->section[0], "grid", 3, xyz))
        plan_must(plan, &plan->section[0], "grid");
    plan_sizes(plan, &plan->section[0], "tiles", 2, tiles);
    const int size[3] = {(int)xyz[2], (int)xyz[1], (int)xyz[0]},
              shares[2] = {(int)tiles[1], (int)tiles[0]};
    return plan->problem[0] == '\0' && grid_create(&run->model.grid, size, shares, MPI_COMM_WORLD);
}

static int take_sections(struct run *run, struct plan *plan)
{
    run->outputs = gridio_allocate((size_t)plan->sections, sizeof *run->outputs);
    run->inputs = gridio_allocate((size_t)plan->sections, sizeof *run->inputs);
    for (int i = 1; i < plan->sections; i++) {
        struct plan_section *section = &plan->section[i];
        if (strcmp(section->kind, "output") == 0)
            output_from_plan(&run->outputs[run->outputs_count++], plan, section, &run->model);
        else if (strcmp(section->kind, "input") == 0)
            input_from_plan(&run->inputs[run->inputs_count++], plan, section, &run->model,
                            run->prepare);
        else if (!run->from) {
            run->from = gridio_allocate(1, sizeof *run->from);
            restart_from_plan(run->from, plan, section, &run->model);
        } else
            plan_wrong(plan, &(struct plan_entry){.key = "restart", .line = section->line},
                       "is given twice");
    }
    return program_fail_plan(plan);
}

int run_from_plan(struct run *run, struct plan *plan)
{
    struct plan_section *own = &plan->section[0];
    *run = (struct run){.outputs = NULL};
    run->prepare = plan_choice(plan, own, "task", "run|prepare", 0) == 1;
    run->steps = plan_number(plan, own, "steps", 1, 1000000000, PLAN_MUST);
    run->model.step_s = (double)plan_number(plan, own, "step_s", 1, 1000000000, 300);
    run->model.work = (int)plan_number(plan, own, "work", 0, 1000000, 0);
    const int tracers = (int)plan_number(plan, own, "tracers", 1, 1000, 2);
    if (!take_grid(run, plan))
        return plan->problem[0] != '\0'
                   ? program_fail_plan(plan)
                   : program_fail(WRONG_USE, "fewer ranks, other tiles or a larger grid",
                                  "the ranks cannot be laid out so that each has a cell");
    model_create(&run->model, tracers);
    return take_sections(run, plan);
}

void run_free(struct run *run)
{
    for (int i = 0; i < run->outputs_count; i++)
        output_free(&run->outputs[i]);
    for (int i = 0; i < run->inputs_count; i++)
        input_free(&run->inputs[i]);
    if (run->from)
        restart_free(run->from);
    free(run->outputs);
    free(run->inputs);
    free(run->from);
    if (!run->model.now.values)
        return;
    model_free(&run->model);
    grid_free(&run->model.grid);
}

/* --- the run --- */

static int first_state(struct run *run)
{
    if (run->from && !run->prepare)
        return restart_read(run->from, &run->model);
    model_initialize(&run->model);
    return DONE;
}

static int start(struct run *run)
{
    const int64_t first = run->model.step, last = first + run->steps;
    int status = DONE;
    for (int i = 0; i < run->inputs_count; i++) {
        input_start(&run->inputs[i], first, last);
        input_prepare(&run->inputs[i]);
    }
    for (int i = 0; i < run->outputs_count && status == DONE; i++) {
        status = output_start(&run->outputs[i], first, last);
        output_prepare(&run->outputs[i]);
    }
    return status;
}

static int write_outputs(struct run *run)
{
    int status = DONE;
    for (int i = 0; i < run->outputs_count && status == DONE; i++) {
        bool wrote;
        status = output_after_step(&run->outputs[i], &run->model, &wrote);
        if (i == 0 && wrote && status == DONE && run->written)
            run->written(run);
    }
    return status;
}

static int one_step(struct run *run)
{
    int status = DONE;
    for (int i = 0; i < run->inputs_count && status == DONE; i++)
        status = input_before_step(&run->inputs[i], &run->model);
    if (status != DONE)
        return status;
    model_advance(&run->model);
    return write_outputs(run);
}

static int all_steps(struct run *run)
{
    int status = DONE;
    for (int i = 0; i < run->outputs_count && status == DONE; i++)
        status = output_initial(&run->outputs[i], &run->model);
    for (int64_t step = 0; step < run->steps && status == DONE; step++)
        status = one_step(run);
    for (int i = 0; i < run->outputs_count && status == DONE; i++)
        status = output_read_back(&run->outputs[i], &run->model);
    return status;
}

static int prepare_inputs(struct run *run)
{
    int status = DONE;
    for (int i = 0; i < run->inputs_count && status == DONE; i++)
        status = input_write_all(&run->inputs[i], &run->model);
    return status;
}

int run_all(struct run *run)
{
    int status = first_state(run);
    if (status == DONE)
        status = start(run);
    if (status == DONE)
        status = run->prepare ? prepare_inputs(run) : all_steps(run);
    return status;
}
