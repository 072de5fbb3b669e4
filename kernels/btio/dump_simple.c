/* Mode simple: one independent call for every row of every cell, the file seen as doubles (NPB 3.4,
 * BT, simple_mpiio). */
#include "dump_mpiio.h"

static int open_file(struct dumps *dumps, bool to_write)
{
    return mpiio_open(dumps, to_write, MPI_DOUBLE, MPI_DOUBLE);
}

/* Where a row begins in the file, in doubles. */
static MPI_Offset place_of(const struct cells *cells, int64_t dump, int n, int z, int y)
{
    const MPI_Offset points = cells->points;
    const MPI_Offset layer = cells->low[n][CELL_Z] + z + points * dump,
                     line = cells->low[n][CELL_Y] + y + points * layer;
    return COMPONENTS * (cells->low[n][CELL_X] + points * line);
}

static int move_row(struct dumps *dumps, int64_t dump, int n, int z, int y, bool to_write)
{
    double *row = dumps->solution->now + solution_index(dumps->solution, n, z, y, 0);
    const int count = COMPONENTS * dumps->solution->cells->size[n][CELL_X];
    const MPI_Offset at = place_of(dumps->solution->cells, dump, n, z, y);
    MPI_Status status;
    if (to_write)
        return failure_of_mpi(&dumps->problem, "write", dumps->io.path,
                              MPI_File_write_at(dumps->file, at, row, count, MPI_DOUBLE, &status));
    return failure_of_mpi(&dumps->problem, "read", dumps->io.path,
                          MPI_File_read_at(dumps->file, at, row, count, MPI_DOUBLE, &status));
}

static int move_dump(struct dumps *dumps, int64_t dump, bool to_write)
{
    const struct cells *cells = dumps->solution->cells;
    for (int n = 0; n < cells->count; n++)
        for (int z = 0; z < cells->size[n][CELL_Z]; z++)
            for (int y = 0; y < cells->size[n][CELL_Y]; y++)
                if (move_row(dumps, dump, n, z, y, to_write) != 0)
                    return -1;
    return 0;
}

static int write_dump(struct dumps *dumps, int64_t n)
{
    return move_dump(dumps, n, true);
}

static int read_dump(struct dumps *dumps, int64_t n)
{
    return move_dump(dumps, n, false);
}

const struct dump_mode DUMP_SIMPLE = {"simple",   open_file,   write_dump, read_dump,
                                      mpiio_sync, mpiio_close, NULL,       mpiio_hints};
