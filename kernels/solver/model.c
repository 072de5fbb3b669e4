#include "model.h"
#include "reactions.h"
#include "timing.h"
#include "transport.h"

#include <stdlib.h>

void model_create(model *m, int tracers)
{
    m->tracers = tracers;
    m->now = field_create(&m->g, tracers);
    m->next = field_create(&m->g, tracers);
    m->sides = halo_create(&m->g, tracers);
    m->force.emission = calloc((size_t)tracers, sizeof *m->force.emission);
    m->step = 0;
}

void model_free(model *m)
{
    for (int v = 0; v < m->tracers; v++)
        free(m->force.emission[v]);
    free(m->force.emission);
    free(m->force.wind_x);
    free(m->force.wind_y);
    free(m->force.temperature);
    halo_free(&m->sides);
    free(m->now.values);
    free(m->next.values);
}

void model_initialize(model *m)
{
    const double start = MPI_Wtime();
    transport_initialize(&m->g, &m->now);
    timing_computed(MPI_Wtime() - start);
    model_state_changed(m);
}

void model_state_changed(model *m)
{
    const double start = MPI_Wtime();
    halo_exchange(&m->g, &m->sides, &m->now);
    timing_communicated(MPI_Wtime() - start);
}

static void emit(model *m)
{
    for (int v = 0; v < m->tracers; v++)
        for (int z = 0; m->force.emission[v] && z < m->g.count[Z]; z++)
            for (int y = 0; y < m->g.count[Y]; y++) {
                const double *emission = &m->force.emission[v][model_cell(m, z, y, 0)];
                double *values = &m->now.values[field_index(&m->g, v, z, y, 0)];
                for (int x = 0; x < m->g.count[X]; x++)
                    values[x] += EMISSION_PER_STEP * emission[x];
            }
}

void model_advance(model *m)
{
    const double start = MPI_Wtime();
    transport_step(&m->g, &m->now, &m->next, m->force.wind_x, m->force.wind_y);
    const field old = m->now;
    m->now = m->next;
    m->next = old;
    reactions_step(m);
    emit(m);
    m->step++;
    timing_computed(MPI_Wtime() - start);
    model_state_changed(m);
}
