/* Mode full: one collective call moves all cells of a rank, by one datatype for memory and one for the file (NPB 3.4,
 * BT, full_mpiio). */
#include "dumps.h"
#include "info.h"

#include <stdlib.h>

/* One datatype of a subarray for every cell; `of` makes the n-th. */
static MPI_Datatype combine(const dumps *d, MPI_Datatype (*of)(const dumps *d, int n))
{
    const int count = d->s->c->count;
    MPI_Datatype combined, *parts = malloc((size_t)count * sizeof(MPI_Datatype));
    MPI_Aint *displacements = calloc((size_t)count, sizeof *displacements);
    int *lengths = malloc((size_t)count * sizeof *lengths);
    for (int n = 0; n < count; n++) {
        lengths[n] = 1;
        parts[n] = of(d, n);
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

static MPI_Datatype cell_in_memory(const dumps *d, int n)
{
    const solution *s = d->s;
    const int *cell = s->c->size[n];
    const int sizes[4] = {s->c->count, s->edge[CELL_Z], s->edge[CELL_Y], s->edge[CELL_X]};
    const int part[4] = {1, cell[CELL_Z], cell[CELL_Y], cell[CELL_X]}, start[4] = {n, 1, 1, 1};
    MPI_Datatype type;
    MPI_Type_create_subarray(4, sizes, part, start, MPI_ORDER_C, d->element, &type);
    return type;
}

static MPI_Datatype cell_in_file(const dumps *d, int n)
{
    const cells *c = d->s->c;
    const int sizes[3] = {c->points, c->points, c->points};
    const int part[3] = {c->size[n][CELL_Z], c->size[n][CELL_Y], c->size[n][CELL_X]};
    const int start[3] = {c->low[n][CELL_Z], c->low[n][CELL_Y], c->low[n][CELL_X]};
    MPI_Datatype type;
    MPI_Type_create_subarray(3, sizes, part, start, MPI_ORDER_C, d->element, &type);
    return type;
}

static void make_types(dumps *d)
{
    MPI_Type_contiguous(COMPONENTS, MPI_DOUBLE, &d->element);
    MPI_Type_commit(&d->element);
    d->in_memory = combine(d, cell_in_memory);
    d->in_file = combine(d, cell_in_file);
}

static void free_types(dumps *d)
{
    MPI_Type_free(&d->in_memory);
    MPI_Type_free(&d->in_file);
    MPI_Type_free(&d->element);
}

static int open_file(dumps *d, bool to_write)
{
    const int mode = to_write ? MPI_MODE_RDWR | MPI_MODE_CREATE : MPI_MODE_RDONLY;
    MPI_Info info = info_from_hints(d->io.hints);
    if (to_write && d->s->c->rank == 0)
        MPI_File_delete(d->file_path, MPI_INFO_NULL); /* of an earlier run, if there is one */
    MPI_Barrier(d->io.comm);
    make_types(d);
    int error = MPI_File_open(d->io.comm, d->file_path, mode, info, &d->file);
    if (error == MPI_SUCCESS)
        error = MPI_File_set_view(d->file, 0, d->element, d->in_file, "native", info);
    if (info != MPI_INFO_NULL)
        MPI_Info_free(&info);
    return failure_of_mpi(&d->problem, "open", d->io.path, error);
}

/* Where a dump begins, in elements of this rank's view. */
static MPI_Offset begin_of(const dumps *d, int64_t n)
{
    return n * (MPI_Offset)(solution_packed_elements(d->s) / COMPONENTS);
}

static int write_dump(dumps *d, int64_t n)
{
    MPI_Status status;
    return failure_of_mpi(&d->problem, "write", d->io.path,
                          MPI_File_write_at_all(d->file, begin_of(d, n), d->s->now, 1, d->in_memory, &status));
}

static int read_dump(dumps *d, int64_t n)
{
    MPI_Status status;
    return failure_of_mpi(&d->problem, "read", d->io.path,
                          MPI_File_read_at_all(d->file, begin_of(d, n), d->s->now, 1, d->in_memory, &status));
}

static int sync_file(dumps *d)
{
    return failure_of_mpi(&d->problem, "sync", d->io.path, MPI_File_sync(d->file));
}

static int close_file(dumps *d)
{
    free_types(d);
    return failure_of_mpi(&d->problem, "close", d->io.path, MPI_File_close(&d->file));
}

static void hints(dumps *d, void (*visit)(const char *key, const char *value, void *context), void *context)
{
    info_in_force(d->file, visit, context);
}

const dump_mode DUMP_FULL = {"full", open_file, write_dump, read_dump, sync_file, close_file, NULL, hints};
