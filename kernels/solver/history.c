#include "history.h"

#include <stdio.h>
#include <stdlib.h>

static gridio_block tile_block(const grid *g)
{
    gridio_block block = {{0}, {0}};
    for (int d = 0; d < 3; d++) {
        block.start[d] = g->start[d];
        block.count[d] = g->count[d];
    }
    return block;
}

static gridio_options file_options(const solver_options *options)
{
    return (gridio_options){.method = options->method, .format = options->format, .hints = options->hints};
}

static int define_tracers(history *h, const grid *g, int count)
{
    for (int v = 0; v < count; v++) {
        char name[32];
        int number;
        snprintf(name, sizeof name, "tracer_%d", v + 1);
        gridio_variable tracer = {
            .name = name, .units = "kg/kg", .type = GRIDIO_FLOAT64, .dimensions = 3, .tiled = true, .every_step = true};
        for (int d = 0; d < 3; d++)
            tracer.size[d] = g->size[d];
        if (gridio_define(h->file, &tracer, &number) != 0)
            return GRIDIO_FAILED;
        if (v == 0)
            h->tracers = number;
    }
    return 0;
}

static int define(history *h, const grid *g, int tracers)
{
    const gridio_variable height = {
        .name = "height", .units = "1", .type = GRIDIO_FLOAT64, .dimensions = 1, .size = {g->size[Z]}};
    const gridio_variable time = {.name = "time", .units = "steps", .type = GRIDIO_FLOAT64, .every_step = true};
    if (gridio_define(h->file, &height, &h->height) != 0 || gridio_define(h->file, &time, &h->time) != 0)
        return GRIDIO_FAILED;
    if (define_tracers(h, g, tracers) != 0)
        return GRIDIO_FAILED;
    return gridio_end_definitions(h->file);
}

/* Middles of the layers, as a share of the whole height. */
static int write_height(history *h, const grid *g)
{
    double *height = malloc((size_t)g->size[Z] * sizeof *height);
    for (int z = 0; z < g->size[Z]; z++)
        height[z] = (z + 0.5) / g->size[Z];
    int status = gridio_write(h->file, h->height, 0, NULL, height);
    free(height);
    return status;
}

int history_create(history *h, const grid *g, const solver_options *options)
{
    const double start = MPI_Wtime();
    const gridio_options how = file_options(options);
    *h = (history){.count = options->variables, .block = tile_block(g), .sync = options->sync};
    h->tile = malloc((size_t)g->count[Z] * (size_t)g->count[Y] * (size_t)g->count[X] * sizeof *h->tile);
    int status = gridio_open(&h->file, options->path, GRIDIO_WRITE, &how, g->comm);
    if (status == 0)
        status = define(h, g, options->variables);
    if (status == 0)
        status = write_height(h, g);
    if (status != 0 && h->file)
        gridio_close(&h->file);
    if (status != 0)
        free(h->tile);
    h->seconds += MPI_Wtime() - start;
    return status;
}

int history_write(history *h, const grid *g, const field *f, int64_t output, double time)
{
    const double start = MPI_Wtime();
    int status = gridio_write(h->file, h->time, output, NULL, &time);
    for (int v = 0; v < h->count && status == 0; v++) {
        field_copy_tile(g, f, v, h->tile);
        status = gridio_write(h->file, h->tracers + v, output, &h->block, h->tile);
    }
    if (status == 0 && h->sync)
        status = gridio_sync(h->file);
    h->seconds += MPI_Wtime() - start;
    h->bytes += (int64_t)h->count * g->size[Z] * g->size[Y] * g->size[X] * (int64_t)sizeof(double);
    return status;
}

int history_close(history *h)
{
    const double start = MPI_Wtime();
    int status = gridio_close(&h->file);
    free(h->tile);
    h->seconds += MPI_Wtime() - start;
    return status;
}

static int64_t cells_that_differ(const grid *g, const field *f, int variable, const double *tile)
{
    int64_t differ = 0;
    for (int z = 0; z < g->count[Z]; z++)
        for (int y = 0; y < g->count[Y]; y++)
            for (int x = 0; x < g->count[X]; x++)
                differ += *tile++ != f->values[field_index(g, variable, z, y, x)];
    return differ;
}

int history_verify(const grid *g, const solver_options *options, const field *f, int64_t output, int64_t *differ)
{
    const gridio_options how = file_options(options);
    const gridio_block block = tile_block(g);
    gridio_file *file;
    int64_t here = 0;
    int status = 0;
    if (gridio_open(&file, options->path, GRIDIO_READ, &how, g->comm) != 0)
        return GRIDIO_FAILED;
    double *tile = malloc((size_t)g->count[Z] * (size_t)g->count[Y] * (size_t)g->count[X] * sizeof *tile);
    const int first = gridio_variables(file) - f->variables;
    for (int v = 0; v < f->variables && status == 0; v++) {
        status = gridio_read(file, first + v, output, &block, tile);
        here += cells_that_differ(g, f, v, tile);
    }
    free(tile);
    MPI_Allreduce(&here, differ, 1, MPI_INT64_T, MPI_SUM, g->comm);
    return gridio_close(&file) == 0 ? status : GRIDIO_FAILED;
}
