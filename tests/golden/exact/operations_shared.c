/* What ranks share: files by MPI-IO, and windows. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exact.h"

static char file_names[32][64];
static MPI_File files[32];
static MPI_Win window;

MPI_Request *named_request(const struct call *call);

static MPI_File *file_of(const struct call *call, int index)
{
    return &files[slot(file_names, text(call, index), call->instruction->line)];
}

static void check(const struct call *call, int error)
{
    if (error != MPI_SUCCESS)
        fail(call->instruction->line, "MPI-IO failed:", call->instruction->operation->name);
}

/* One aggregator, whatever the library would choose, so that the case says who writes. */
static MPI_Info one_aggregator(void)
{
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "cb_nodes", "1");
    MPI_Info_set(info, "romio_cb_write", "enable");
    MPI_Info_set(info, "romio_cb_read", "enable");
    return info;
}

static void file_open(const struct call *call)
{
    char path[4096];
    MPI_Info info = one_aggregator();
    snprintf(path, sizeof path, "%s/%s", getenv("EXACT_DIRECTORY"), text(call, 0));
    check(call, MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE, info,
                              file_of(call, 0)));
    MPI_Info_free(&info);
}

/* file_write_at FILE OFFSET BYTES, and its collective and reading kin */
static void file_write_at(const struct call *call)
{
    check(call, MPI_File_write_at(*file_of(call, 0), value(call, 1), outgoing, (int)value(call, 2),
                                  MPI_BYTE, MPI_STATUS_IGNORE));
}

static void file_write_at_all(const struct call *call)
{
    check(call, MPI_File_write_at_all(*file_of(call, 0), value(call, 1), outgoing,
                                      (int)value(call, 2), MPI_BYTE, MPI_STATUS_IGNORE));
}

static void file_read_at_all(const struct call *call)
{
    check(call, MPI_File_read_at_all(*file_of(call, 0), value(call, 1), incoming,
                                     (int)value(call, 2), MPI_BYTE, MPI_STATUS_IGNORE));
}

/* file_iwrite_at REQUEST FILE OFFSET BYTES */
static void file_iwrite_at(const struct call *call)
{
    check(call, MPI_File_iwrite_at(*file_of(call, 1), value(call, 2), outgoing, (int)value(call, 3),
                                   MPI_BYTE, named_request(call)));
}

static void file_close(const struct call *call)
{
    check(call, MPI_File_close(file_of(call, 0)));
}

static void window_create(const struct call *call)
{
    MPI_Win_create(incoming, (MPI_Aint)value(call, 0), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
}

static void window_free(const struct call *call)
{
    (void)call;
    MPI_Win_free(&window);
}

static void fence(const struct call *call)
{
    (void)call;
    MPI_Win_fence(0, window);
}

/* put TARGET BYTES */
static void put(const struct call *call)
{
    int bytes = (int)value(call, 1);
    MPI_Put(outgoing, bytes, MPI_BYTE, (int)value(call, 0), 0, bytes, MPI_BYTE, window);
}

static MPI_Group group_of_one(int rank)
{
    MPI_Group world, one;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &rank, &one);
    MPI_Group_free(&world);
    return one;
}

/* post ORIGIN, win_start TARGET */
static void post(const struct call *call)
{
    MPI_Group origin = group_of_one((int)value(call, 0));
    MPI_Win_post(origin, 0, window);
    MPI_Group_free(&origin);
}

static void win_start(const struct call *call)
{
    MPI_Group target = group_of_one((int)value(call, 0));
    MPI_Win_start(target, 0, window);
    MPI_Group_free(&target);
}

static void win_complete(const struct call *call)
{
    (void)call;
    MPI_Win_complete(window);
}

static void win_wait(const struct call *call)
{
    (void)call;
    MPI_Win_wait(window);
}

/* win_lock exclusive|shared RANK, win_unlock RANK, win_flush RANK */
static void win_lock(const struct call *call)
{
    const int kind = strcmp(text(call, 0), "shared") ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED;
    MPI_Win_lock(kind, (int)value(call, 1), 0, window);
}

static void win_unlock(const struct call *call)
{
    MPI_Win_unlock((int)value(call, 0), window);
}

static void win_flush(const struct call *call)
{
    MPI_Win_flush((int)value(call, 0), window);
}

const struct operation operations_shared[] = {
    {"file_open", 1, file_open},
    {"file_write_at", 3, file_write_at},
    {"file_write_at_all", 3, file_write_at_all},
    {"file_read_at_all", 3, file_read_at_all},
    {"file_iwrite_at", 4, file_iwrite_at},
    {"file_close", 1, file_close},
    {"window", 1, window_create},
    {"window_free", 0, window_free},
    {"fence", 0, fence},
    {"put", 2, put},
    {"post", 1, post},
    {"win_start", 1, win_start},
    {"win_complete", 0, win_complete},
    {"win_wait", 0, win_wait},
    {"win_lock", 2, win_lock},
    {"win_unlock", 1, win_unlock},
    {"win_flush", 1, win_flush},
    {0},
};
