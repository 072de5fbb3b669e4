#include "cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

/* A dirty page is not dropped, hence the fsync. */
static void drop_file(const char *path)
{
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return;
    if (fsync(file) == 0)
        posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    close(file);
}

static void drop_directory(DIR *directory, const char *path)
{
    char name[PATH_MAX];
    for (struct dirent *entry; (entry = readdir(directory));)
        if (entry->d_name[0] != '.' &&
            snprintf(name, sizeof name, "%s/%s", path, entry->d_name) < (int)sizeof name)
            drop_file(name);
}

void cache_drop(const char *path, MPI_Comm comm)
{
    MPI_Comm node;
    int rank;
    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &rank);
    MPI_Comm_free(&node);
    if (rank == 0) {
        DIR *directory = opendir(path);
        if (directory) {
            drop_directory(directory, path);
            closedir(directory);
        } else
            drop_file(path);
    }
    MPI_Barrier(comm);
}
