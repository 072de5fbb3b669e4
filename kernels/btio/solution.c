#include "solution.h"
#include "timing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TO_SUCCESSOR, TO_PREDECESSOR, FROM_SUCCESSOR, FROM_PREDECESSOR };

static int largest(const cells *c, int direction)
{
    int most = 0;
    for (int n = 0; n < c->count; n++)
        most = c->size[n][direction] > most ? c->size[n][direction] : most;
    return most;
}

/* --- values ---------------------------------------------------------------------------------------------------------
 */

/* The polynomial at a point, x, y and z from 0 to 1. */
static double exact(int m, double x, double y, double z)
{
    const double a = 1 + 0.5 * m, b = 0.25 * (m + 1), e = 0.125 * (COMPONENTS - m);
    return a + x * (b + x * (e - 0.3 * x)) + y * (e + y * (0.2 - b * y)) + z * (b - z * (e + 0.1 * z)) +
           0.05 * x * y * z;
}

static double place(const cells *c, int point)
{
    return c->points > 1 ? (double)point / (c->points - 1) : 0;
}

static bool is_boundary(const cells *c, int z, int y, int x)
{
    const int last = c->points - 1;
    return x == 0 || y == 0 || z == 0 || x == last || y == last || z == last;
}

/* A row of a cell's points: where it is in the whole cube, and in memory. */
typedef struct {
    int cell, z, y;    /* in the cell */
    double at_z, at_y; /* from 0 to 1 */
    int low_x, cells_x;
    size_t index;
} row;

static row row_of(const solution *s, int cell, int z, int y)
{
    const cells *c = s->c;
    return (row){.cell = cell,
                 .z = c->low[cell][CELL_Z] + z,
                 .y = c->low[cell][CELL_Y] + y,
                 .at_z = place(c, c->low[cell][CELL_Z] + z),
                 .at_y = place(c, c->low[cell][CELL_Y] + y),
                 .low_x = c->low[cell][CELL_X],
                 .cells_x = c->size[cell][CELL_X],
                 .index = solution_index(s, cell, z, y, 0)};
}

static void for_rows(const solution *s, void (*visit)(const solution *s, const row *r, void *context), void *context)
{
    for (int n = 0; n < s->c->count; n++)
        for (int z = 0; z < s->c->size[n][CELL_Z]; z++)
            for (int y = 0; y < s->c->size[n][CELL_Y]; y++) {
                const row r = row_of(s, n, z, y);
                visit(s, &r, context);
            }
}

/* On the boundary the polynomial; inside half of it, which relaxes to it. */
static void initialize_row(const solution *s, const row *r, void *context)
{
    double *u = s->now + r->index;
    (void)context;
    for (int x = 0; x < r->cells_x; x++)
        for (int m = 0; m < COMPONENTS; m++) {
            const double value = exact(m, place(s->c, r->low_x + x), r->at_y, r->at_z);
            *u++ = is_boundary(s->c, r->z, r->y, r->low_x + x) ? value : 0.5 * value;
        }
}

/* The most elements that all cells' faces on one side can have. */
static size_t faces_of_all_cells(const solution *s)
{
    size_t most = 0;
    for (int d = 0; d < 3; d++) {
        const size_t points = (size_t)s->edge[d] * (size_t)s->edge[(d + 1) % 3];
        most = points > most ? points : most;
    }
    return most * COMPONENTS * (size_t)s->c->count;
}

void solution_create(solution *s, const cells *c)
{
    *s = (solution){.c = c};
    for (int d = 0; d < 3; d++)
        s->edge[d] = largest(c, d) + 2;
    s->cell_room = (size_t)s->edge[0] * (size_t)s->edge[1] * (size_t)s->edge[2] * COMPONENTS;
    s->now = calloc(s->cell_room * (size_t)c->count, sizeof *s->now);
    s->next = calloc(s->cell_room * (size_t)c->count, sizeof *s->next);
    s->face_room = faces_of_all_cells(s);
    for (int f = 0; f < 4; f++)
        s->faces[f] = malloc(s->face_room * sizeof **s->faces);
    for_rows(s, initialize_row, NULL);
}

void solution_free(solution *s)
{
    for (int f = 0; f < 4; f++)
        free(s->faces[f]);
    free(s->now);
    free(s->next);
}

/* --- faces ----------------------------------------------------------------------------------------------------------
 */

/* One face of a cell: its points with `at` along `direction`, between u and buffer; gives the elements moved. */
static size_t move_face(solution *s, int cell, int direction, int at, double *buffer, bool out)
{
    int from[3] = {0, 0, 0}, to[3];
    size_t moved = 0;
    memcpy(to, s->c->size[cell], sizeof to);
    from[direction] = at;
    to[direction] = at + 1;
    for (int z = from[CELL_Z]; z < to[CELL_Z]; z++)
        for (int y = from[CELL_Y]; y < to[CELL_Y]; y++) {
            double *u = s->now + solution_index(s, cell, z, y, from[CELL_X]);
            const size_t elements = (size_t)(to[CELL_X] - from[CELL_X]) * COMPONENTS;
            memcpy(out ? buffer + moved : u, out ? u : buffer + moved, elements * sizeof *u);
            moved += elements;
        }
    return moved;
}

/* All cells' faces on one side, those at the cube's own boundary left out. Cells are taken in the order of their place
 * along the direction, which is the neighbour's order too. */
