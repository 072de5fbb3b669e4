/* Computes, and writes a data set of HDF5 in one large chunk, whose filter compresses it, in one
 * that it leaves as it is, or without chunks: chunks deflate|chunked|contiguous FILE. Prints for
 * how long it was in HDF5's calls that write, s. */
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { VALUES = 2000000, KEPT = 1000 };

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Values of few digits: deflate finds them again, but not at once. */
static double *computed(void)
{
    double *values = malloc(VALUES * sizeof *values);
    for (double end = now() + 0.3; now() < end;)
        for (int i = 0; i < VALUES; i++)
            values[i] = (double)(rand() % KEPT) / KEPT;
    return values;
}

static hid_t as_asked(const char *kind)
{
    hsize_t chunk = VALUES;
    hid_t list = H5Pcreate(H5P_DATASET_CREATE);
    if (strcmp(kind, "contiguous"))
        H5Pset_chunk(list, 1, &chunk);
    if (!strcmp(kind, "deflate"))
        H5Pset_deflate(list, 6);
    return list;
}

int main(int count, char **words)
{
    hsize_t length = VALUES;
    if (count != 3)
        return 2;
    double *values = computed();
    hid_t file = H5Fcreate(words[2], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(1, &length, NULL), list = as_asked(words[1]);
    hid_t set = H5Dcreate2(file, "field", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, list, H5P_DEFAULT);
    double begin = now();
    herr_t result = H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    H5Dclose(set); /* a chunk may stay in memory until here */
    printf("%.9f\n", now() - begin);
    H5Pclose(list);
    H5Sclose(space);
    return H5Fclose(file) < 0 || result < 0;
}
