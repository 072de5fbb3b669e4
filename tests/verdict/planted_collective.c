/* MPI-IO used badly, and once well. */

#include "planted.h"

#include <stdlib.h>

static MPI_File opened(const char *name, const char *key, const char *value)
{
    MPI_File file;
    MPI_Info info;
    MPI_Info_create(&info);
    if (key)
        MPI_Info_set(info, key, value);
    MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file);
    MPI_Info_free(&info);
    return file;
}

/* Each rank has every fourth KiB, and one rank writes for all. */
static void one_aggregator(void)
{
    MPI_File file = opened("field.dat", NULL, NULL);
    MPI_Datatype comb, tile;
    MPI_Type_vector(4096, 1024, 1024 * ranks, MPI_BYTE, &comb);
    MPI_Type_create_resized(comb, 0, (MPI_Aint)4096 * 1024 * ranks, &tile);
    MPI_Type_commit(&tile);
    MPI_File_set_view(file, (MPI_Offset)1024 * rank, MPI_BYTE, tile, "native", MPI_INFO_NULL);
    for (int i = 0; i < 6; i++)
        MPI_File_write_all(file, data, 4 * MB, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    MPI_Type_free(&comb);
    MPI_Type_free(&tile);
}

static void sync_each_write(void)
{
    MPI_File file = opened("field.dat", NULL, NULL);
    for (MPI_Offset i = 0; i < 4; i++) {
        MPI_File_write_at_all(file, 512 * (i * ranks + rank), data, 512, MPI_BYTE,
                              MPI_STATUS_IGNORE);
        MPI_File_sync(file);
    }
    MPI_File_close(&file);
}

static void shared_pointer(void)
{
    MPI_File file = opened("events.dat", NULL, NULL);
    for (int i = 0; i < 4000; i++)
        MPI_File_write_shared(file, data, 64, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
}

static void ordered(void)
{
    MPI_File file = opened("events.dat", NULL, NULL);
    for (int i = 0; i < 300; i++)
        MPI_File_write_ordered(file, data, 64, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
}

/* A file is opened by all ranks for each record. */
static void open_each_step(void)
{
    for (int i = 0; i < 60; i++) {
        MPI_File file = opened("steps.dat", NULL, NULL);
        MPI_File_write_at_all(file, (MPI_Offset)512 * (i * ranks + rank), data, 512, MPI_BYTE,
                              MPI_STATUS_IGNORE);
        MPI_File_close(&file);
    }
}

/* Each rank reads all of the file, collectively. */
static void read_all_of_it(void)
{
    int made = prepared("mesh.dat", 64);
    (void)made;
    MPI_File file = opened("mesh.dat", "romio_cb_read", "disable");
    for (MPI_Offset i = 0; i < 64; i++)
        MPI_File_read_at_all(file, i * MB, data, MB, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
}

/* One large write, hidden behind computation. */
static void overlapped(void)
{
    MPI_File file = opened("history.dat", NULL, NULL);
    for (int i = 0; i < 4; i++) {
        MPI_Request request;
        MPI_File_iwrite_at(file, (MPI_Offset)(i * ranks + rank) * MB, data, MB, MPI_BYTE, &request);
        compute(0.4); // beside which a disk may take several milliseconds
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_File_close(&file);
}

/* The same, waited for at once. */
static void waited_for(void)
{
    MPI_File file = opened("history.dat", NULL, NULL);
    for (int i = 0; i < 16; i++) {
        MPI_Request request;
        MPI_File_iwrite_at(file, (MPI_Offset)(i * ranks + rank) * 4 * MB, data, 4 * MB, MPI_BYTE,
                           &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_File_close(&file);
}

static void ask_size(void)
{
    MPI_File file = opened("field.dat", NULL, NULL);
    MPI_Offset size;
    for (int i = 0; i < 30000; i++)
        MPI_File_get_size(file, &size);
    MPI_File_close(&file);
}

/* 16 bytes of every KiB, each rank on its own. */
static void sieved_reads(void)
{
    (void)prepared("grid.dat", 64);
    MPI_File file = opened("grid.dat", NULL, NULL);
    MPI_Datatype comb, tile;
    MPI_Type_vector(4096, 16, 1024, MPI_BYTE, &comb);
    MPI_Type_create_resized(comb, 0, 4 * MB, &tile);
    MPI_Type_commit(&tile);
    MPI_File_set_view(file, (MPI_Offset)512 * rank, MPI_BYTE, tile, "native", MPI_INFO_NULL);
    for (int pass = 0; pass < 4; pass++)
        for (MPI_Offset i = 0; i < 15; i++)
            MPI_File_read_at(file, i * 65536, data, 65536, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    MPI_Type_free(&comb);
    MPI_Type_free(&tile);
}

/* Each rank has a part of its own, and nothing is sieved: what locks is atomic access. */
static void atomic_access(void)
{
    MPI_File file;
    MPI_File_open(MPI_COMM_WORLD, "field.dat", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                  &file);
    MPI_File_set_atomicity(file, 1);
    for (MPI_Offset i = 0; i < 20000; i++)
        MPI_File_write_at(file, 16 * (i + 20000 * (MPI_Offset)rank), data, 16, MPI_BYTE,
                          MPI_STATUS_IGNORE);
    MPI_File_close(&file);
}

const struct program PLANTED_COLLECTIVE[] = {
    {"one_aggregator", one_aggregator}, {"sync_each_write", sync_each_write},
    {"shared_pointer", shared_pointer}, {"ordered", ordered},
    {"atomic_access", atomic_access},   {"open_each_step", open_each_step},
    {"read_all_of_it", read_all_of_it}, {"overlapped", overlapped},
    {"waited_for", waited_for},         {"ask_size", ask_size},
    {"sieved_reads", sieved_reads},     {NULL, NULL},
};
