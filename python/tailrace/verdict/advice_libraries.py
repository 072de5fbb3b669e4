"""What is advised about files of HDF5, netCDF and PnetCDF, about SQLite's databases, and about what
lies between calls."""

from tailrace.verdict.libraries import SQLITE_LOG

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

OF_WAITING_REQUESTS = OF_SHARED_FILES | {
    "end": "remember how far the file reaches, and do not read there",
    "end of netcdf": "netCDF reads each page of a classic file before it fills it: larger pages "
    "(bufrsizehint of nc__create, bufrsize of nf90_create: 4194304), or netCDF-4",
}

# However little has changed.
FLUSH_HDF5 = (
    "call H5Fflush and H5Dflush less often: each writes all that has changed, and the file's tables"
)
FLUSH_NETCDF = "call nc_sync less often: each writes all that has changed, and the file's tables"

# Of a dataset that lies in the file in one piece HDF5 reads so much around what is asked for.
SIEVE_OF_HDF5 = (
    "of a dataset without chunks HDF5 reads 64 KiB around each piece that is asked for: choose "
    "chunks in the shape of what is read at once, and a cache that holds them "
    "(H5Pset_chunk_cache, in h5py rdcc_nbytes); or read all of it once; or make that buffer as "
    "small as a piece (H5Pset_sieve_buf_size), which spares less"
)

# Of a classic file netCDF reads a block of two pages around each piece that does not follow the
# last one, most of which is records of other variables: 432 MB for 48 MB, 88 with a hint of 1024,
# and 48 in the order of the file.
CHUNKS_OF_NETCDF = (
    "in netCDF-4 files choose chunks that match what is read at once, or enlarge the cache: "
    "nc_set_chunk_cache, in Python set_var_chunk_cache; of classic files, of which netCDF reads a "
    "block around each piece, read all variables of a record before the next record, or make the "
    "block as small as a piece (bufrsizehint of nc__open, in Fortran bufrsize of nf90_open); or "
    "keep in memory what is needed again"
)

# Which functions synchronise a file that ranks share, if the program itself does not.
_ONCE = "once per output, after its last write, or not at all: each synchronises the file"
SYNCHRONISED_BY = {
    "hdf5": f"call H5Fflush of a file that ranks share, or fsync, {_ONCE}",
    "netcdf": f"call nc_sync of a file that ranks share, or fsync, {_ONCE}",
    "pnetcdf": f"call ncmpi_sync {_ONCE}",
}

# What they do without being told to.
_AS_CLOSED = (
    "the library itself synchronises a file where it is closed, and netCDF where definitions end "
    "(nc_enddef), too"
)
SYNCHRONISED_BY_LIBRARY = {
    "by library": f"open fewer files: {_AS_CLOSED}",
    "by library, again": f"open the file once and keep it open: {_AS_CLOSED}",
    "by library, definitions": "define all that a file holds before the first nc_enddef: each time "
    "that definitions end netCDF synchronises the file, and once more where it is closed",
    "by library, once": "no call of the program's can be left out: the library itself synchronises "
    "the file once where it is closed, and netCDF once where definitions end (nc_enddef); the "
    "longer the run, the smaller its part",
}

# Which libraries lock, if the program itself does not.
LOCKED_BY = {
    "hdf5": "set HDF5_USE_FILE_LOCKING=FALSE if nobody else uses the file; align with "
    "H5Pset_alignment",
    "mpiio": "write and read collectively; with ROMIO, disable data sieving (hints "
    "romio_ds_write=disable, romio_ds_read=disable)",
    "atomic": "leave out MPI_File_set_atomicity (in HDF5 H5Fset_mpi_atomicity), for which MPI-IO "
    "locks around each call, where ranks do not use the same bytes at once; or move more in each "
    "call",
}

# What is done to numbers on their way to these files, and back.
_OWN_TYPE = "keep numbers in memory in the file's own type, which needs no conversion"
_QUICKER_HDF5 = (
    "where it is compressed, do so by a lower level (H5Pset_deflate, in h5py compression_opts), by "
    f"a quicker filter (lzf), or not at all; {_OWN_TYPE}"
)
_QUICKER_NETCDF = (
    "where it is compressed, do so by a lower level (nc_def_var_deflate, in Python complevel), or "
    f"not at all; {_OWN_TYPE}"
)
_FEWER_OBJECTS = {
    "hdf5": "use fewer objects: one dataset instead of many attributes or small datasets, and more "
    "in each call",
    "netcdf": "use fewer objects: one variable instead of many attributes or small variables, and "
    "more in each call",
}
# Of what no filter is the reason.
_UNFILTERED = {
    f"{moves} {library}, {what}": f"{typed}{fewer}; or {less}"
    for moves, less in (("write", "write fewer values"), ("read", "read once and keep it"))
    for library, fewer in _FEWER_OBJECTS.items()
    for what, typed in (("tables", ""), ("unfiltered", f"{_OWN_TYPE}; "))
}

