/* One data set, "data", and one H5Dwrite for a buffer, which selects the rank's blocks by a
 * hyperslab. */
#include "info.h"
#include "transfers.h"

#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THE_FILE, THE_DATA, THE_WAY };

/* HDF5's own words for the innermost failure. */
static herr_t innermost(unsigned n, const H5E_error2_t *error, void *text)
{
    (void)n;
    snprintf(text, 256, "%s", error->desc ? error->desc : "HDF5 does not say why");
    return 1;
}

static int failed(struct transfer *transfer, const char *what)
{
    char reason[256] = "HDF5 does not say why";
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, innermost, reason);
    H5Eclear2(H5E_DEFAULT);
    snprintf(transfer->problem.sentence, sizeof transfer->problem.sentence,
             "cannot %s '%.500s': %s", what, transfer->path, reason);
    return -1;
}

/* The value of a setting that was given; NULL: it was not. */
static const char *setting_of(const struct transfer *transfer, const char *name)
{
    const size_t length = strlen(name);
    for (const char *const *setting = transfer->io.settings; *setting; setting++)
        if (strncmp(*setting, name, length) == 0 && (*setting)[length] == '=')
            return *setting + length + 1;
    return NULL;
}

static hid_t file_access(const struct transfer *transfer)
{
    const char *alignment = setting_of(transfer, "alignment_bytes");
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    MPI_Info info = info_from_hints(transfer->io.hints);
    H5Pset_fapl_mpio(access, transfer->io.comm, info);
    if (info != MPI_INFO_NULL)
        MPI_Info_free(&info);
    if (alignment && atoll(alignment) > 0)
        H5Pset_alignment(access, 1, (hsize_t)atoll(alignment));
    return access;
}

/* setting chunk: contiguous, block (as h5perf's -c), or a number of bytes. */
static hid_t layout(const struct transfer *transfer)
{
    const char *chunk = setting_of(transfer, "chunk");
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    hsize_t elements = chunk ? (hsize_t)(atoll(chunk) / ELEMENT_BYTES) : 0;
    if (chunk && strcmp(chunk, "block") == 0)
        elements = (hsize_t)(transfer->pattern.block_bytes / ELEMENT_BYTES);
    if (elements > 0)
        H5Pset_chunk(creation, 1, &elements);
    return creation;
}

static hid_t whole_space(const struct transfer *transfer)
{
    const hsize_t elements = (hsize_t)(transfer->pattern.file_bytes / ELEMENT_BYTES);
    return H5Screate_simple(1, &elements, NULL);
}

static hid_t create_data(const struct transfer *transfer)
{
    const hid_t space = whole_space(transfer), creation = layout(transfer);
    const hid_t data = H5Dcreate2((hid_t)transfer->handle[THE_FILE], "data", H5T_STD_I32LE, space,
                                  H5P_DEFAULT, creation, H5P_DEFAULT);
    H5Pclose(creation);
    H5Sclose(space);
    return data;
}

static int open_file(struct transfer *transfer, bool to_write)
{
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL); /* failures are told in one sentence, not as a stack */
    const hid_t access = file_access(transfer);
    transfer->handle[THE_DATA] = H5I_INVALID_HID;
    transfer->handle[THE_WAY] = H5Pcreate(H5P_DATASET_XFER);
    H5Pset_dxpl_mpio((hid_t)transfer->handle[THE_WAY],
                     transfer->pattern.collective ? H5FD_MPIO_COLLECTIVE : H5FD_MPIO_INDEPENDENT);
    transfer->handle[THE_FILE] =
        to_write ? H5Fcreate(transfer->open_path, H5F_ACC_TRUNC, H5P_DEFAULT, access)
                 : H5Fopen(transfer->open_path, H5F_ACC_RDONLY, access);
    H5Pclose(access);
    if (transfer->handle[THE_FILE] < 0)
        return failed(transfer, "open");
    transfer->handle[THE_DATA] =
        to_write ? create_data(transfer)
                 : H5Dopen2((hid_t)transfer->handle[THE_FILE], "data", H5P_DEFAULT);
    return transfer->handle[THE_DATA] < 0
               ? failed(transfer, to_write ? "create the data set of" : "open the data set of")
               : 0;
}

