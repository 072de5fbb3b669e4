#include "reactions.h"

#include <stdlib.h>

static void react(int cells, const double *restrict rate, double *restrict a, double *restrict b)
{
    for (int x = 0; x < cells; x++) {
        const double turned = rate[x] * a[x] * b[x] / (1 + a[x] + b[x]);
        a[x] -= turned;
        b[x] += turned;
    }
}

static void relax(int cells, const double *restrict rate, double *restrict a)
{
    for (int x = 0; x < cells; x++)
        a[x] += rate[x] * (1 - a[x]) / (1 + a[x]);
}

static void round_of_row(model *m, int z, int y, const double *rate)
{
    const int cells = m->g.count[X];
    double *row = &m->now.values[field_index(&m->g, 0, z, y, 0)];
    const size_t next = field_index(&m->g, 1, 0, 0, 0) - field_index(&m->g, 0, 0, 0, 0);
    if (m->tracers == 1)
        relax(cells, rate, row);
    for (int v = 0; m->tracers > 1 && v < m->tracers; v++)
        react(cells, rate, row + (size_t)v * next, row + (size_t)((v + 1) % m->tracers) * next);
}

static void rates_of_row(const model *m, int z, int y, double *rate)
{
    const double *temperature = m->force.temperature ? &m->force.temperature[model_cell(m, z, y, 0)] : NULL;
    for (int x = 0; x < m->g.count[X]; x++)
        rate[x] = REACTION_RATE * (temperature ? temperature[x] : 1);
}

void reactions_step(model *m)
{
    if (m->work == 0)
        return;
    double *rate = malloc((size_t)m->g.count[X] * sizeof *rate);
    for (int z = 0; z < m->g.count[Z]; z++)
        for (int y = 0; y < m->g.count[Y]; y++) {
            rates_of_row(m, z, y, rate);
            for (int round = 0; round < m->work; round++)
                round_of_row(m, z, y, rate);
        }
    free(rate);
}
