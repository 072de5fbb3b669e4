/* Mode epio: every rank writes its cells, one after the other, to a file of its own, PATH.0000 and so on (NPB 3.4, BT,
 * epio; there by Fortran's unformatted output, whose record marks are left out here). */
#include "dumps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void own_path(const dumps *d, bool partial, char *path, size_t room)
{
    snprintf(path, room, "%s.%04d%s", d->io.path, d->s->c->rank, partial ? ".partial" : "");
}

static int open_file(dumps *d, bool to_write)
{
    char path[4200];
    own_path(d, to_write, path, sizeof path);
    d->descriptor = open(path, to_write ? O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC : O_RDONLY | O_CLOEXEC, 0666);
    return d->descriptor >= 0 ? 0 : failure_of_system(&d->problem, "open", d->io.path);
}

/* A call may move less than it was asked to. */
static int move_all(dumps *d, char *at, size_t bytes, bool to_write)
{
    while (bytes > 0) {
        const ssize_t moved = to_write ? write(d->descriptor, at, bytes) : read(d->descriptor, at, bytes);
        if (moved < 0 && errno == EINTR)
            continue;
        if (moved == 0)
            errno = EIO; /* the file ends too early */
        if (moved <= 0)
            return failure_of_system(&d->problem, to_write ? "write" : "read", d->io.path);
        at += moved;
        bytes -= (size_t)moved;
    }
    return 0;
}

static int write_dump(dumps *d, int64_t n)
{
    (void)n;
    solution_pack(d->s, d->packed);
    return move_all(d, (char *)d->packed, solution_packed_elements(d->s) * sizeof(double), true);
}

static int read_dump(dumps *d, int64_t n)
{
    (void)n;
    if (move_all(d, (char *)d->packed, solution_packed_elements(d->s) * sizeof(double), false) != 0)
        return -1;
    solution_unpack(d->s, d->packed);
    return 0;
}

static int sync_file(dumps *d)
{
    return fsync(d->descriptor) == 0 ? 0 : failure_of_system(&d->problem, "sync", d->io.path);
}

static int close_file(dumps *d)
{
    return close(d->descriptor) == 0 ? 0 : failure_of_system(&d->problem, "close", d->io.path);
}

static int publish(dumps *d)
{
    char partial[4200], whole[4200];
    own_path(d, true, partial, sizeof partial);
    own_path(d, false, whole, sizeof whole);
    return rename(partial, whole) == 0 ? 0 : failure_of_system(&d->problem, "rename", partial);
}

const dump_mode DUMP_EPIO = {"epio", open_file, write_dump, read_dump, sync_file, close_file, publish, NULL};
