/* Storms on names of files: what costs is opening, renaming, removing and cutting, not data. */

#define _GNU_SOURCE
#include "planted.h"

#include <fcntl.h>
#include <fts.h>
#include <ftw.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void config_storm(void)
{
    int file = prepared("settings.cfg", 1);
    close(file);
    for (int i = 0; i < 6000; i++) {
        file = open_file("settings.cfg", -1, O_RDONLY);
        get_at(file, 200, 0);
        close(file);
    }
}

/* Each record is written beside its name, and renamed to it. */
static void rename_storm(void)
{
    char new[32], name[32];
    snprintf(new, sizeof new, "state.%d.new", rank);
    snprintf(name, sizeof name, "state.%d", rank);
    for (int i = 0; i < 1000; i++) {
        int file = open_file(new, -1, O_CREAT | O_WRONLY);
        put(file, 100);
        close(file);
        if (rename(new, name))
            fail(name);
    }
}

/* A file that stands for a lock, made and removed again. */
static void lock_files(void)
{
    char name[32];
    snprintf(name, sizeof name, "lock.%d", rank);
    for (int i = 0; i < 5000; i++) {
        close(open_file(name, -1, O_CREAT | O_EXCL | O_WRONLY));
        if (unlink(name))
            fail(name);
    }
}

static void directories(void)
{
    char name[48];
    for (int i = 0; i < 600; i++) {
        snprintf(name, sizeof name, "step.%d.%d", rank, i);
        if (mkdir(name, 0700) || rmdir(name))
            fail(name);
    }
}

static void truncate_each(void)
{
    int file = open_file("records", rank, O_CREAT | O_WRONLY);
    for (int i = 0; i < 8000; i++) {
        if (ftruncate(file, 100L * (i + 1)))
            fail("ftruncate");
        if (i % 10 == 0)
            put_at(file, 100, 100L * i);
    }
    close(file);
}

/* Files that are read once and removed again. */
static void temporary(void)
{
    for (int i = 0; i < 1500; i++) {
        char name[] = "piece.XXXXXX";
        int file = mkstemp(name);
        put_at(file, 4096, 0);
        get_at(file, 4096, 0);
        close(file);
        if (unlink(name))
            fail(name);
    }
}

/* Room is reserved for each record. */
static void reserve_each(void)
{
    int file = open_file("records", rank, O_CREAT | O_WRONLY);
    for (long i = 0; i < 4000; i++) {
        if (posix_fallocate(file, 4096 * i, 4096))
            fail("posix_fallocate");
        if (i % 10 == 0)
            put_at(file, 100, 4096 * i);
    }
    close(file);
}

/* --- Walks through a tree, which are made inside libc --- */

/* Before the part that is looked at: on a slow disk it takes longer than all that follows. */
static void make_tree(void)
{
    char name[48];
    MPI_Pcontrol(0);
    for (int i = 0; i < 400 && rank == 0; i++) {
        snprintf(name, sizeof name, "step.%d", i / 20);
        if (i % 20 == 0 && mkdir(name, 0700))
            fail(name);
        snprintf(name, sizeof name, "step.%d/part.%d", i / 20, i);
        close(open_file(name, -1, O_CREAT | O_WRONLY));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Pcontrol(1);
}

static double used; /* what the program does with an entry is no I/O */

static int use_entry(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    for (int i = 0; i < 100; i++)
        used += (double)status->st_size * i + kind + place->level + path[0];
    return 0;
}

static void walk_tree(void)
{
    make_tree();
    for (int i = 0; i < 60; i++)
        if (nftw(".", use_entry, 16, FTW_PHYS))
            fail("nftw");
}

static void list_tree(void)
{
    char root[] = ".", *roots[] = {root, NULL};
    make_tree();
    for (int i = 0; i < 60; i++) {
        FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
        while (tree && fts_read(tree))
            ;
        if (!tree || fts_close(tree))
            fail("fts");
    }
}

static void glob_tree(void)
{
    glob_t found;
    make_tree();
    for (int i = 0; i < 60; i++) {
        if (glob("step.*/part.*", 0, NULL, &found) || found.gl_pathc != 400)
            fail("glob");
        globfree(&found);
    }
}

/* Removes old checkpoints of 48 MB. */
static void clean_up(void)
{
    char name[32];
    for (int i = 0; i < 4; i++) {
        int file = open_file("old", 4 * rank + i, O_CREAT | O_WRONLY);
        for (int k = 0; k < 3; k++)
            put(file, 16 * MB);
        close(file);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Pcontrol(1);
    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "old.%d", 4 * rank + i);
        unlink(name);
    }
}

const struct program PLANTED_NAMES[] = {
    {"clean_up", clean_up},     {"config_storm", config_storm}, {"rename_storm", rename_storm},
    {"lock_files", lock_files}, {"directories", directories},   {"truncate_each", truncate_each},
    {"temporary", temporary},   {"reserve_each", reserve_each}, {"walk_tree", walk_tree},
    {"list_tree", list_tree},   {"glob_tree", glob_tree},       {NULL, NULL},
};