_TRANSACTIONS = "put many changes into one transaction (BEGIN … COMMIT)"
_JOURNAL = (
    f"{_TRANSACTIONS}: each makes a journal and removes it; or keep one: PRAGMA journal_mode=WAL"
)
_LOCKING = "or PRAGMA locking_mode=EXCLUSIVE where no other process uses the file"
_PAGES = (
    "SQLite moves one page at a time: enlarge its cache (PRAGMA cache_size), or the pages (PRAGMA "
    "page_size before the first table)"
)
# By finding, whatever else would be advised: who uses a database opens, locks and synchronises no
# file of it himself.
_OF_SQLITE = {
    "sync": f"{_TRANSACTIONS}, each of which waits for the device; or PRAGMA journal_mode=WAL with "
    "PRAGMA synchronous=NORMAL, where a commit does not wait",
    "reopened": _JOURNAL,
    "many_files": _JOURNAL,
    "metadata": _JOURNAL,
    "locks": f"{_TRANSACTIONS}, or queries: each takes locks; {_LOCKING}",
    "look_ups": f"{_TRANSACTIONS}, or queries: each looks for a journal; {_LOCKING}",
    "small_requests": f"{_TRANSACTIONS}. {_PAGES}",
    "slow_small_requests": f"{_TRANSACTIONS}. {_PAGES}",
    "random_requests": f"ask for rows, and insert them, in the order of the key. {_PAGES}",
    "redundant_reads": f"ask by an index, and once. {_PAGES}",
    "redundant_writes": f"{_TRANSACTIONS}. {_PAGES}",
    "slow_file_system": f"{_TRANSACTIONS}, make indexes after the rows; or ask for fewer rows",
    "serial_writer": "SQLite lets one process at a time write: put more into one transaction, or "
    "let each rank fill a database of its own, and join these (ATTACH)",
}
# Of one that keeps a log already it is no advice to keep one.
_KEPT_OPEN = (
    f"{_TRANSACTIONS}, and keep one connection open: the first one makes the log, and the last one "
    "removes it"
)
_OF_SQLITE_LOG = dict.fromkeys(("reopened", "many_files", "metadata"), _KEPT_OPEN) | {
    "sync": f"{_TRANSACTIONS}, each of which waits for the device; with PRAGMA synchronous=NORMAL "
    "only checkpoints wait, and a larger PRAGMA wal_autocheckpoint makes fewer of them",
}
_MAY_BE_LOST = "where the last changes may be lost if the machine fails"
_PUTS = "put many changes into one transaction (a put without one is one)"
_OF_LMDB = dict.fromkeys(("small_requests", "slow_small_requests", "redundant_writes"), _PUTS) | {
    "sync": f"{_PUTS}, each of which waits for the device; or MDB_NOSYNC (in Python sync=False), "
    f"{_MAY_BE_LOST}",
}
_BATCHES = "hand over many changes in one WriteBatch"
_OF_ROCKSDB = dict.fromkeys(("small_requests", "slow_small_requests"), _BATCHES) | {
    "sync": f"{_BATCHES}, or write without WriteOptions.sync, {_MAY_BE_LOST}",
}
_OF_DUCKDB = dict.fromkeys(("small_requests", "slow_small_requests"), _TRANSACTIONS) | {
    "sync": f"{_TRANSACTIONS}, each of which waits for the device; or load many rows at once "
    "(COPY, an Appender)",
}
OF_DATABASES = {
    "sqlite": _OF_SQLITE,
    SQLITE_LOG: _OF_SQLITE | _OF_SQLITE_LOG,
    "lmdb": _OF_LMDB,
    "rocksdb": _OF_ROCKSDB,
    "duckdb": _OF_DUCKDB,
}
_FILL_SQLITE = (
    "bind values to one prepared statement (executemany), insert in the order of the key, and make "
    "indexes after the rows"
)
_ASK_SQLITE = "ask for fewer rows and columns, by an index; or read once and keep what was found"
_PICKLED = (
    "keep numbers in arrays (numpy.save) instead of many small objects, each of which is pickled"
)
# By what lies between reads, and between writes.
OF_CALLS_BETWEEN = {
    "write": "if this is text, write binary numbers, which need no formatting; or write fewer "
    "values",
    "read": "if this is text, read binary numbers, which need no parsing; or read once and keep "
    "what was made of it",
    "read again": "if it does not change, read it once and keep what was made of it; or, if this "
    "is text, read binary numbers, which need no parsing",
    "write packed": "compress by a lower level or a quicker method, or write fewer values",
    "read packed": "read once and keep what was unpacked, or use a method that unpacks more "
    "quickly (zstd, lz4)",
    "write out of packed": "use a method that unpacks more quickly (zstd, lz4)",
    "read into packed": "compress by a lower level or a quicker method, or not at all",
    "write copied": "hand over more with each call: whole arrays instead of single values",
    "read copied": "take more with each call: whole arrays instead of single values",
    "write sqlite": _FILL_SQLITE,
    "read sqlite": _ASK_SQLITE,
    "write pickled": _PICKLED,
    "read pickled": f"{_PICKLED}; or read once and keep it",
    "flush of hdf5": FLUSH_HDF5,
    "flush of netcdf": FLUSH_NETCDF,
    "write hdf5": f"{_QUICKER_HDF5}; or write fewer values",
    "read hdf5": f"{_QUICKER_HDF5}; or read once and keep it",
    "write netcdf": f"{_QUICKER_NETCDF}; or write fewer values",
    "read netcdf": f"{_QUICKER_NETCDF}; or read once and keep it",
    **_UNFILTERED,
    "reopened": "open the file once and keep it open: each time the library reads its tables and "
    "writes them again",
}
# By what a rank does alone that computes longer than the others; "binary" and "reopened" with files
# of a library that keeps binary numbers, and its own tables of where they lie.
OF_UNEVEN_MOVES = {
    "reads": "what it does to read counts as computation where it is no file call: parsing, "
    "unpacking; let every rank do that for its part, or read binary numbers; else change the "
    "decomposition",
    "writes": "what it does to write counts as computation where it is no file call: "
    "formatting, packing, compressing; let every rank do that for its part, or write binary "
    "numbers; else change the decomposition",
    "reads and writes": "what it does to read and write counts as computation where it is no file "
    "call: parsing, formatting, packing; let every rank do that for its part, or keep binary "
    "numbers; else change the decomposition",
    "binary": "what the library does to read and write counts as computation where it is no file "
    "call: converting, compressing, packing; let every rank do that for its part, or move more in "
    "each call; else change the decomposition",
    "reopened": "open the file once and keep it open: what the library does each time to open and "
    "close it counts as computation where it is no file call; else change the decomposition",
    "flush of hdf5": f"{FLUSH_HDF5}, which counts as computation where it is no file call",
    "flush of netcdf": f"{FLUSH_NETCDF}, which counts as computation where it is no file call",
}
# By what files hold that are made before they are written.
MADE_BEFORE = {
    "": "time the routine that makes the text; if it takes long, write binary numbers, which need "
    "no formatting, or fewer values",
    "packed": "run it once without compressing (ZIP_STORED, compression=None, compresslevel=0) to "
    "know what that takes; if it is much, compress by a lower level or a quicker method",
    "hdf5": "compress by a lower level (H5Pset_deflate, in h5py compression_opts, in netCDF "
    "nc_def_var_deflate and complevel), by a quicker filter (lzf), or not at all",
    "hdf5, read": "write what is read by a quicker filter (lzf), by a lower level, or not "
    "compressed; read a chunk as a whole, or have a cache that holds it until all of it was read "
    "(H5Pset_chunk_cache, in h5py rdcc_nbytes, nc_set_chunk_cache)",
    "hdf5, read again": "read what is needed again once, and keep it; or have a cache that holds "
    "the chunks (H5Pset_chunk_cache, in h5py rdcc_nbytes, nc_set_chunk_cache): those that it does "
    "not hold are decompressed anew",
}


def whose(code: str, library: str, advised: str) -> str:
    """By what to look up advice: what is known of the case, before the library of the file, but for
    a database's."""
    return library if code in OF_DATABASES.get(library, {}) else advised or library
