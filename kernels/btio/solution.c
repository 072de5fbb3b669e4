#include "solution.h"
#include "timing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TO_SUCCESSOR, TO_PREDECESSOR, FROM_SUCCESSOR, FROM_PREDECESSOR };

static int largest(const struct cells *cells, int direction)
{
    int most = 0;
    for (int n = 0; n < cells->count; n++)
        most = cells->size[n][direction] > most ? cells->size[n][direction] : most;
    return most;
}

/* --- values --- */

/* The polynomial at a point, x, y and z from 0 to 1. */
static double exact(int component, double x, double y, double z)
{
    const double constant = 1 + 0.5 * component, slope = 0.25 * (component + 1),
                 bend = 0.125 * (COMPONENTS - component);
    return constant + x * (slope + x * (bend - 0.3 * x)) + y * (bend + y * (0.2 - slope * y)) +
           z * (slope - z * (bend + 0.1 * z)) + 0.05 * x * y * z;
}

static double place(const struct cells *cells, int point)
{
    return cells->points > 1 ? (double)point / (cells->points - 1) : 0;
}

static bool is_boundary(const struct cells *cells, int z, int y, int x)
{
    const int last = cells->points - 1;
    return x == 0 || y == 0 || z == 0 || x == last || y == last || z == last;
}

/* A row of a cell's points: where it is in the whole cube, and in memory. */
struct row {
    int cell, z, y;    /* in the cell */
    double at_z, at_y; /* from 0 to 1 */
    int low_x, cells_x;
    size_t index;
};

static struct row row_of(const struct solution *solution, int cell, int z, int y)
{
    const struct cells *cells = solution->cells;
    return (struct row){.cell = cell,
                        .z = cells->low[cell][CELL_Z] + z,
                        .y = cells->low[cell][CELL_Y] + y,
                        .at_z = place(cells, cells->low[cell][CELL_Z] + z),
                        .at_y = place(cells, cells->low[cell][CELL_Y] + y),
                        .low_x = cells->low[cell][CELL_X],
                        .cells_x = cells->size[cell][CELL_X],
                        .index = solution_index(solution, cell, z, y, 0)};
}

static void for_rows(const struct solution *solution,
                     void (*visit)(const struct solution *solution, const struct row *row,
                                   void *context),
                     void *context)
{
    for (int n = 0; n < solution->cells->count; n++)
        for (int z = 0; z < solution->cells->size[n][CELL_Z]; z++)
            for (int y = 0; y < solution->cells->size[n][CELL_Y]; y++) {
                const struct row row = row_of(solution, n, z, y);
                visit(solution, &row, context);
            }
}

/* On the boundary the polynomial; inside half of it, which relaxes to it. */
static void initialize_row(const struct solution *solution, const struct row *row, void *context)
{
    double *to = solution->now + row->index;
    (void)context;
    for (int x = 0; x < row->cells_x; x++)
        for (int component = 0; component < COMPONENTS; component++) {
            const double value =
                exact(component, place(solution->cells, row->low_x + x), row->at_y, row->at_z);
            *to++ =
                is_boundary(solution->cells, row->z, row->y, row->low_x + x) ? value : 0.5 * value;
        }
}

/* The most elements that all cells' faces on one side can have. */
static size_t faces_of_all_cells(const struct solution *solution)
{
    size_t most = 0;
    for (int axis = 0; axis < 3; axis++) {
        const size_t points = (size_t)solution->edge[axis] * (size_t)solution->edge[(axis + 1) % 3];
        most = points > most ? points : most;
    }
    return most * COMPONENTS * (size_t)solution->cells->count;
}

