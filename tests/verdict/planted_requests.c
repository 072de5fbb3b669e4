/* Requests that are small, in a bad order, or needless. */

#define _GNU_SOURCE
#include "planted.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Each rank reads records of its own, from the last to the first. */
static void backward(void)
{
    int file = prepared("table.dat", 32);
    for (long i = 20000; i-- > 0;) {
        if (lseek(file, 512 * (40000L * rank + i), SEEK_SET) < 0 || read(file, data, 512) != 512)
            fail("table.dat");
    }
    close(file);
}

/* Reads records here and there, each after a seek. */
static void sought_reads(void)
{
    int file = prepared("table.dat", 32);
    unsigned record = 1 + (unsigned)rank;
    for (int i = 0; i < 40000; i++) {
        record = (record * 1103515245U + 12345U) & 0xffff;
        if (lseek(file, 512L * record, SEEK_SET) < 0 || read(file, data, 512) != 512)
            fail("table.dat");
    }
    close(file);
}

/* Seeks to where it stands before each read: a habit of libraries, and no jump. */
static void sought_in_order(void)
{
    int file = prepared("table.dat", 32);
    for (long i = 0; i < 20000; i++) {
        if (lseek(file, 512 * (40000L * rank + i), SEEK_SET) < 0 || read(file, data, 512) != 512)
            fail("table.dat");
    }
    close(file);
}

static void direct_small(void)
{
    void *block = NULL;
    if (posix_memalign(&block, 4096, 4096))
        fail("posix_memalign");
    int file = open_file("direct", rank, O_CREAT | O_WRONLY | O_DIRECT);
    for (int i = 0; i < 2000; i++)
        if (write(file, block, 4096) != 4096)
            fail("write");
    close(file);
    free(block);
}

static void append_all(void)
{
    int file = open_file("run.log", -1, O_CREAT | O_WRONLY | O_APPEND);
    for (int i = 0; i < 20000; i++)
        put(file, 60);
    close(file);
}

/* All ranks print each line at once into the file that stdout is. */
static void flushed_stdout(void)
{
    if (!freopen(rank ? "stdout.1" : "stdout.0", "w", stdout))
        fail("stdout");
    for (int i = 0; i < 20000; i++) {
        printf("step %d: residual %g\n", i, 1.0 / (i + 1));
        fflush(stdout);
    }
}

/* Reads all of the file through stdio to use a part of it. */
static void whole_for_part(void)
{
    close(prepared("basis.dat", 48));
    FILE *file = fopen("basis.dat", "r");
    for (int i = 0; i < 48; i++)
        if (fread(data, 1, MB, file) != MB)
            fail("basis.dat");
    fclose(file);
}

/* Each rank writes the whole of the same state, where one would do. */
static void all_write(void)
{
    int file = open_file("state.dat", -1, O_CREAT | O_WRONLY);
    for (int i = 0; i < 48; i++)
        put(file, MB);
    close(file);
}

/* Each file is read again and again after it was written. */
static void read_back(void)
{
    for (int i = 0; i < 8; i++) {
        int file = open_file("part", i * ranks + rank, O_CREAT | O_RDWR);
        put_at(file, MB / 4, 0);
        for (int pass = 0; pass < 600; pass++)
            get_at(file, MB / 4, 0);
        close(file);
    }
}

/* Each step opens the forcing anew, and reads all of it from its begin. */
static void read_each_step(void)
{
    close(prepared("forcing.dat", 16));
    for (int step = 0; step < 60; step++) {
        int file = open_file("forcing.dat", -1, O_RDONLY);
        while (read(file, data, MB) > 0)
            ;
        close(file);
    }
}

/* Only the headers of records are wanted: small reads with gaps. */
static void headers(void)
{
    int file = prepared("series.dat", 64);
    for (long i = 0; i < 60000; i++)
        get_at(file, 16, 1100 * i);
    close(file);
}

/* Records go to their places through a stream: each seek writes what its buffer holds. */
static void placed(void)
{
    char name[32];
    snprintf(name, sizeof name, "cells.%d", rank);
    FILE *file = fopen(name, "w");
    for (long i = 0; i < 40000; i++) {
        fseek(file, i * 7919 % 40000 * 64, SEEK_SET);
        fwrite(data, 64, 1, file);
    }
    fclose(file);
}

/* Wants 16 B of each record, here and there, through a stream: each seek fills its buffer. */
static void stream_seeks(void)
{
    close(prepared("table.dat", 32));
    FILE *file = fopen("table.dat", "r");
    unsigned record = 1 + (unsigned)rank;
    for (int i = 0; i < 40000; i++) {
        record = (record * 1103515245U + 12345U) & 0xffff;
        if (!file || fseek(file, 512L * record + 16, SEEK_SET) || !fread(data, 16, 1, file))
            fail("table.dat");
    }
    fclose(file);
}

const struct program PLANTED_REQUESTS[] = {
    {"backward", backward},
    {"sought_reads", sought_reads},
    {"sought_in_order", sought_in_order},
    {"direct_small", direct_small},
    {"append_all", append_all},
    {"flushed_stdout", flushed_stdout},
    {"whole_for_part", whole_for_part},
    {"all_write", all_write},
    {"read_back", read_back},
    {"read_each_step", read_each_step},
    {"headers", headers},
    {"placed", placed},
    {"stream_seeks", stream_seeks},
    {NULL, NULL},
};
