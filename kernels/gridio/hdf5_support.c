/* Files on HDF5: how they are opened, flushed and asked for their hints, and what HDF5 says when it
 * fails. */
#include "hdf5_support.h"

#include "hdf5_reason.h"

#include <unistd.h>

/* --- failures --- */

int hdf5_fail(gridio_file *file, const char *what)
{
    return gridio_fail(file, "cannot %s '%s': %s", what, file->path, hdf5_reason());
}

int hdf5_check(gridio_file *file, int64_t value, const char *what)
{
    return value < 0 ? hdf5_fail(file, what) : 0;
}

/* --- files --- */

static bool is_alone(const gridio_file *file)
{
    return file->method->needs == GRIDIO_ALONE;
}

/* Version 1.8's file format is what CGNS's and netCDF's readers expect, and one without a mark of
 * an open file: after a crash it can be read without repair. */
hid_t hdf5_access(gridio_file *file)
{
    hdf5_keep_reasons();
    const int64_t alignment = gridio_setting_number(file, "alignment_bytes", 1);
    const int64_t threshold = gridio_setting_number(file, "alignment_threshold_bytes", 1);
    const bool collective =
        gridio_setting_is(file, "metadata", "collective|independent", "independent", "collective");
    hid_t list = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_libver_bounds(list, H5F_LIBVER_EARLIEST, H5F_LIBVER_V18);
    if (alignment > 1)
        H5Pset_alignment(list, (hsize_t)threshold, (hsize_t)alignment);
    if (is_alone(file)) {
        H5Pset_file_locking(list, true, true); /* where the file system has no locks, without */
        return list;
    }
    H5Pset_fapl_mpio(list, file->accessors, file->info);
    H5Pset_coll_metadata_write(list, collective);
    H5Pset_all_coll_metadata_ops(list, collective && file->mode == GRIDIO_READ);
    return list;
}

/* Creation order, so that variables keep their numbers. */
static hid_t creation_properties(void)
{
    hid_t list = H5Pcreate(H5P_FILE_CREATE);
    H5Pset_link_creation_order(list, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
    return list;
}

hid_t hdf5_create(gridio_file *file, const char *path)
{
    hid_t access = hdf5_access(file), creation = creation_properties();
    hid_t id = H5Fcreate(path, H5F_ACC_TRUNC, creation, access);
    if (id < 0)
        hdf5_fail(file, "create");
    H5Pclose(creation);
    H5Pclose(access);
    return id;
}

hid_t hdf5_open(gridio_file *file, const char *path)
{
    hid_t access = hdf5_access(file);
    hid_t id = H5Fopen(path, H5F_ACC_RDONLY, access);
    if (id < 0)
        hdf5_fail(file, "open");
    H5Pclose(access);
    return id;
}

/* The driver's own handle of the file: an MPI_File or a descriptor. NULL: it has none. */
static void *driver_handle(hid_t id, hid_t driver)
{
    void *handle = NULL;
    hid_t access = H5Fget_access_plist(id);
    if (access < 0)
        return NULL;
    if (H5Pget_driver(access) != driver || H5Fget_vfd_handle(id, access, &handle) < 0)
        handle = NULL;
    H5Pclose(access);
    return handle;
}

/* HDF5 flushes through MPI_File_sync with the MPI driver, but leaves the serial one's data to the
 * system. */
int hdf5_flush(gridio_file *file, hid_t id)
{
    if (H5Fflush(id, H5F_SCOPE_GLOBAL) < 0)
        return hdf5_fail(file, "flush");
    const int *descriptor = driver_handle(id, H5FD_SEC2);
    if (descriptor && fsync(*descriptor) != 0)
        return gridio_fail(file, "cannot sync '%s': %m", file->path);
    return 0;
}

void hdf5_hints(hid_t id, void (*visit)(const char *, const char *, void *), void *context)
{
    const MPI_File *mpi = driver_handle(id, H5FD_MPIO);
    MPI_Info info;
    if (!mpi || MPI_File_get_info(*mpi, &info) != MPI_SUCCESS || info == MPI_INFO_NULL)
        return;
    gridio_visit_hints(info, visit, context);
}