/* All blocks but a shorter last one are one hyperslab. */
static void select_blocks(const struct transfer *transfer, hid_t space)
{
    const hsize_t stride =
        (hsize_t)(transfer->pattern.block_bytes / ELEMENT_BYTES) * (hsize_t)transfer->ranks;
    const gridio_block *last =
        transfer->data.blocks > 0 ? &transfer->block[transfer->data.blocks - 1] : NULL;
    const hsize_t before = (hsize_t)transfer->data.blocks - 1, one = 1;
    H5Sselect_none(space);
    if (!last)
        return;
    const hsize_t start = (hsize_t)transfer->block[0].start[0],
                  count = (hsize_t)transfer->block[0].count[0];
    const hsize_t last_start = (hsize_t)last->start[0], last_count = (hsize_t)last->count[0];
    const bool regular = count == last_count;
    const hsize_t many = regular ? before + 1 : before;
    if (many > 0)
        H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, many > 1 ? &stride : NULL, &many,
                            &count);
    if (!regular)
        H5Sselect_hyperslab(space, many > 0 ? H5S_SELECT_OR : H5S_SELECT_SET, &last_start, NULL,
                            &one, &last_count);
}

static int move_call(struct transfer *transfer, bool to_write)
{
    const hid_t data = (hid_t)transfer->handle[THE_DATA], way = (hid_t)transfer->handle[THE_WAY];
    const hsize_t elements = (hsize_t)(transfer->bytes / ELEMENT_BYTES),
                  room = elements > 0 ? elements : 1;
    if (elements == 0 && !transfer->pattern.collective)
        return 0;
    const hid_t space = whole_space(transfer), memory = H5Screate_simple(1, &room, NULL);
    select_blocks(transfer, space);
    if (elements == 0)
        H5Sselect_none(memory);
    const herr_t status =
        to_write ? H5Dwrite(data, H5T_NATIVE_INT32, memory, space, way, transfer->buffer)
                 : H5Dread(data, H5T_NATIVE_INT32, memory, space, way, transfer->buffer);
    H5Sclose(memory);
    H5Sclose(space);
    return status < 0 ? failed(transfer, to_write ? "write" : "read") : 0;
}

static int sync_file(struct transfer *transfer)
{
    return H5Fflush((hid_t)transfer->handle[THE_FILE], H5F_SCOPE_GLOBAL) < 0
               ? failed(transfer, "sync")
               : 0;
}

static int close_file(struct transfer *transfer)
{
    int status = 0;
    H5Pclose((hid_t)transfer->handle[THE_WAY]);
    if (transfer->handle[THE_DATA] >= 0 && H5Dclose((hid_t)transfer->handle[THE_DATA]) < 0)
        status = failed(transfer, "close");
    if (H5Fclose((hid_t)transfer->handle[THE_FILE]) < 0 && status == 0)
        status = failed(transfer, "close");
    return status;
}

/* As the MPI-IO file below reports them. */
static void hints(struct transfer *transfer,
                  void (*visit)(const char *key, const char *value, void *context), void *context)
{
    MPI_File *below = NULL;
    const hid_t access = H5Fget_access_plist((hid_t)transfer->handle[THE_FILE]);
    if (H5Fget_vfd_handle((hid_t)transfer->handle[THE_FILE], access, (void **)&below) >= 0 && below)
        info_in_force(*below, visit, context);
    H5Pclose(access);
}

const struct transfer_interface INTERFACE_HDF5 = {"hdf5",    ".h5",     "hdf5",     open_file,
                                                  move_call, sync_file, close_file, hints};
