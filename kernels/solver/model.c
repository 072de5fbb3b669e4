#include "model.h"
#include "allocation.h"
#include "reactions.h"
#include "timing.h"
#include "transport.h"

#include <stdlib.h>

void model_create(struct model *model, int tracers)
{
    model->tracers = tracers;
    model->now = field_create(&model->grid, tracers);
    model->next = field_create(&model->grid, tracers);
    model->sides = halo_create(&model->grid, tracers);
    model->force.emission = gridio_allocate((size_t)tracers, sizeof *model->force.emission);
    model->step = 0;
}

void model_free(struct model *model)
{
    for (int index = 0; index < model->tracers; index++)
        free(model->force.emission[index]);
    free(model->force.emission);
    free(model->force.wind_x);
    free(model->force.wind_y);
    free(model->force.temperature);
    halo_free(&model->sides);
    free(model->now.values);
    free(model->next.values);
}

void model_initialize(struct model *model)
{
    const double start = MPI_Wtime();
    transport_initialize(&model->grid, &model->now);
    timing_computed(MPI_Wtime() - start);
    model_state_changed(model);
}

void model_state_changed(struct model *model)
{
    const double start = MPI_Wtime();
    halo_exchange(&model->grid, &model->sides, &model->now);
    timing_communicated(MPI_Wtime() - start);
}

static void emit(struct model *model)
{
    for (int index = 0; index < model->tracers; index++)
        for (int z = 0; model->force.emission[index] && z < model->grid.count[Z]; z++)
            for (int y = 0; y < model->grid.count[Y]; y++) {
                const double *emission = &model->force.emission[index][model_cell(model, z, y, 0)];
                double *values = &model->now.values[field_index(&model->grid, index, z, y, 0)];
                for (int x = 0; x < model->grid.count[X]; x++)
                    values[x] += EMISSION_PER_STEP * emission[x];
            }
}

void model_advance(struct model *model)
{
    const double start = MPI_Wtime();
    transport_step(&model->grid, &model->now, &model->next, model->force.wind_x,
                   model->force.wind_y);
    const struct field old = model->now;
    model->now = model->next;
    model->next = old;
    reactions_step(model);
    emit(model);
    model->step++;
    timing_computed(MPI_Wtime() - start);
    model_state_changed(model);
}
