/* Writes and reads a wave on 64 x 48 points: mpicc wave.c $(pkg-config --cflags --libs gridio) -lm
 * -o wave mpiexec -n 4 ./wave collective mpiio wave.grid */
#include <gridio.h>
#include <math.h>
#include <stdio.h>

enum { NY = 48, NX = 64, STEPS = 5 };

int main(int count, char **words)
{
    MPI_Init(&count, &words);
    int rank, ranks, wave, wrong = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int64_t begin = NY * rank / ranks,
                  end = NY * (rank + 1) / ranks; /* the rows of this rank */
    const gridio_block mine = {.start = {begin, 0}, .count = {end - begin, NX}};
    const gridio_variable variable = {.name = "wave",
                                      .units = "m",
                                      .dimensions = 2,
                                      .size = {NY, NX},
                                      .tiled = true,
                                      .every_step = true};
    const gridio_options options = {.method = words[1], .format = words[2]};
    gridio_file *file;
    static double height[NY][NX], back[NY][NX];

    int failed = gridio_open(&file, words[3], GRIDIO_WRITE, &options, MPI_COMM_WORLD);
    failed =
        failed || gridio_define(file, &variable, 1, &mine, &wave) || gridio_end_definitions(file);
    for (int step = 0; step < STEPS && !failed; step++) {
        for (int64_t y = begin; y < end; y++)
            for (int x = 0; x < NX; x++)
                height[y - begin][x] = sin(0.1 * x + 0.2 * (double)y - step);
        failed = gridio_write(file, wave, step, height) || gridio_sync(file);
    }
    failed = failed || gridio_close(&file);
    failed = failed || gridio_open(&file, words[3], GRIDIO_READ, &options, MPI_COMM_WORLD);
    failed =
        failed || gridio_select(file, wave, 1, &mine) || gridio_read(file, wave, STEPS - 1, back);
    failed = failed || gridio_close(&file);
    for (int64_t i = 0; i < (end - begin) * NX; i++)
        wrong += back[0][i] != height[0][i];
    if (failed || wrong)
        fprintf(stderr, "wave: rank %d: %s\n", rank,
                failed ? gridio_error() : "other numbers come back");
    MPI_Finalize();
    return failed || wrong;
}
