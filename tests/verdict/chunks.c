/* Computes, and writes a data set of HDF5 in one large chunk that a filter changes (deflate, szip,
 * scale-offset, one of chunk_filter.c that the program registers or that HDF5 loads), in one that
 * it leaves as it is, or without chunks; or reads it through such a filter. Prints for how long it
 * was in HDF5's calls that do it, s: chunks KIND FILE, by the names below. */
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "H5PLextern.h"

enum { VALUES = 2000000, KEPT = 1000, FILTER = 300, PIXELS = 32, NOT_OFFERED = 77 };

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
    if (!strcmp(kind, "szip") && H5Zfilter_avail(H5Z_FILTER_SZIP) <= 0)
        exit(NOT_OFFERED);
    if (!strcmp(kind, "szip"))
        H5Pset_szip(list, H5_SZIP_NN_OPTION_MASK, PIXELS);
    if (!strcmp(kind, "scale"))
        H5Pset_scaleoffset(list, H5Z_SO_FLOAT_DSCALE, 3);
    if (!strcmp(kind, "registered"))
        H5Zregister(H5PLget_plugin_info());
    if (!strcmp(kind, "registered") || !strcmp(kind, "plugin"))
        H5Pset_filter(list, FILTER, H5Z_FLAG_MANDATORY, 0, NULL);
    return list;
}

static int read_back(const char *path, double *values)
{
    H5Zregister(H5PLget_plugin_info());
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t set = H5Dopen2(file, "field", H5P_DEFAULT);
    double begin = now();
    herr_t result = H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    printf("%.9f\n", now() - begin);
    H5Dclose(set);
    return H5Fclose(file) < 0 || result < 0;
}

int main(int count, char **words)
{
    hsize_t length = VALUES;
    if (count != 3)
        return 2;
    double *values = computed();
    if (!strcmp(words[1], "read"))
        return read_back(words[2], values);
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