bool solution_create(struct solution *solution, const struct cells *cells)
{
    *solution = (struct solution){.cells = cells};
    for (int axis = 0; axis < 3; axis++)
        solution->edge[axis] = largest(cells, axis) + 2;
    solution->cell_room = (size_t)solution->edge[0] * (size_t)solution->edge[1] *
                          (size_t)solution->edge[2] * COMPONENTS;
    solution->now = calloc(solution->cell_room * (size_t)cells->count, sizeof *solution->now);
    solution->next = calloc(solution->cell_room * (size_t)cells->count, sizeof *solution->next);
    solution->face_room = faces_of_all_cells(solution);
    for (int i = 0; i < 4; i++)
        solution->faces[i] = malloc(solution->face_room * sizeof **solution->faces);
    bool enough = solution->now && solution->next;
    for (int i = 0; i < 4; i++)
        enough = enough && solution->faces[i];
    if (enough)
        for_rows(solution, initialize_row, NULL);
    return enough;
}

void solution_free(struct solution *solution)
{
    for (int i = 0; i < 4; i++)
        free(solution->faces[i]);
    free(solution->now);
    free(solution->next);
}

/* --- faces --- */

/* One face of a cell: its points with `at` along `direction`, between u and buffer; gives the
 * elements moved. */
static size_t move_face(struct solution *solution, int cell, int direction, int at, double *buffer,
                        bool out)
{
    int from[3] = {0, 0, 0}, to[3];
    size_t moved = 0;
    memcpy(to, solution->cells->size[cell], sizeof to);
    from[direction] = at;
    to[direction] = at + 1;
    for (int z = from[CELL_Z]; z < to[CELL_Z]; z++)
        for (int y = from[CELL_Y]; y < to[CELL_Y]; y++) {
            double *row = solution->now + solution_index(solution, cell, z, y, from[CELL_X]);
            const size_t elements = (size_t)(to[CELL_X] - from[CELL_X]) * COMPONENTS;
            memcpy(out ? buffer + moved : row, out ? row : buffer + moved, elements * sizeof *row);
            moved += elements;
        }
    return moved;
}

/* All cells' faces on one side, those at the cube's own boundary left out. Cells are taken in the
 * order of their place along the direction, which is the neighbour's order too. */
static int move_faces(struct solution *solution, int direction, bool high, bool out, double *buffer)
{
    const int edge = solution->cells->count;
    size_t moved = 0;
    for (int layer = 0; layer < edge; layer++)
        for (int n = 0; n < edge; n++) {
            const int last = solution->cells->size[n][direction] - 1,
                      at = out ? (high ? last : 0) : (high ? last + 1 : -1);
            if (solution->cells->at[n][direction] == layer && layer != (high ? edge - 1 : 0))
                moved += move_face(solution, n, direction, at, buffer + moved, out);
        }
    return (int)moved;
}

