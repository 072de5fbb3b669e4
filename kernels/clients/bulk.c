/* Nodes that write files of their own at the same time, and read each other's. */
#include "clients.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

struct bulk {
    int64_t bytes, block_bytes;
    int files;
    struct team team; /* the first rank of each node */
};

static void name_file(const struct clients *clients, int number, char path[4096])
{
    snprintf(path, 4096, "%s/own-%d-%d", clients->directory, clients->files, number);
}

static int write_file(struct clients *clients, const struct bulk *bulk, int file, const char *path)
{
    for (int64_t at = 0; at < bulk->bytes;) {
        const int64_t left = bulk->bytes - at;
        const size_t size = (size_t)(left < bulk->block_bytes ? left : bulk->block_bytes);
        const ssize_t moved = pwrite(file, clients->buffer, size, at);
        if (moved < 0 && errno != EINTR)
            return failure_of_system(&clients->problem, "write", path);
        at += moved > 0 ? moved : 0;
    }
    return fsync(file) == 0 ? 0 : failure_of_system(&clients->problem, "synchronize", path);
}

static int read_file(struct clients *clients, const struct bulk *bulk, int file, const char *path)
{
    for (int64_t at = 0; at < bulk->bytes;) {
        const int64_t left = bulk->bytes - at;
        const size_t size = (size_t)(left < bulk->block_bytes ? left : bulk->block_bytes);
        const ssize_t moved = pread(file, clients->buffer, size, at);
        if (moved == 0)
            errno = EIO; /* the file ends too early */
        if (moved == 0 || (moved < 0 && errno != EINTR))
            return failure_of_system(&clients->problem, "read", path);
        at += moved > 0 ? moved : 0;
    }
    return 0;
}

typedef int (*mover)(struct clients *clients, const struct bulk *bulk, int file, const char *path);

/* number: of the file; -1: this rank has none. Gives what the slowest took. */
static double move_all(struct clients *clients, const struct bulk *bulk, int number, int flags,
                       mover move, int *failed)
{
    char path[4096];
    int file = -1;
    double seconds = 0;
    if (number >= 0) {
        name_file(clients, number, path);
        file = open(path, flags | O_CLOEXEC, 0600);
        if (file < 0)
            *failed = failure_of_system(&clients->problem, "open", path);
        else
            posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED); /* an own file of before */
    }
    meet();
    begin_together(&bulk->team);
    if (file >= 0) {
        const double begin = MPI_Wtime();
        if (move(clients, bulk, file, path) != 0)
            *failed = -1;
        seconds = MPI_Wtime() - begin;
        close(file);
    }
    return slowest(seconds);
}

static void choose_bulk(struct clients *clients, const struct experiment *experiment,
                        struct bulk *bulk)
{
    *bulk = (struct bulk){clients->bulk_bytes, MIB, experiment->ranks, {0, -1, NULL}};
    if (experiment->held_out) {
        bulk->files = 1 + draw_below(clients, clients->nodes);
        bulk->block_bytes = draw_size(clients, 64 * KIB, BUFFER_BYTES) / SMALL_BYTES * SMALL_BYTES;
        const double share = 0.1 + 0.9 * draw_share(clients);
        const int64_t blocks = (int64_t)(share * (double)bulk->bytes) / bulk->block_bytes;
        bulk->bytes = (blocks > 0 ? blocks : 1) * bulk->block_bytes;
    }
    bulk->team = draw_team(clients, clients->nodes);
}

int make_bulk(struct clients *clients, const struct experiment *experiment)
{
    struct bulk bulk;
    char path[4096];
    int failed = 0;
    choose_bulk(clients, experiment, &bulk);
    const int index = bulk.team.index, nodes = clients->nodes;
    const int own = index >= 0 && index < bulk.files ? index : -1;
    /* Of another node, so that it is in no cache of the reader's. */
    const int of_other = index >= 0 ? (index + nodes - 1) % nodes : nodes;
    struct sample sample = {
        "write",
        BETWEEN,
        bulk.files,
        bulk.bytes,
        bulk.block_bytes,
        1,
        move_all(clients, &bulk, own, O_RDWR | O_CREAT | O_TRUNC, write_file, &failed)};
    report(clients, experiment, &sample);
    sample.experiment = "read";
    sample.seconds = move_all(clients, &bulk, of_other < bulk.files ? of_other : -1, O_RDONLY,
                              read_file, &failed);
    report(clients, experiment, &sample);
    if (own >= 0) {
        name_file(clients, own, path);
        unlink(path);
    }
    free_team(&bulk.team);
    clients->files++;
    return failed;
}