static int move_faces(solution *s, int direction, bool high, bool out, double *buffer)
{
    const int p = s->c->count;
    size_t moved = 0;
    for (int layer = 0; layer < p; layer++)
        for (int n = 0; n < p; n++) {
            const int last = s->c->size[n][direction] - 1, at = out ? (high ? last : 0) : (high ? last + 1 : -1);
            if (s->c->at[n][direction] == layer && layer != (high ? p - 1 : 0))
                moved += move_face(s, n, direction, at, buffer + moved, out);
        }
    return (int)moved;
}

static void exchange(solution *s, int direction)
{
    const int next = s->c->successor[direction], before = s->c->predecessor[direction];
    const int room = (int)s->face_room;
    const int up = move_faces(s, direction, true, true, s->faces[TO_SUCCESSOR]);
    const int down = move_faces(s, direction, false, true, s->faces[TO_PREDECESSOR]);
    MPI_Request requests[4];
    MPI_Irecv(s->faces[FROM_PREDECESSOR], room, MPI_DOUBLE, before, 0, s->c->comm, &requests[0]);
    MPI_Irecv(s->faces[FROM_SUCCESSOR], room, MPI_DOUBLE, next, 1, s->c->comm, &requests[1]);
    MPI_Isend(s->faces[TO_SUCCESSOR], up, MPI_DOUBLE, next, 0, s->c->comm, &requests[2]);
    MPI_Isend(s->faces[TO_PREDECESSOR], down, MPI_DOUBLE, before, 1, s->c->comm, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    move_faces(s, direction, false, false, s->faces[FROM_PREDECESSOR]);
    move_faces(s, direction, true, false, s->faces[FROM_SUCCESSOR]);
}

/* --- one step -------------------------------------------------------------------------------------------------------
 */

static void react(double *u, const double *target, int work)
{
    for (int round = 0; round < work; round++)
        for (int m = 0; m < COMPONENTS; m++) {
            const double v = u[(m + 1) % COMPONENTS];
            u[m] += COUPLING * (target[m] - u[m]) * (1 + v * v) / (2 + v * v);
        }
}

static void step_point(const solution *s, size_t at, const double *target, int work)
{
    const size_t row_room = (size_t)s->edge[CELL_X] * COMPONENTS, plane = row_room * (size_t)s->edge[CELL_Y];
    const double *u = s->now + at;
    double *result = s->next + at;
    for (int m = 0; m < COMPONENTS; m++) {
        const double x = (u + m)[-COMPONENTS] + (u + m)[COMPONENTS], y = *(u + m - row_room) + (u + m)[row_room];
        const double z = *(u + m - plane) + (u + m)[plane];
        result[m] = u[m] + DIFFUSION * (x + y + z - 6 * u[m]);
    }
    react(result, target, work);
}

static void step_row(const solution *s, const row *r, void *context)
{
    const int work = *(const int *)context;
    for (int x = 0; x < r->cells_x; x++) {
        const size_t at = r->index + (size_t)x * COMPONENTS;
        double target[COMPONENTS];
        if (is_boundary(s->c, r->z, r->y, r->low_x + x)) {
            memcpy(s->next + at, s->now + at, sizeof target);
            continue;
        }
        for (int m = 0; m < COMPONENTS; m++)
            target[m] = exact(m, place(s->c, r->low_x + x), r->at_y, r->at_z);
        step_point(s, at, target, work);
    }
}

void solution_step(solution *s, int work)
{
    const double start = MPI_Wtime();
    for (int d = 0; d < 3; d++)
        exchange(s, d);
    const double exchanged = MPI_Wtime();
    for_rows(s, step_row, &work);
    double *old = s->now;
    s->now = s->next;
    s->next = old;
    timing_communicated(exchanged - start);
    timing_computed(MPI_Wtime() - exchanged);
}

/* --- to and from dumps ----------------------------------------------------------------------------------------------
 */

size_t solution_packed_elements(const solution *s)
{
    size_t elements = 0;
    for (int n = 0; n < s->c->count; n++)
        elements += (size_t)s->c->size[n][0] * (size_t)s->c->size[n][1] * (size_t)s->c->size[n][2] * COMPONENTS;
    return elements;
}

static void pack_row(const solution *s, const row *r, void *context)
{
    double **to = context;
    memcpy(*to, s->now + r->index, (size_t)r->cells_x * COMPONENTS * sizeof **to);
    *to += (size_t)r->cells_x * COMPONENTS;
}

static void unpack_row(const solution *s, const row *r, void *context)
{
    const double **from = context;
    memcpy(s->now + r->index, *from, (size_t)r->cells_x * COMPONENTS * sizeof **from);
    *from += (size_t)r->cells_x * COMPONENTS;
}

void solution_pack(const solution *s, double *to)
{
    for_rows(s, pack_row, &to);
}

void solution_unpack(solution *s, const double *from)
{
    for_rows(s, unpack_row, &from);
}

void solution_clear(solution *s)
{
    memset(s->now, 0, s->cell_room * (size_t)s->c->count * sizeof *s->now);
}

static void add_squares(const solution *s, const row *r, void *context)
{
    double *sum = context;
    const double *u = s->now + r->index;
    for (int x = 0; x < r->cells_x; x++)
        for (int m = 0; m < COMPONENTS; m++) {
            const double off = *u++ - exact(m, place(s->c, r->low_x + x), r->at_y, r->at_z);
            sum[m] += off * off;
        }
}

void solution_norm(const solution *s, double norm[COMPONENTS])
{
    const double points = (double)s->c->points * s->c->points * s->c->points;
    double sum[COMPONENTS] = {0};
    for_rows(s, add_squares, sum);
    MPI_Allreduce(sum, norm, COMPONENTS, MPI_DOUBLE, MPI_SUM, s->c->comm);
    for (int m = 0; m < COMPONENTS; m++)
        norm[m] = sqrt(norm[m] / points);
}