static void exchange(struct solution *solution, int direction)
{
    const int next = solution->cells->successor[direction],
              before = solution->cells->predecessor[direction];
    const int room = (int)solution->face_room;
    const int up = move_faces(solution, direction, true, true, solution->faces[TO_SUCCESSOR]);
    const int down = move_faces(solution, direction, false, true, solution->faces[TO_PREDECESSOR]);
    MPI_Request requests[4];
    MPI_Irecv(solution->faces[FROM_PREDECESSOR], room, MPI_DOUBLE, before, 0, solution->cells->comm,
              &requests[0]);
    MPI_Irecv(solution->faces[FROM_SUCCESSOR], room, MPI_DOUBLE, next, 1, solution->cells->comm,
              &requests[1]);
    MPI_Isend(solution->faces[TO_SUCCESSOR], up, MPI_DOUBLE, next, 0, solution->cells->comm,
              &requests[2]);
    MPI_Isend(solution->faces[TO_PREDECESSOR], down, MPI_DOUBLE, before, 1, solution->cells->comm,
              &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    move_faces(solution, direction, false, false, solution->faces[FROM_PREDECESSOR]);
    move_faces(solution, direction, true, false, solution->faces[FROM_SUCCESSOR]);
}

/* --- one step --- */

static void react(double *values, const double *target, int work)
{
    for (int round = 0; round < work; round++)
        for (int component = 0; component < COMPONENTS; component++) {
            const double next = values[(component + 1) % COMPONENTS];
            values[component] += COUPLING * (target[component] - values[component]) *
                                 (1 + next * next) / (2 + next * next);
        }
}

static void step_point(const struct solution *solution, size_t at, const double *target, int work)
{
    const size_t row_room = (size_t)solution->edge[CELL_X] * COMPONENTS,
                 plane = row_room * (size_t)solution->edge[CELL_Y];
    const double *old = solution->now + at;
    double *result = solution->next + at;
    for (int component = 0; component < COMPONENTS; component++) {
        const double x = (old + component)[-COMPONENTS] + (old + component)[COMPONENTS],
                     y = *(old + component - row_room) + (old + component)[row_room];
        const double z = *(old + component - plane) + (old + component)[plane];
        result[component] = old[component] + DIFFUSION * (x + y + z - 6 * old[component]);
    }
    react(result, target, work);
}

static void step_row(const struct solution *solution, const struct row *row, void *context)
{
    const int work = *(const int *)context;
    for (int x = 0; x < row->cells_x; x++) {
        const size_t at = row->index + (size_t)x * COMPONENTS;
        double target[COMPONENTS];
        if (is_boundary(solution->cells, row->z, row->y, row->low_x + x)) {
            memcpy(solution->next + at, solution->now + at, sizeof target);
            continue;
        }
        for (int component = 0; component < COMPONENTS; component++)
            target[component] =
                exact(component, place(solution->cells, row->low_x + x), row->at_y, row->at_z);
        step_point(solution, at, target, work);
    }
}

void solution_step(struct solution *solution, int work)
{
    const double start = MPI_Wtime();
    for (int axis = 0; axis < 3; axis++)
        exchange(solution, axis);
    const double exchanged = MPI_Wtime();
    for_rows(solution, step_row, &work);
    double *old = solution->now;
    solution->now = solution->next;
    solution->next = old;
    timing_communicated(exchanged - start);
    timing_computed(MPI_Wtime() - exchanged);
}

/* --- to and from dumps --- */

size_t solution_packed_elements(const struct solution *solution)
{
    size_t elements = 0;
    for (int n = 0; n < solution->cells->count; n++)
        elements += (size_t)solution->cells->size[n][0] * (size_t)solution->cells->size[n][1] *
                    (size_t)solution->cells->size[n][2] * COMPONENTS;
    return elements;
}

static void pack_row(const struct solution *solution, const struct row *row, void *context)
{
    double **to = context;
    memcpy(*to, solution->now + row->index, (size_t)row->cells_x * COMPONENTS * sizeof **to);
    *to += (size_t)row->cells_x * COMPONENTS;
}

static void unpack_row(const struct solution *solution, const struct row *row, void *context)
{
    const double **from = context;
    memcpy(solution->now + row->index, *from, (size_t)row->cells_x * COMPONENTS * sizeof **from);
    *from += (size_t)row->cells_x * COMPONENTS;
}

void solution_pack(const struct solution *solution, double *to)
{
    for_rows(solution, pack_row, &to);
}

void solution_unpack(struct solution *solution, const double *from)
{
    for_rows(solution, unpack_row, &from);
}

void solution_clear(struct solution *solution)
{
    memset(solution->now, 0,
           solution->cell_room * (size_t)solution->cells->count * sizeof *solution->now);
}

static void add_squares(const struct solution *solution, const struct row *row, void *context)
{
    double *sum = context;
    const double *values = solution->now + row->index;
    for (int x = 0; x < row->cells_x; x++)
        for (int component = 0; component < COMPONENTS; component++) {
            const double off = *values++ - exact(component, place(solution->cells, row->low_x + x),
                                                 row->at_y, row->at_z);
            sum[component] += off * off;
        }
}

void solution_norm(const struct solution *solution, double norm[COMPONENTS])
{
    const double points =
        (double)solution->cells->points * solution->cells->points * solution->cells->points;
    double sum[COMPONENTS] = {0};
    for_rows(solution, add_squares, sum);
    MPI_Allreduce(sum, norm, COMPONENTS, MPI_DOUBLE, MPI_SUM, solution->cells->comm);
    for (int component = 0; component < COMPONENTS; component++)
        norm[component] = sqrt(norm[component] / points);
}
