/* Whether the file system has locks. ROMIO holds one while it writes back what lies between the
 * pieces of a write (data sieving), and ends the program where it gets none: on Lustre mounted
 * without flock, on NFS without its lock daemon. There it has to write piece by piece. */
#include "core.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const SIEVING[] = {"romio_ds_write", "romio_ds_read"};

static bool grants_lock(int descriptor, short kind)
{
    struct flock lock = {.l_type = kind, .l_whence = SEEK_SET, .l_len = 1};
    if (fcntl(descriptor, F_SETLK, &lock) == 0)
        return true;
    return errno == EACCES || errno == EAGAIN; /* another has it: there are locks */
}

/* Where the file cannot be opened, the format will say so. What is created is removed again. */
static bool has_locks(gridio_file *file)
{
    const bool writes = file->mode == GRIDIO_WRITE;
    char *path = gridio_path_to_open(file);
    const int descriptor =
        path ? open(path, writes ? O_RDWR | O_CREAT | O_EXCL : O_RDONLY, 0666) : -1;
    const bool has = descriptor < 0 || grants_lock(descriptor, writes ? F_WRLCK : F_RDLCK);
    if (descriptor >= 0)
        close(descriptor);
    if (descriptor >= 0 && writes)
        unlink(path);
    free(path);
    return has;
}

static void disable(gridio_file *file, const char *hint)
{
    char value[MPI_MAX_INFO_VAL + 1];
    int is_set;
    MPI_Info_get(file->info, hint, MPI_MAX_INFO_VAL, value, &is_set);
    if (is_set && strcmp(value, "enable") == 0)
        gridio_fail(file, "the file system of '%s' has no locks, which the hint %s=enable needs",
                    file->path, hint);
    MPI_Info_set(file->info, hint, "disable");
}

int gridio_avoid_locks(gridio_file *file)
{
    if (file->method->needs == GRIDIO_ALONE || !file->format->hints)
        return 0;
    int has = file->rank != GRIDIO_ROOT || has_locks(file);
    MPI_Bcast(&has, 1, MPI_INT, GRIDIO_ROOT, file->comm);
    for (size_t i = 0; !has && i < sizeof SIEVING / sizeof *SIEVING; i++)
        disable(file, SIEVING[i]);
    return gridio_agree(file);
}
