/* Twenty programs with one known bottleneck each: test_planted.py says what the verdict must name. */

#include "planted.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void interleaved(void)
{
    int file = open_file("shared.dat", -1, O_CREAT | O_WRONLY);
    for (long i = 0; i < 40000; i++)
        put_at(file, 47, 47 * (i * ranks + rank));
    close(file);
}

static void small_files(void)
{
    for (int i = 0; i < 1000; i++) {
        int file = open_file("piece", i * ranks + rank, O_CREAT | O_WRONLY);
        put(file, 900);
        close(file);
    }
}

static void fsync_each(void)
{
    int file = open_file("journal", rank, O_CREAT | O_WRONLY);
    for (int i = 0; i < 60; i++) {
        put(file, 4096);
        fsync(file);
    }
    close(file);
}

static void o_sync(void)
{
    int file = open_file("journal", rank, O_CREAT | O_WRONLY | O_SYNC);
    for (int i = 0; i < 60; i++)
        put(file, 4096);
    close(file);
}

static void slow_rank(void)
{
    int file = open_file("out", rank, O_CREAT | O_WRONLY | (rank == 1 ? O_SYNC : 0));
    for (int i = 0; i < 100; i++)
        put(file, 4096);
    close(file);
}

static void all_read(void)
{
    int file = prepared("input.dat", 64);
    for (int i = 0; i < 64; i++)
        get_at(file, MB, (off_t)i * MB);
    close(file);
}

static void lock_contention(void)
{
    int file = open_file("counter.dat", -1, O_CREAT | O_RDWR);
    for (int i = 0; i < 150; i++) {
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 64};
        fcntl(file, F_SETLKW, &lock);
        put_at(file, 64, 0);
        compute(0.001);
        lock.l_type = F_UNLCK;
        fcntl(file, F_SETLK, &lock);
    }
    close(file);
}

/* 512 bytes of every 2048 of each rank's part: independent writes with holes. */
static void data_sieving(void)
{
    MPI_File file;
    MPI_Datatype comb, tile;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_ds_write", "enable");
    MPI_File_open(MPI_COMM_WORLD, "grid.dat", MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file);
    MPI_Type_vector(2048, 512, 2048, MPI_BYTE, &comb);
    MPI_Type_create_resized(comb, 0, 4 * MB, &tile);
    MPI_Type_commit(&tile);
    MPI_File_set_view(file, (MPI_Offset)rank * 64 * MB, MPI_BYTE, tile, "native", info);
    for (int i = 0; i < 16; i++)
        MPI_File_write(file, data, MB, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    MPI_Type_free(&comb);
    MPI_Type_free(&tile);
    MPI_Info_free(&info);
}

static void independent(void)
{
    MPI_File file;
    MPI_File_open(MPI_COMM_WORLD, "grid.dat", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL,
                  &file);
    for (MPI_Offset i = 0; i < 10000; i++)
        MPI_File_write_at(file, 128 * (i * ranks + rank), data, 128, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
}

static void set_view(void)
{
    MPI_File file;
    MPI_File_open(MPI_COMM_WORLD, "grid.dat", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL,
                  &file);
    for (MPI_Offset i = 0; i < 40000; i++)
        MPI_File_set_view(file, 64 * i, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
    MPI_File_write_at_all(file, rank, data, 1, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
}

static void unbuffered_log(void)
{
    char name[32];
    snprintf(name, sizeof name, "log.%d", rank);
    FILE *log = fopen(name, "w");
    setvbuf(log, NULL, _IONBF, 0);
    for (int i = 0; i < 40000; i++)
        fprintf(log, "step %8d residual %20.12e on rank %d\n", i, 1.0 / (i + 1), rank);
    fclose(log);
}

static void uneven_bytes(void)
{
    int file = open_file("out", rank, O_CREAT | O_WRONLY);
    for (int i = 0; i < 8 * (rank + 1) * (rank + 1); i++)
        put(file, MB);
    close(file);
}

static void random_reads(void)
{
    int file = prepared("table.dat", 256);
    unsigned state = 12345 + rank;
    for (int i = 0; i < 30000; i++) {
        state = state * 1664525 + 1013904223;
        get_at(file, 512, (off_t)(state >> 13) * 512);
    }
    close(file);
}

static void stat_loop(void)
{
    struct stat found;
    for (int i = 0; i < 60000; i++)
        stat("not-yet-there", &found);
}

static void append_line(void)
{
    for (int i = 0; i < 6000; i++) {
        int file = open_file("diag", rank, O_CREAT | O_WRONLY | O_APPEND);
        put(file, 60);
        close(file);
    }
}

static void gather_write(void)
{
    char *all = rank == 0 ? malloc((size_t)ranks * MB) : NULL;
    for (int i = 0; i < 8; i++) {
        compute(0.01);
        MPI_Gather(data, MB, MPI_BYTE, all, MB, MPI_BYTE, 0, MPI_COMM_WORLD);
        if (rank == 0) {
            int file = open_file("step", i, O_CREAT | O_WRONLY);
            if (write(file, all, (size_t)ranks * MB) < 0)
                fail("write");
            fsync(file);
            close(file);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    free(all);
}

static void serial_read(void)
{
    if (rank == 0) {
        int file = open_file("input.dat", -1, O_CREAT | O_RDWR);
        for (int i = 0; i < 1024; i++)
            put_at(file, MB, (off_t)i * MB);
        close(file);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Pcontrol(1);
    if (rank == 0) { /* from memory some machines read a GB in 50 ms */
        int file = open_file("input.dat", -1, O_RDONLY);
        for (int i = 0; i < 1000; i++)
            get_at(file, MB, (off_t)i * MB);
        close(file);
    }
    MPI_Bcast(data, MB, MPI_BYTE, 0, MPI_COMM_WORLD);
}

/* Each reads its own part of a file while the others wait: equal work, one after another. */
static void baton(void)
{
    int file = prepared("parts.dat", 128);
    for (int i = 0; i < 32; i++) {
        if (i % ranks == rank)
            for (int k = 0; k < 4; k++)
                get_at(file, MB, (off_t)(4 * i + k) * MB);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    close(file);
}

static void imbalance(void)
{
    for (int i = 0; i < 10; i++) {
        compute(rank == 1 ? 0.06 : 0.01);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void nothing_wrong(void)
{
    compute(0.3);
}

const struct program PLANTED_BASIC[] = {
    {"interleaved", interleaved},
    {"small_files", small_files},
    {"fsync_each", fsync_each},
    {"o_sync", o_sync},
    {"slow_rank", slow_rank},
    {"all_read", all_read},
    {"lock_contention", lock_contention},
    {"data_sieving", data_sieving},
    {"independent", independent},
    {"set_view", set_view},
    {"unbuffered_log", unbuffered_log},
    {"uneven_bytes", uneven_bytes},
    {"random_reads", random_reads},
    {"stat_loop", stat_loop},
    {"append_line", append_line},
    {"gather_write", gather_write},
    {"serial_read", serial_read},
    {"baton", baton},
    {"imbalance", imbalance},
    {"nothing_wrong", nothing_wrong},
    {NULL, NULL},
};
