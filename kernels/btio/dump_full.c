/* Mode full: one collective call moves all cells of a rank, by one datatype for memory and one for
 * the file (NPB 3.4, BT, full_mpiio). */
#include "dump_mpiio.h"
#include "allocation.h"

#include <stdlib.h>

/* One datatype of a subarray for every cell; `of` makes the n-th. */
static MPI_Datatype combine(const struct dumps *dumps,
                            MPI_Datatype (*of)(const struct dumps *dumps, int n))
{
    const int count = dumps->solution->cells->count;
    MPI_Datatype combined, *parts = gridio_allocate((size_t)count, sizeof(MPI_Datatype));
    MPI_Aint *displacements = gridio_allocate((size_t)count, sizeof *displacements);
    int *lengths = gridio_allocate((size_t)count, sizeof *lengths);
    for (int n = 0; n < count; n++) {
        lengths[n] = 1;
        parts[n] = of(dumps, n);
    }
    MPI_Type_create_struct(count, lengths, displacements, parts, &combined);
    MPI_Type_commit(&combined);
    for (int n = 0; n < count; n++)
        MPI_Type_free(&parts[n]);
    free(lengths);
    free(displacements);
    free(parts);
    return combined;
}

static MPI_Datatype cell_in_memory(const struct dumps *dumps, int n)
{
    const struct solution *solution = dumps->solution;
    const int *cell = solution->cells->size[n];
    const int sizes[4] = {solution->cells->count, solution->edge[CELL_Z], solution->edge[CELL_Y],
                          solution->edge[CELL_X]};
    const int part[4] = {1, cell[CELL_Z], cell[CELL_Y], cell[CELL_X]}, start[4] = {n, 1, 1, 1};
    MPI_Datatype type;
    MPI_Type_create_subarray(4, sizes, part, start, MPI_ORDER_C, dumps->element, &type);
    return type;
}

static MPI_Datatype cell_in_file(const struct dumps *dumps, int n)
{
    const struct cells *cells = dumps->solution->cells;
    const int sizes[3] = {cells->points, cells->points, cells->points};
    const int part[3] = {cells->size[n][CELL_Z], cells->size[n][CELL_Y], cells->size[n][CELL_X]};
    const int start[3] = {cells->low[n][CELL_Z], cells->low[n][CELL_Y], cells->low[n][CELL_X]};
    MPI_Datatype type;
    MPI_Type_create_subarray(3, sizes, part, start, MPI_ORDER_C, dumps->element, &type);
    return type;
}

static void make_types(struct dumps *dumps)
{
    MPI_Type_contiguous(COMPONENTS, MPI_DOUBLE, &dumps->element);
    MPI_Type_commit(&dumps->element);
    dumps->in_memory = combine(dumps, cell_in_memory);
    dumps->in_file = combine(dumps, cell_in_file);
}

static void free_types(struct dumps *dumps)
{
    MPI_Type_free(&dumps->in_memory);
    MPI_Type_free(&dumps->in_file);
    MPI_Type_free(&dumps->element);
}

static int open_file(struct dumps *dumps, bool to_write)
{
    make_types(dumps);
    return mpiio_open(dumps, to_write, dumps->element, dumps->in_file);
}

/* Where a dump begins, in elements of this rank's view. */
static MPI_Offset begin_of(const struct dumps *dumps, int64_t n)
{
    return n * (MPI_Offset)(solution_packed_elements(dumps->solution) / COMPONENTS);
}

static int write_dump(struct dumps *dumps, int64_t n)
{
    MPI_Status status;
    return failure_of_mpi(&dumps->problem, "write", dumps->io.path,
                          MPI_File_write_at_all(dumps->file, begin_of(dumps, n),
                                                dumps->solution->now, 1, dumps->in_memory,
                                                &status));
}

static int read_dump(struct dumps *dumps, int64_t n)
{
    MPI_Status status;
    return failure_of_mpi(&dumps->problem, "read", dumps->io.path,
                          MPI_File_read_at_all(dumps->file, begin_of(dumps, n),
                                               dumps->solution->now, 1, dumps->in_memory, &status));
}

static int close_file(struct dumps *dumps)
{
    free_types(dumps);
    return mpiio_close(dumps);
}

const struct dump_mode DUMP_FULL = {"full",     open_file,  write_dump, read_dump,
                                    mpiio_sync, close_file, NULL,       mpiio_hints};
