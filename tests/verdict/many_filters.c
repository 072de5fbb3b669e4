/* Writes a chunk of HDF5 through twelve filters of its own, 300 to 311, that leave it as it is:
 * many_filters FILE. */
#include <hdf5.h>

enum { VALUES = 1000000, FIRST = 300 };

#define EACH(filter)                                                                               \
    filter(0) filter(1) filter(2) filter(3) filter(4) filter(5) filter(6) filter(7) filter(8)      \
        filter(9) filter(10) filter(11)
#define FUNCTION(number)                                                                           \
    static size_t filter_##number(unsigned flags, size_t count, const unsigned values[],           \
                                  size_t bytes, size_t *room, void **buffer)                       \
    {                                                                                              \
        (void)flags, (void)count, (void)values, (void)room;                                        \
        ((volatile char *)*buffer)[number] = number;                                               \
        return bytes;                                                                              \
    }
EACH(FUNCTION)

#define CLASS(number) {H5Z_CLASS_T_VERS, FIRST + number, 1, 1, "", NULL, NULL, filter_##number},
static const H5Z_class2_t classes[] = {EACH(CLASS)};

int main(int count, char **words)
{
    static double values[VALUES];
    hsize_t length = VALUES;
    hid_t list = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(1, &length, NULL);
    if (count != 2)
        return 2;
    H5Pset_chunk(list, 1, &length);
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        H5Zregister(&classes[i]);
        H5Pset_filter(list, classes[i].id, H5Z_FLAG_MANDATORY, 0, NULL);
    }
    hid_t file = H5Fcreate(words[1], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t set = H5Dcreate2(file, "x", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, list, H5P_DEFAULT);
    herr_t result = H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    H5Dclose(set);
    return H5Fclose(file) < 0 || result < 0;
}
