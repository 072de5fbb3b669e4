/* Whether the file system has room for what comes next. A disk that fills up in the midst of a
 * library's collective calls leaves ranks waiting for each other inside of it (HDF5, PnetCDF), or
 * is not reported at all (Open MPI's MPI-IO): so the room is looked at before each step, when
 * nothing is lost yet. Quotas are not seen. */
#include "core.h"

#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

/* What a format adds to the data: to a file, to a variable, and to so many bytes one. */
enum { FILE_BYTES = 64 * 1024, VARIABLE_BYTES = 4 * 1024, DATA_PER_BYTE = 64 };

int gridio_count_bytes(gridio_file *file)
{
    int64_t mine[2] = {0}, all[2];
    for (int i = 0; i < file->variables_count; i++) {
        const gridio_variable *variable = &file->variables[i];
        const bool writes = file->method->splits ? !file->shares[i].is_absent
                                                 : variable->tiled || file->rank == GRIDIO_ROOT;
        const int64_t elements =
            variable->tiled
                ? file->shares[i].elements
                : (int64_t)(gridio_variable_bytes(variable) / gridio_element_bytes(variable->type));
        mine[variable->every_step] +=
            writes ? elements * (int64_t)gridio_element_bytes(variable->type) : 0;
    }
    MPI_Allreduce(mine, all, 2, MPI_INT64_T, MPI_SUM, file->comm);
    file->once_bytes = all[0];
    file->step_bytes = all[1];
    return gridio_check_disk_space(file, 0);
}

/* Of the directory that the file is in; INT64_MAX where it is unknown. */
static int64_t bytes_left(const gridio_file *file)
{
    struct statvfs system;
    char *directory = strdup(file->path);
    char *slash = directory ? strrchr(directory, '/') : NULL;
    if (slash)
        slash[slash == directory] = '\0';
    const int status = directory ? statvfs(slash ? directory : ".", &system) : -1;
    free(directory);
    return status == 0 && system.f_blocks > 0 ? (int64_t)system.f_bavail * (int64_t)system.f_frsize
                                              : INT64_MAX;
}

int gridio_check_disk_space(gridio_file *file, int64_t step)
{
    const int64_t data = file->step_bytes + (step == 0 ? file->once_bytes : 0);
    const int64_t needed =
        data + data / DATA_PER_BYTE + FILE_BYTES + file->variables_count * VARIABLE_BYTES;
    int64_t left = file->rank == GRIDIO_ROOT ? bytes_left(file) : 0;
    MPI_Bcast(&left, 1, MPI_INT64_T, GRIDIO_ROOT, file->comm);
    if (needed <= left)
        return 0;
    gridio_fail(
        file, "cannot write '%s': step %lld may take %lld bytes and its file system has %lld left",
        file->path, (long long)step, (long long)needed, (long long)left);
    return gridio_agree(file);
}
