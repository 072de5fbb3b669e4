"""What is advised about files of HDF5, netCDF and PnetCDF, where several findings say it."""

# A collective call merges what ranks ask for in it side by side. Where each rank goes on where it
# ended, what lies beside its request is its own next one, of a later call.
NEXT = "each rank goes on where it ended, so that a collective call would find little to merge"
# Small requests of ranks that share a file, by the library on top of MPI-IO and the way of calling.
OF_SHARED_FILES = {
    "hdf5, independent": "let collective transfers merge them: "
    "H5Pset_dxpl_mpio(H5FD_MPIO_COLLECTIVE); or select larger hyperslabs per H5Dwrite or "
    "H5Dread",
    "hdf5, collective": "move more in each collective transfer: larger hyperslabs per H5Dwrite "
    "or H5Dread, or larger pieces: hint cb_buffer_size",
    "hdf5, consecutive": f"select larger hyperslabs per H5Dwrite or H5Dread: {NEXT}",
    "netcdf, independent": "let collective access merge them: nc_var_par_access(…, "
    "NC_COLLECTIVE); or whole slabs per call",
    "netcdf, collective": "move more in each collective call: whole slabs (nc_put_vara, "
    "nc_get_vara), or larger pieces: hint cb_buffer_size",
    "netcdf, consecutive": f"whole slabs per call (nc_put_vara, nc_get_vara): {NEXT}",
    "pnetcdf": "whole slabs per call (ncmpi_put_vara, ncmpi_get_vara)",
    "pnetcdf, independent": "let collective calls merge them: the functions that end in _all, "
    "or ncmpi_iput_vara and ncmpi_wait_all for several variables at once",
    "pnetcdf, collective": "move more in each collective call: ncmpi_iput_vara and "
    "ncmpi_wait_all for several variables at once, or larger pieces: hint cb_buffer_size",
    "pnetcdf, consecutive": "whole slabs per call (ncmpi_put_vara, ncmpi_get_vara), or several "
    f"calls made one: ncmpi_iput_vara and ncmpi_wait_all; {NEXT}",
    "mpiio, consecutive": f"gather in memory, and write or read more per call: {NEXT}",
}

# However little has changed.
FLUSH_HDF5 = "call H5Fflush less often: each writes all that has changed, and the file's tables"
FLUSH_NETCDF = "call nc_sync less often: each writes all that has changed, and the file's tables"

# Which functions synchronise a file that ranks share, if the program itself does not.
_ONCE = "once per output, after its last write, or not at all: each synchronises the file"
SYNCHRONISED_BY = {
    "hdf5": f"call H5Fflush of a file that ranks share, or fsync, {_ONCE}",
    "netcdf": f"call nc_sync of a file that ranks share, or fsync, {_ONCE}",
    "pnetcdf": f"call ncmpi_sync {_ONCE}",
}

# What is done to numbers on their way to these files, and back.
QUICKER_HDF5 = (
    "where it is compressed, do so by a lower level (H5Pset_deflate, in h5py compression_opts), by "
    "a quicker filter (lzf), or not at all; keep numbers in memory in the file's own type, which "
    "needs no conversion"
)
QUICKER_NETCDF = (
    "where it is compressed, do so by a lower level (nc_def_var_deflate, in Python complevel), or "
    "not at all; keep numbers in memory in the file's own type, which needs no conversion"
)
