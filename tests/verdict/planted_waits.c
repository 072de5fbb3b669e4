/* Ranks that wait: for what others make, hold, synchronise, format or write; pieces that nobody
 * merges, and files without a name. */

#include "planted.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Five places of which none is there. */
static void looked_for(void)
{
    char name[32];
    for (int i = 0; i < 50000; i++) {
        snprintf(name, sizeof name, "settings/%d/app.cfg", i % 5);
        if (open(name, O_RDONLY) >= 0)
            fail(name);
    }
}

/* Rank 0 computes, and the others spin until it has made a file. */
static void tried_flag(void)
{
    int file;
    if (rank == 0) {
        compute(0.5);
        close(open_file("flag", -1, O_CREAT | O_WRONLY));
        return;
    }
    while ((file = open("flag", O_RDONLY)) < 0)
        continue;
    close(file);
}

/* Whoever makes the file has his turn, and removes it behind that. */
static void lock_file(void)
{
    int file;
    for (int i = 0; i < 40; i++) {
        while ((file = open("lock", O_CREAT | O_EXCL | O_WRONLY, 0600)) < 0)
            continue;
        if (write(file, &rank, sizeof rank) != sizeof rank || close(file))
            fail("lock");
        compute(0.004);
        unlink("lock");
        usleep(1000);
    }
}

static void set_lock(int file, int type)
{
    struct flock lock = {.l_type = (short)type, .l_whence = SEEK_SET, .l_len = 1};
    if (fcntl(file, F_SETLKW, &lock))
        fail("fcntl");
}

/* Rank 1 waits for locks that a child of rank 0 holds, which is no rank. */
static void held_by_child(void)
{
    int file = open_file("state", -1, O_CREAT | O_RDWR), ready[2];
    char byte = 0;
    pid_t child = 0;
    if (rank == 0) {
        if (pipe(ready) || (child = fork()) < 0)
            fail("fork");
        for (int i = 0; child == 0; i++) {
            set_lock(file, F_WRLCK);
            if (i == 0 && write(ready[1], &byte, 1) != 1)
                _exit(1);
            usleep(60000);
            set_lock(file, F_UNLCK);
            usleep(2000);
            if (i == 9)
                _exit(0);
        }
        if (read(ready[0], &byte, 1) != 1)
            fail("pipe");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 8 && rank == 1; i++) {
        set_lock(file, F_WRLCK);
        set_lock(file, F_UNLCK);
        usleep(4000);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (child > 0)
        waitpid(child, NULL, 0);
    close(file);
}

/* Each rank writes a file of its own, and rank 0 has all of them synchronised. */
static void sync_for_all(void)
{
    int file = open_file("part", rank, O_CREAT | O_WRONLY);
    for (int i = 0; i < 30; i++) {
        put(file, 65536);
        if (rank == 0 && i % 2 == 0)
            fsync(file);
        else if (rank == 0)
            sync();
        MPI_Barrier(MPI_COMM_WORLD);
    }
    close(file);
}

/* Rows of 256 B, which collective calls could merge. */
static void pieces_unmerged(void)
{
    MPI_Info info;
    MPI_File file;
    MPI_Datatype rows;
    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_cb_write", "disable");
    MPI_Info_set(info, "romio_ds_write", "disable");
    MPI_Type_create_subarray(2, (int[]){4096, 256 * ranks}, (int[]){4096, 256},
                             (int[]){0, 256 * rank}, MPI_ORDER_C, MPI_BYTE, &rows);
    MPI_Type_commit(&rows);
    if (MPI_File_open(MPI_COMM_WORLD, "grid.dat", MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file))
        fail("grid.dat");
    MPI_File_set_view(file, 0, MPI_BYTE, rows, "native", info);
    for (int i = 0; i < 15; i++)
        MPI_File_write_all(file, data, MB, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    MPI_Type_free(&rows);
    MPI_Info_free(&info);
}

/* Rank 0 gathers a field and makes text of it, while the others wait. */
static void format_for_all(void)
{
    enum { VALUES = 100000 };
    double *part = calloc(VALUES, sizeof *part), *field = calloc(VALUES * ranks, sizeof *field);
    FILE *file = rank == 0 ? fopen("history.txt", "w") : NULL;
    if (!part || !field || (rank == 0 && !file))
        fail("history.txt");
    for (int i = 0; i < VALUES; i++)
        part[i] = i / (rank + 1.7);
    for (int i = 0; i < 4; i++) {
        compute(0.01);
        MPI_Gather(part, VALUES, MPI_DOUBLE, field, VALUES, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        for (int j = 0; j < VALUES * ranks && rank == 0; j++)
            fprintf(file, "%20.12e\n", field[j]);
    }
    if (file)
        fclose(file);
    free(part);
    free(field);
}

/* Each rank makes text of its numbers, and rank 1 has three times as many: nobody computes for
 * longer than the other. */
static void format_unevenly(void)
{
    for (int step = 0; step < 8; step++) {
        char name[64];
        snprintf(name, sizeof name, "part.%d.%d", rank, step);
        FILE *file = fopen(name, "w");
        if (!file)
            fail(name);
        compute(0.005);
        for (int i = 0; i < (rank == 1 ? 75000 : 25000); i++)
            fprintf(file, "%20.12e\n", i / 7.0);
        fclose(file);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* Files without a name, one after another. */
static void nameless(void)
{
    for (int i = 0; i < 2000; i++) {
        FILE *file = tmpfile();
        if (!file || fwrite(data, 1, 1000, file) != 1000)
            fail("tmpfile");
        fclose(file);
    }
}

/* Two of the ranks, in a communicator of their own, write for all. */
static void few_open(void)
{
    MPI_Comm writers;
    MPI_Comm_split(MPI_COMM_WORLD, rank < 2 ? 0 : MPI_UNDEFINED, rank, &writers);
    if (writers != MPI_COMM_NULL) {
        MPI_File file;
        if (MPI_File_open(writers, "field.dat", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL,
                          &file))
            fail("field.dat");
        for (int i = 0; i < 60; i++)
            MPI_File_write_at(file, (2 * i + rank) * (MPI_Offset)(2 * MB), data, 2 * MB, MPI_BYTE,
                              MPI_STATUS_IGNORE);
        MPI_File_close(&file);
        MPI_Comm_free(&writers);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

const struct program PLANTED_WAITS[] = {
    {"looked_for", looked_for},
    {"tried_flag", tried_flag},
    {"lock_file", lock_file},
    {"held_by_child", held_by_child},
    {"sync_for_all", sync_for_all},
    {"pieces_unmerged", pieces_unmerged},
    {"format_for_all", format_for_all},
    {"format_unevenly", format_unevenly},
    {"nameless", nameless},
    {"few_open", few_open},
    {NULL, NULL},
};
