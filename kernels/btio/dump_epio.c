/* Mode epio: every rank writes its cells, one after the other, to a file of its own, PATH.0000 and
 * so on (NPB 3.4, BT, epio; there by Fortran's unformatted output, whose record marks are left out
 * here). */
#include "dumps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void own_path(const struct dumps *dumps, bool partial, char *path, size_t room)
{
    snprintf(path, room, "%s.%04d%s", dumps->io.path, dumps->solution->cells->rank,
             partial ? ".partial" : "");
}

static int open_file(struct dumps *dumps, bool to_write)
{
    char path[4200];
    own_path(dumps, to_write, path, sizeof path);
    dumps->descriptor = open(
        path, to_write ? O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC : O_RDONLY | O_CLOEXEC, 0666);
    return dumps->descriptor >= 0 ? 0 : failure_of_system(&dumps->problem, "open", dumps->io.path);
}

/* A call may move less than it was asked to. */
static int move_all(struct dumps *dumps, char *at, size_t bytes, bool to_write)
{
    while (bytes > 0) {
        const ssize_t moved =
            to_write ? write(dumps->descriptor, at, bytes) : read(dumps->descriptor, at, bytes);
        if (moved < 0 && errno == EINTR)
            continue;
        if (moved == 0)
            errno = EIO; /* the file ends too early */
        if (moved <= 0)
            return failure_of_system(&dumps->problem, to_write ? "write" : "read", dumps->io.path);
        at += moved;
        bytes -= (size_t)moved;
    }
    return 0;
}

static int write_dump(struct dumps *dumps, int64_t n)
{
    (void)n;
    solution_pack(dumps->solution, dumps->packed);
    return move_all(dumps, (char *)dumps->packed,
                    solution_packed_elements(dumps->solution) * sizeof(double), true);
}

static int read_dump(struct dumps *dumps, int64_t n)
{
    (void)n;
    if (move_all(dumps, (char *)dumps->packed,
                 solution_packed_elements(dumps->solution) * sizeof(double), false) != 0)
        return -1;
    solution_unpack(dumps->solution, dumps->packed);
    return 0;
}

static int sync_file(struct dumps *dumps)
{
    return fsync(dumps->descriptor) == 0
               ? 0
               : failure_of_system(&dumps->problem, "sync", dumps->io.path);
}

static int close_file(struct dumps *dumps)
{
    return close(dumps->descriptor) == 0
               ? 0
               : failure_of_system(&dumps->problem, "close", dumps->io.path);
}

static int publish(struct dumps *dumps)
{
    char partial[4200], whole[4200];
    own_path(dumps, true, partial, sizeof partial);
    own_path(dumps, false, whole, sizeof whole);
    return rename(partial, whole) == 0 ? 0 : failure_of_system(&dumps->problem, "rename", partial);
}

const struct dump_mode DUMP_EPIO = {"epio",    open_file,  write_dump, read_dump,
                                    sync_file, close_file, publish,    NULL};
