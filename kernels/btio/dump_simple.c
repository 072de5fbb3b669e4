/* Mode simple: one independent call for every row of every cell, the file seen as doubles (NPB 3.4, BT, simple_mpiio).
 */
#include "dumps.h"
#include "info.h"

static int open_file(dumps *d, bool to_write)
{
    const int mode = to_write ? MPI_MODE_RDWR | MPI_MODE_CREATE : MPI_MODE_RDONLY;
    MPI_Info info = info_from_hints(d->io.hints);
    if (to_write && d->s->c->rank == 0)
        MPI_File_delete(d->file_path, MPI_INFO_NULL); /* of an earlier run, if there is one */
    MPI_Barrier(d->io.comm);
    int error = MPI_File_open(d->io.comm, d->file_path, mode, info, &d->file);
    if (error == MPI_SUCCESS)
        error = MPI_File_set_view(d->file, 0, MPI_DOUBLE, MPI_DOUBLE, "native", info);
    if (info != MPI_INFO_NULL)
        MPI_Info_free(&info);
    return failure_of_mpi(&d->problem, "open", d->io.path, error);
}

/* Where a row begins in the file, in doubles. */
static MPI_Offset place_of(const cells *c, int64_t dump, int n, int z, int y)
{
    const MPI_Offset points = c->points;
    const MPI_Offset layer = c->low[n][CELL_Z] + z + points * dump, line = c->low[n][CELL_Y] + y + points * layer;
    return COMPONENTS * (c->low[n][CELL_X] + points * line);
}

static int move_row(dumps *d, int64_t dump, int n, int z, int y, bool to_write)
{
    double *row = d->s->now + solution_index(d->s, n, z, y, 0);
    const int count = COMPONENTS * d->s->c->size[n][CELL_X];
    const MPI_Offset at = place_of(d->s->c, dump, n, z, y);
    MPI_Status status;
    if (to_write)
        return failure_of_mpi(&d->problem, "write", d->io.path,
                              MPI_File_write_at(d->file, at, row, count, MPI_DOUBLE, &status));
    return failure_of_mpi(&d->problem, "read", d->io.path,
                          MPI_File_read_at(d->file, at, row, count, MPI_DOUBLE, &status));
}

static int move_dump(dumps *d, int64_t dump, bool to_write)
{
    const cells *c = d->s->c;
    for (int n = 0; n < c->count; n++)
        for (int z = 0; z < c->size[n][CELL_Z]; z++)
            for (int y = 0; y < c->size[n][CELL_Y]; y++)
                if (move_row(d, dump, n, z, y, to_write) != 0)
                    return -1;
    return 0;
}

static int write_dump(dumps *d, int64_t n)
{
    return move_dump(d, n, true);
}

static int read_dump(dumps *d, int64_t n)
{
    return move_dump(d, n, false);
}

static int sync_file(dumps *d)
{
    return failure_of_mpi(&d->problem, "sync", d->io.path, MPI_File_sync(d->file));
}

static int close_file(dumps *d)
{
    return failure_of_mpi(&d->problem, "close", d->io.path, MPI_File_close(&d->file));
}

static void hints(dumps *d, void (*visit)(const char *key, const char *value, void *context), void *context)
{
    info_in_force(d->file, visit, context);
}

const dump_mode DUMP_SIMPLE = {"simple", open_file, write_dump, read_dump, sync_file, close_file, NULL, hints};
