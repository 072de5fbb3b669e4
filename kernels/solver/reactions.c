#include "reactions.h"
#include "allocation.h"

#include <stdlib.h>

static void react(int cells, const double *restrict rate, double *restrict first,
                  double *restrict second)
{
    for (int x = 0; x < cells; x++) {
        const double turned = rate[x] * first[x] * second[x] / (1 + first[x] + second[x]);
        first[x] -= turned;
        second[x] += turned;
    }
}

static void relax(int cells, const double *restrict rate, double *restrict amount)
{
    for (int x = 0; x < cells; x++)
        amount[x] += rate[x] * (1 - amount[x]) / (1 + amount[x]);
}

static void round_of_row(struct model *model, int z, int y, const double *rate)
{
    const int cells = model->grid.count[X];
    double *row = &model->now.values[field_index(&model->grid, 0, z, y, 0)];
    const size_t next =
        field_index(&model->grid, 1, 0, 0, 0) - field_index(&model->grid, 0, 0, 0, 0);
    if (model->tracers == 1)
        relax(cells, rate, row);
    for (int index = 0; model->tracers > 1 && index < model->tracers; index++)
        react(cells, rate, row + (size_t)index * next,
              row + (size_t)((index + 1) % model->tracers) * next);
}

static void rates_of_row(const struct model *model, int z, int y, double *rate)
{
    const double *temperature =
        model->force.temperature ? &model->force.temperature[model_cell(model, z, y, 0)] : NULL;
    for (int x = 0; x < model->grid.count[X]; x++)
        rate[x] = REACTION_RATE * (temperature ? temperature[x] : 1);
}

void reactions_step(struct model *model)
{
    if (model->work == 0)
        return;
    double *rate = gridio_allocate((size_t)model->grid.count[X], sizeof *rate);
    for (int z = 0; z < model->grid.count[Z]; z++)
        for (int y = 0; y < model->grid.count[Y]; y++) {
            rates_of_row(model, z, y, rate);
            for (int round = 0; round < model->work; round++)
                round_of_row(model, z, y, rate);
        }
    free(rate);
}
