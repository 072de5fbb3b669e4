/* Names on the file system: a file is written as PATH.partial and gets its name when it is whole; a
 * file per rank is a directory of that name, of the files rank-000000… */
#include "core.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char PARTIAL[] = ".partial", REPLACED[] = ".replaced", PART[] = "rank-";

static char *join(const char *one, const char *two)
{
    char *text = malloc(strlen(one) + strlen(two) + 1);
    if (text)
        sprintf(text, "%s%s", one, two);
    return text;
}

static int no_memory(gridio_file *file)
{
    return gridio_fail(file, "there is no memory to open '%s'", file->path);
}

char *gridio_path_to_open(gridio_file *file)
{
    char part[64] = "";
    if (file->method->splits)
        snprintf(part, sizeof part, "/%s%06d%s", PART, file->rank, file->format->suffix);
    char *base = file->mode == GRIDIO_WRITE ? join(file->path, PARTIAL) : strdup(file->path);
    char *path = base ? join(base, part) : NULL;
    free(base);
    if (!path)
        no_memory(file);
    return path;
}

static bool is_directory(const char *path)
{
    struct stat state;
    return lstat(path, &state) == 0 && S_ISDIR(state.st_mode);
}

static bool is_there(const char *path)
{
    struct stat state;
    return lstat(path, &state) == 0;
}

/* How many files of ranks are in the directory; -1 where it cannot be read or has anything else,
 * which is not ours. */
static int count_parts(const char *path)
{
    DIR *directory = opendir(path);
    int parts = 0;
    if (!directory)
        return -1;
    for (const struct dirent *entry; (entry = readdir(directory)) && parts >= 0;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        parts = strncmp(entry->d_name, PART, sizeof PART - 1) == 0 ? parts + 1 : -1;
    }
    closedir(directory);
    return parts;
}

static void remove_parts(const char *path)
{
    DIR *directory = opendir(path);
    for (const struct dirent *entry; directory && (entry = readdir(directory));)
        if (strncmp(entry->d_name, PART, sizeof PART - 1) == 0)
            unlinkat(dirfd(directory), entry->d_name, 0);
    if (directory)
        closedir(directory);
}

/* Removes a file, or a directory of ranks' files and nothing else. */
static int discard(gridio_file *file, const char *path)
{
    if (!is_there(path))
        return 0;
    if (!is_directory(path))
        return unlink(path) == 0
                   ? 0
                   : gridio_fail(file, "cannot replace '%s': %s", path, strerror(errno));
    if (count_parts(path) < 0)
        return gridio_fail(
            file, "'%s' is a directory that holds more than ranks' files, and is not replaced",
            path);
    remove_parts(path);
    return rmdir(path) == 0 ? 0
                            : gridio_fail(file, "cannot replace '%s': %s", path, strerror(errno));
}

static int make_partial(gridio_file *file, const char *partial)
{
    const bool splits = file->method->splits;
    if (is_directory(file->path) && count_parts(file->path) < 0)
        return gridio_fail(
            file, "'%s' is a directory that holds more than ranks' files, and is not replaced",
            file->path);
    if (discard(file, partial) != 0)
        return GRIDIO_FAILED;
    if (splits && mkdir(partial, 0777) != 0)
        return gridio_fail(file, "cannot open '%s': %s", file->path, strerror(errno));
    return 0;
}

static int check_parts(gridio_file *file)
{
    const int parts = count_parts(file->path);
    if (parts < 0)
        return gridio_fail(file, "'%s' is not a directory of ranks' files", file->path);
    if (parts != file->ranks)
        return gridio_fail(file,
                           "'%s' was written by %d ranks, a file each, and cannot be read by %d",
                           file->path, parts, file->ranks);
    return 0;
}

int gridio_make_place(gridio_file *file)
{
    if (file->rank != GRIDIO_ROOT || file->failed)
        return 0;
    if (file->mode == GRIDIO_READ)
        return file->method->splits ? check_parts(file) : 0;
    char *partial = join(file->path, PARTIAL);
    int status = partial ? make_partial(file, partial) : no_memory(file);
    free(partial);
    return status;
}

/* A directory cannot be replaced by renaming, nor a file by one: such a one is moved out of the way
 * first, so that at every moment one whole result has a name. */
static int replace(gridio_file *file, const char *partial, const char *aside)
{
    const bool in_the_way =
        is_there(file->path) && (file->method->splits || is_directory(file->path));
    if (in_the_way && (discard(file, aside) != 0 || rename(file->path, aside) != 0))
        return gridio_fail(file, "'%s' cannot be replaced: %s", file->path, strerror(errno));
    if (rename(partial, file->path) != 0)
        return gridio_fail(file, "'%s' could not be given its final name '%s': %s", partial,
                           file->path, strerror(errno));
    return in_the_way ? discard(file, aside) : 0;
}

int gridio_publish(gridio_file *file)
{
    if (file->rank != GRIDIO_ROOT)
        return 0;
    char *partial = join(file->path, PARTIAL), *aside = join(file->path, REPLACED);
    int status = partial && aside ? replace(file, partial, aside) : no_memory(file);
    free(partial);
    free(aside);
    return status;
}
