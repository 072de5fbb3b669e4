"""What to change where MPI-IO is Open MPI's OMPIO, which knows no hints of ROMIO's."""

# OMPIO has no two phases for these: it makes each rank's pieces one by one.
_BLOCKING = (
    "call MPI_File_write_all or MPI_File_read_all: in Open MPI the collective calls that do not "
    "block merge nothing, and ask for each piece alone"
)

_NO_SIEVING = "OMPI_MCA_fbtl_posix_write_datasieving=0"
# Left to itself it may take the component "individual", which merges nothing.
_MERGING = (
    "have Open MPI merge the ranks' pieces: OMPI_MCA_fcoll=vulcan, before Open MPI 5 also "
    "two_phase; or put more data into each collective call"
)
_MERGED = {
    "hdf5, collective": f"{_MERGING}: larger hyperslabs per H5Dwrite or H5Dread",
    "netcdf, collective": f"{_MERGING}: whole slabs (nc_put_vara, nc_get_vara)",
    "pnetcdf, collective": f"{_MERGING}: several variables (ncmpi_iput_vara, ncmpi_wait_all)",
    "collective": _MERGING,
    "unmerged": _MERGING,
    "collective, waited for": _BLOCKING,
}
_AGGREGATORS = "OMPI_MCA_io_ompio_num_aggregators=N"
ADVICE_OPEN_MPI: dict[str, dict[str, str]] = {
    "few_aggregators": {
        "": f"let more ranks write: {_AGGREGATORS}",
        "read": f"let more ranks read: {_AGGREGATORS}",
    },
    "taking_turns": {
        "collective": "these are the calls of the aggregators, each of which waits for the ranks' "
        f"data: compare numbers of aggregators ({_AGGREGATORS}), and independent calls",
    },
    "locks": {
        "mpiio": f"write and read collectively; disable data sieving ({_NO_SIEVING}), or, where "
        "the file system keeps files coherent, locking (OMPI_MCA_fs_ufs_lock_algorithm=1)"
    },
    "small_requests": _MERGED,
    "slow_small_requests": _MERGED,
    "amplification": {
        "": "write collectively (MPI_File_write_all), or, where the pieces are large, disable data "
        f"sieving ({_NO_SIEVING})",
        "read": "read collectively (MPI_File_read_all), or, where the pieces are large, disable "
        "data sieving (OMPI_MCA_fbtl_posix_read_datasieving=0)",
    },
    "between_layers": {
        "": "compare collective with independent calls, and numbers of aggregators "
        f"({_AGGREGATORS})",
        "independent": f"use the collective call (…_all), or disable data sieving ({_NO_SIEVING})",
        "independent reads": "use the collective call (…_all), or disable data sieving "
        "(OMPI_MCA_fbtl_posix_read_datasieving=0)",
    },
    "network": {
        "mpiio": "compare collective with independent calls, and numbers of aggregators "
        f"({_AGGREGATORS}): MPI-IO itself exchanges the data"
    },
}
