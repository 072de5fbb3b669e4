"""What to change, for each kind of finding, in the terms of the library that the program uses."""

from tailrace.verdict.advice_libraries import (
    CHUNKS_OF_NETCDF,
    FLUSH_HDF5,
    FLUSH_NETCDF,
    LOCKED_BY,
    MADE_BEFORE,
    OF_CALLS_BETWEEN,
    OF_DATABASES,
    OF_SHARED_FILES,
    OF_UNEVEN_MOVES,
    OF_WAITING_REQUESTS,
    SIEVE_OF_HDF5,
    SYNCHRONISED_BY,
    SYNCHRONISED_BY_LIBRARY,
)
from tailrace.verdict.advice_names import METADATA, SERIAL_METADATA
from tailrace.verdict.advice_open_mpi import ADVICE_OPEN_MPI

_SHARED_POINTER = (
    "give each rank its own offsets (MPI_File_write_at_all): a shared pointer is locked and moved "
    "for each call"
)
_SHARED_READS = _SHARED_POINTER.replace("write", "read")
# Each rank makes the pieces of its own one by one, as ROMIO does where it is told to, or where it
# sees no need to exchange data.
_UNMERGED = (
    "have the collective calls merge the ranks' pieces, which each rank moves one by one (hints "
    "romio_cb_write=enable, romio_cb_read=enable), and compare: to exchange them takes time, too"
)
_COLLECTIVE = "more data in each collective call, or larger pieces: hint cb_buffer_size"
# Of a buffer that it makes itself, the C library of GNU ignores the size.
_BUFFER = "setvbuf(file, malloc(4 << 20), _IOFBF, 4 << 20)"
# Where ranks' parts do not lie between each other's, ROMIO lets each rank write its own.
_EQUAL_PARTS = (
    "give the ranks equal parts: in collective calls, too, each rank moves its own, unless parts "
    "lie between each other's"
)
# Few bytes take as long to reach the device from many ranks as from one.
_SYNCHRONISE = (
    "synchronise less often, or not at all where the data could be computed again: more ranks that "
    "write would wait for the device as long"
)

# Text has no such option: one rank prints it.
_VIEWERS = (
    "have all ranks take part: a binary viewer of PETSc with -viewer_binary_mpiio "
    "(PetscViewerBinarySetUseMPIIO)"
)
# Without a variable there is nothing to leave room before.
_ROOM = "leave room when the first variables are defined (h_minfree of nc__enddef)"
_MOVED_BY_NETCDF = (
    "a classic file's data are moved when its header grows: define all that it holds before the "
    f"first nc_enddef, or {_ROOM}; in netCDF-4 files choose chunks that match, or enlarge the "
    "cache: nc_set_chunk_cache"
)
_LINK = "a link, or a clone as of cp --reflink, moves no bytes"
_BACK = "keep in memory what was written and is needed again"

# In large calls of MPI-IO that a rank makes on its own.
_DONE_TO_DATA = (
    "look at what the library does to the data, as to pack what lies apart in memory, to convert "
    "it (external32), or to lock (MPI_File_set_atomicity)"
)
_WINDOWS = (
    "lock a window only while data move, and unlock it before computing; or let several ranks in: "
    "MPI_LOCK_SHARED with MPI_Accumulate, MPI_Win_lock_all"
)

# By library; "" where none is known, or none has a word of its own.
ADVICE: dict[str, dict[str, str]] = {
    "serial_writer": {
        "": "let all ranks write: MPI_File_write_at_all, or a library on top of it",
        "pnetcdf": "let all ranks write: the functions that end in _all",
        "netcdf": "let all ranks write: nc_create_par and nc_var_par_access(…, NC_COLLECTIVE)",
        "hdf5": "let all ranks write: H5Pset_fapl_mpio and H5Pset_dxpl_mpio(H5FD_MPIO_COLLECTIVE)",
        "petsc": f"{_VIEWERS}, or one of HDF5",
        "flush of hdf5": FLUSH_HDF5,
        "flush of netcdf": FLUSH_NETCDF,
        "mpiio": "open the file on all ranks and write with MPI_File_write_at_all",
        "synchronising": _SYNCHRONISE,
        "collective": _EQUAL_PARTS,
        "copied": "copy while the ranks compute (a thread, another process), or let each rank copy "
        f"a part; {_LINK}",
    },
    "serial_reader": {
        "": "read the parts on the ranks that need them, or read once and MPI_Bcast",
        "netcdf": "let all ranks read: nc_open_par and nc_var_par_access(…, NC_COLLECTIVE)",
        "hdf5": "let all ranks read: H5Pset_fapl_mpio and collective transfers",
        "petsc": f"{_VIEWERS}, or one of HDF5",
        "mpiio": "open the file on all ranks and read with MPI_File_read_at_all",
        "broadcast": "read the next part while the ranks compute (a thread, or MPI_Ibcast); or let "
        "each rank read a part of it and exchange the parts: MPI_Allgather",
        "back": _BACK,
        "moved by netcdf": _MOVED_BY_NETCDF,
        "scattered": "let each rank read its own part: MPI_File_read_at_all, or a library on top "
        "of it",
        "collective": _EQUAL_PARTS,
    },
    "serial_metadata": SERIAL_METADATA,
    "few_ranks": {
        "": "let more ranks, or all, take part",
        "opened by few": "open the file on more ranks, or on all: in a communicator of them",
        "synchronising": _SYNCHRONISE,
        "collective": _EQUAL_PARTS,
    },
    "few_aggregators": {
        "": "let more ranks write: hints cb_nodes=N and, for several on one node, "
        "cb_config_list=*:*",
        "read": "let more ranks read: hints cb_nodes=N and, for several on one node, "
        "cb_config_list=*:*",
    },
    "uneven_bytes": {
        "": "give the ranks equal parts, or write collectively (MPI_File_write_at_all)",
        "read": "give the ranks equal parts, or read collectively (MPI_File_read_at_all)",
        "collective": _EQUAL_PARTS,
    },
    "uneven_calls": {
        "": "merge these calls into larger ones, as the others do",
        "names": "make these calls less often there, or let each rank make its part of them",
        "mpiio": "open fewer files by MPI-IO, and keep them open: one rank makes a file before the "
        "others open it",
    },
    "straggler": {
        "": "compare node and cores with the others'",
        "few": "run it again: so few calls may have waited by chance; else look at what they use",
        "moving": "compare node, cores and open flags (O_SYNC, O_DIRECT) with the others'",
        "reading": "compare node and cores with the others', whether they open with O_DIRECT, and "
        "whether what they read was in memory, as what was written or read before may be",
        "direct": "with O_DIRECT, which the others do not use, each request waits for the device: "
        "keep several under way (aio_write, aio_read, io_uring), or open without it",
        "synchronous": "with O_SYNC or O_DSYNC, which the others do not use, each write waits for "
        "the device: open without it and call fsync once where the data must be safe",
        "shared": "ranks that write to one file at once wait for each other: let each write a file "
        "of its own, or gather them (MPI_File_write_all); else compare node and cores "
        "with the others'",
    },
    "taking_turns": {
        "": "look for a lock or a baton; a file per rank, or collective calls, need neither",
        "collective": "these are the calls of the aggregators, each of which waits for the ranks' "
        "data: compare numbers of aggregators (hint cb_nodes), and independent calls",
    },
    "failed_writes": {
        "": "check what write, fsync and close return: the output is not whole",
        "space": "make room there, and check what write, fsync and close return: the output is not "
        "whole",
        "size": "raise the limit of a file's size (ulimit -f), and check what write returns: the "
        "output is not whole",
        "device": "look into the kernel's log (dmesg) and the server's, and check what write, "
        "fsync and close return: the output is not whole",
    },
    "failed_mpiio": {
        "": "look at what MPI-IO's calls return (ierror in Fortran), or have them end the program: "
        "MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_ARE_FATAL) before the first open",
    },
    "locks": {
        "": "lock larger parts less often, and hold a lock only while reading or writing; "
        "collective or aligned requests need no locks",
        "held by others": "find out which other process holds the lock (lslocks), and why for so "
        "long: no other rank takes one on this file",
        **LOCKED_BY,
    },
    "sync": {
        "": "synchronise once per output, after its last write, or not at all",
        **SYNCHRONISED_BY,
        **SYNCHRONISED_BY_LIBRARY,
        "once": "write less often, or do without it where the data could be computed again: a file "
        "is synchronised only once each time that it is opened",
        "each open": "open the file once and keep it open, and synchronise it after several "
        "changes: it is opened again and again, and synchronised each time",
        "large": "write less, or to faster storage: each of these waits for many bytes to reach it",
    },
    "reopened": {
        "": "open the file once, keep it open, and flush where a reader needs it",
        "dumb": "use sqlite3 or dbm.gnu: Python's dbm.dumb opens its files again for each key",
        "read": "open the file once and keep it open, or read it once and keep in memory what it "
        "holds",
        "or anew": "open the file once, keep it open, and flush where a reader needs it; where all "
        "of it is replaced each time, write it less often, or append what is new",
        "anew": "write it less often, or append what is new instead of writing all of it each time",
    },
    "many_files": {
        "": "put the small files into one: a shared file, an archive, a file per node",
        "one rank": "put the small files into one: an archive, a database, or a file of records",
        "zarr": "choose larger chunks, or put many into one file: shards (shards= of zarr's "
        "create_array)",
        "lock tests": "open fewer files by MPI-IO, and keep them open; where no shared file "
        "pointer is used (MPI_File_write_shared), mpiexec --mca sharedfp ^lockedfile leaves the "
        "tests out",
        "zarr metadata": "each append to an array writes the metadata again: append more at once, "
        "or make the array as long as it will be first, and write regions of it",
        "temporary": "keep in memory what is removed again, or in /dev/shm, which is memory; else "
        "put the small files into one",
        "python": "import fewer modules, or from node-local storage: an environment copied there, "
        "or a container image",
    },
    "look_ups": {
        "": "look up once, on one rank, and broadcast the answer",
        "mpiio": "open fewer files by MPI-IO, and keep them open: its library looks at each, and "
        "at the file system, when it opens it",
        "one rank": "keep the answer instead of looking up again; who waits for a file can wait "
        "for a notice: inotify",
        "used": "open a file without looking first, and see whether that fails; keep its size or "
        "time instead of asking before each write (Python's RotatingFileHandler may ask for each "
        "record: a FileHandler does not)",
        "each name": "look up fewer names: one file instead of many; keep the answers where the "
        "same are looked up again; a listing tells directories from files without look-ups "
        "(d_type, os.scandir)",
        "absent": "files that are not there are looked for again and again: name the right place, "
        "or keep in memory what is there",
        "awaited": "a message (MPI_Recv) or a notice (inotify) wakes at once who waits for a file; "
        "a lock of fcntl (F_SETLKW) wakes at once who waits for his turn",
    },
    "metadata": METADATA,
    "small_requests": {
        "": "gather in memory, and write or read once per output",
        "reads": "read larger pieces, or all of it at once, and take what is needed from memory",
        "writes": "gather in memory, and write once per output",
        "interleaved": "let collective calls merge them (MPI_File_set_view, MPI_File_write_all or "
        "MPI_File_read_all), or gather in memory",
        "flush": "flush where someone waits for the line, not after every one",
        "flush of hdf5": FLUSH_HDF5,
        "flush of netcdf": FLUSH_NETCDF,
        "flush of C++": "end lines with '\\n' where nobody waits for them: std::endl flushes each",
        "flush of petsc": "PETSc's viewers of text flush each line: use a binary viewer "
        "(PetscViewerBinaryOpen), or one of HDF5",
        "nothing to read": "who reads at a file's end until another makes it longer waits for "
        "that: by a message, or a notice (inotify)",
        "nothing to write": "leave out what writes nothing",
        "stdio": f"give the stream a larger buffer: {_BUFFER}",
        "descriptor prints": "print to a stream with a large buffer instead of to the descriptor: "
        f"fdopen, {_BUFFER}, fprintf",
        "netcdf": "whole slabs per call (nc_put_vara, nc_get_vara), and larger chunks; in classic "
        "files a larger buffer (bufrsizehint of nc__create, nc__open)",
        "hdf5": "select larger hyperslabs per H5Dwrite or H5Dread, or make one dataset of many "
        "small ones; larger chunks, and a cache that holds them (H5Pset_chunk_cache), or "
        "H5Pset_sieve_buf_size",
        **OF_SHARED_FILES,
        "mpiio": "use collective calls with a file view: MPI_File_set_view, MPI_File_write_all or "
        "MPI_File_read_all",
        "collective": _COLLECTIVE,
        "collective, waited for": _COLLECTIVE,
        "unmerged": _UNMERGED,
        "shared": _SHARED_POINTER,
        "shared reads": _SHARED_READS,
    },
    "slow_small_requests": {
        "": "gather small requests into large ones",
        "not known": "do not open with O_SYNC, O_DSYNC or O_DIRECT; gather small requests into "
        "large ones",
        "each call": "with RWF_DSYNC or RWF_SYNC pwritev2 waits for the device each time: leave "
        "the flag out and call fsync once where the data must be safe, or gather small requests "
        "into large ones",
        "synchronous": "O_SYNC and O_DSYNC make each write wait for the device: open without them "
        "and call fsync once where the data must be safe, or gather small requests into large ones",
        "direct": "with O_DIRECT each request waits for the device: gather small requests into "
        "large ones, or open without it",
        "reads": "read larger pieces, or have the system read ahead: posix_fadvise with "
        "POSIX_FADV_WILLNEED",
        **OF_WAITING_REQUESTS,
        "mpiio": "use collective calls with a file view: MPI_File_set_view, MPI_File_write_all or "
        "MPI_File_read_all",
        "collective": _COLLECTIVE,
        "collective, waited for": _COLLECTIVE,
        "unmerged": _UNMERGED,
        "shared": _SHARED_POINTER,
        "shared reads": _SHARED_READS,
    },
    "random_requests": {
        "": "sort the requests by offset, or read the file once into memory; "
        "posix_fadvise(POSIX_FADV_RANDOM) avoids needless read-ahead",
        "in memory": "sort the requests by offset, or read the file once into memory",
        "writes": "write in the order of the file, or gather in memory and write once",
        "hdf5": "choose chunks that match the selection, and a larger H5Pset_chunk_cache",
        "netcdf": "choose chunks that match the selection, and a larger nc_set_chunk_cache",
    },
    "redundant_reads": {
        "": "read on one rank and MPI_Bcast, or let each rank read only its part",
        "mpiio": "read each part once with MPI_File_read_at_all, and exchange by MPI_Bcast",
        "in small ones": "read larger parts at once, as a stream's buffer does; then once on one "
        "rank with MPI_Bcast, or on each rank only its part",
        "again": "keep in memory what is needed again",
        "back": _BACK,
        "buffer of fortran": "Fortran's library reads a whole buffer for each record that does not "
        "follow the last one: read records in their order, or make the buffer as small as one "
        "(GFORTRAN_UNFORMATTED_BUFFER_SIZE), or keep in memory what is needed again",
        "sieve of hdf5": SIEVE_OF_HDF5,
        "chunks of hdf5": "choose chunks that match what is read at once, or enlarge the chunk "
        "cache: H5Pset_chunk_cache, in h5py rdcc_nbytes",
        "chunks of netcdf": CHUNKS_OF_NETCDF,
        "moved by netcdf": _MOVED_BY_NETCDF,
    },
    "redundant_writes": {
        "flush of hdf5": FLUSH_HDF5,
        "flush of netcdf": FLUSH_NETCDF,
        "moved by netcdf": "a classic file's data are moved when its header grows: define all that "
        f"it holds before the first nc_enddef, or {_ROOM}",
        "chunks of hdf5": "choose chunks that are written as a whole, or enlarge the chunk cache: "
        "H5Pset_chunk_cache, in h5py rdcc_nbytes; and what the program itself writes again, write "
        "once",
        "chunks of netcdf": "in netCDF-4 files choose chunks that are written as a whole, or "
        "enlarge the cache: nc_set_chunk_cache, in Python set_var_chunk_cache; and what the "
        "program itself writes again, write once",
        "classic netcdf": "do not fill what is written anyway: nc_set_fill(NC_NOFILL), in Fortran "
        "nf90_set_fill, in Python Dataset.set_fill_off(); and call nc_sync less often: each writes "
        "the last block once more, which is not full yet",
        "read back by hdf5": "write all members of a compound type with one H5Dwrite: of a single "
        "member HDF5 reads and writes whole elements; of a dataset in chunks write whole ones, or, "
        "in a serial file, enlarge the chunk cache: H5Pset_chunk_cache, in h5py rdcc_nbytes",
        "": "write each byte once: gather in memory until it is final; where each pass replaces "
        "the one before, write less often",
        "all": "write on one rank, or let each rank write only its part",
        "netcdf": "do not fill what is written anyway: nc_set_fill(NC_NOFILL), in Fortran "
        "nf90_set_fill, in Python Dataset.set_fill_off(); and what the program itself writes "
        "again, write once",
        "hdf5": "do not fill what is written anyway: H5Pset_fill_time(H5D_FILL_TIME_NEVER); or "
        "choose chunks that are written as a whole, and a cache that holds them "
        "(H5Pset_chunk_cache); and what the program itself writes again, write once",
    },
    "amplification": {
        "": "write collectively (MPI_File_write_all; hint romio_cb_write=enable), or, where the "
        "pieces are large, disable data sieving (hint romio_ds_write=disable)",
        "read": "read collectively (MPI_File_read_all; hint romio_cb_read=enable), or, where the "
        "pieces are large, disable data sieving (hint romio_ds_read=disable)",
        "stream": "read what is needed with pread; or read in the order of the file, which one "
        "buffer serves many times; or give the stream a smaller buffer (setvbuf, before its first "
        "read), which spares bytes but no calls",
    },
    "slow_file_system": {
        "write memory": "write less: these bytes move about as quickly as memory is copied",
        "read memory": "read less, or keep what is needed again: these bytes move about as quickly "
        "as memory is copied",
        "read": "compare with what the file system can do (tailrace bench h5perf); read less, or "
        "from node-local storage",
        "copied": f"copy while there is something to compute (a thread, another process); {_LINK}",
        "same": "if these are the same bytes, read on one rank and MPI_Bcast",
        "direct": "with O_DIRECT each request waits for the device: keep several under way "
        "(aio_write, aio_read, io_uring), or open without it",
        "synchronous": "O_SYNC and O_DSYNC make each write wait for the device: open without them "
        "and call fsync once where the data must be safe",
        "shared": "ranks that write to one file at once wait for each other: compare with a file "
        "per rank, and with collective calls (MPI_File_write_all); or write less",
        "not blocking": "compute longer between such a call and the wait for it, or move less: "
        "what is waited for is what no computation covers",
        "": "compare with what the file system can do (tailrace bench h5perf); write less, or to "
        "node-local storage",
    },
    "preallocation": {
        "": "leave MPI_File_preallocate out: writing makes files longer by itself, and "
        "MPI_File_set_size sets a size without writing; where room has to be reserved, let the "
        "command fallocate do it before the run",
    },
    "between_layers": {
        "": "compare collective with independent calls, and numbers of aggregators (hint cb_nodes)",
        "set-up": "open the file and set the view once, outside the loop",
        "views of hdf5": "HDF5 sets a view for each transfer: move more in each H5Dwrite or "
        "H5Dread, or several datasets at once (H5Dwrite_multi)",
        "views of netcdf": "the library sets a view for each transfer: move more in each "
        "nc_put_vara or nc_get_vara",
        "views of pnetcdf": "PnetCDF sets a view for each transfer: move more in each, or several "
        "variables at once (ncmpi_iput_vara with ncmpi_wait_all)",
        "size": "set the file's size once, outside the loop, or not at all: writing makes a file "
        "longer by itself",
        "sync": "synchronise once per output, after its last write, or not at all",
        "other": "call it once, outside the loop, and keep what it returns",
        "one rank": "move more in each call, or leave MPI-IO out where there is one rank",
        "small collective": "move more in each collective call: each exchanges data and waits for "
        "all ranks, however few bytes it is for",
        "set-up once": "use fewer files: opening, setting views and closing are collective, and "
        "take the longer the more ranks there are",
        "one file": "the file is set up once, whatever is written: the longer the run, the smaller "
        "its part",
        "preallocation": "leave MPI_File_preallocate out: writing makes files longer by itself",
        "shared": _SHARED_POINTER,
        "shared reads": _SHARED_READS,
        "large and consecutive": "each rank goes on where it ended, so that nothing is exchanged "
        f"or sieved: {_DONE_TO_DATA}",
        "independent": "use the collective call (…_all), or disable data sieving "
        "(hint romio_ds_write=disable)",
        "independent reads": "use the collective call (…_all), or disable data sieving "
        "(hint romio_ds_read=disable)",
        **OF_SHARED_FILES,
    },
    "output_routine": {
        "": "write less often, or fewer values; binary numbers need no formatting, and nothing has "
        "to be gathered where all ranks write: MPI_File_write_at_all",
        "read": "read binary numbers, which need no parsing, or let all ranks read their part",
        "write, one rank": "write less often, or fewer values; binary numbers need no formatting",
        "write, packed": "write without compressing (numpy.savez), or fewer values",
        "read, packed": "read once and keep it; or write it without compressing (numpy.savez)",
        "write, MPI-IO": "write less often, or fewer values, or while the ranks compute (calls "
        "that do not block)",
        "read, MPI-IO": "read less, or once, or while the ranks compute (calls that do not block)",
        "read, one rank": "read binary numbers, which need no parsing, or read less",
    },
    "between_calls": OF_CALLS_BETWEEN,
    "made_before": MADE_BEFORE,
    "outputs": {"": "write less often, or less each time, where that serves as well"},
    "load_imbalance": {
        "": "change the decomposition, or balance the work dynamically",
        **OF_UNEVEN_MOVES,
        "idle": "let every rank compute, the one that only hands out work, or gathers it, too",
        "asleep": "look for what it waits for while the others wait for it: other threads or "
        "processes, pipes, sockets, or a pause",
    },
    "serialization": {
        "": "start communication earlier (MPI_Isend, MPI_Irecv) and wait for it later",
        "windows": _WINDOWS,
        "collective": "where another rank is late each time, balance the work of each step and not "
        "only of all; or let collective calls overlap with it (MPI_Iallreduce)",
        "spawned": "start all ranks at once (mpiexec -n N), or spawn them early and compute "
        "meanwhile",
    },
    "io_not_in_trace": {
        "": 'record file calls, too: `<input-output enabled="yes" />` in the configuration of '
        "Extrae, or `tailrace run`"
    },
    "not_recorded": {"": "record other processes, too: `tailrace run --processes all`"},
    "incomplete_trace": {
        "": "look for calls that were left by longjmp or an exception, or made by a signal handler "
        "that interrupted a call: these are not recorded",
        "room": "give the trace more room: a directory on a larger file system with --raw-dir, or "
        "a larger limit on the size of files (ulimit -f)",
    },
    "other_threads": {"": "compare with a run in which one thread of each rank calls MPI"},
    "overlapped_io": {"": "if the main thread waits for it: give it other work meanwhile"},
    "streams": {
        "": "print less, or into a file",
        "write, waited for": "find out why it is read so slowly: the process at the other end of "
        "the pipe, the launcher, or the terminal; or print less",
        "read": "read larger parts, or from a file",
        "read, empty": "these reads find nothing and return at once: wait until there is something "
        "(poll, epoll, or a read that blocks)",
        "read, waited for": "find out why it is written so slowly: the process at the other end of "
        "the pipe",
    },
    "elsewhere": {
        "memory": "move less: these bytes move about as quickly as memory is copied",
        "names": "use fewer files: to open and remove one takes longer than its bytes do",
        "kernel": "ask less often, and keep open what is asked again (pread from its begin)",
        "device": "ask for more at once, or less often",
    },
    "sleep": {
        "polls": "a message (MPI_Recv) or a notice (inotify) wakes at once who waits for a file",
        "others run": "if it waits for these, as for the workers of a pool, that is no loss by "
        "itself: look at what they do (perf record), and whether each has a core; else look for "
        "pipes, sockets, or a pause",
        "pages": "most likely it waits for pages of the mapped file, one by one: have them read "
        "ahead (madvise with MADV_WILLNEED, MAP_POPULATE), go through it in order, or read large "
        "parts with pread; else look for a pause, or for threads, pipes and sockets",
        "": "look for what it waits for: other threads or processes, pipes, sockets, or a pause",
    },
    "sleeps_beside_files": {
        "asks": "wait in MPI (MPI_Wait, MPI_Recv): it ends as soon as the message is there, and is "
        "seen",
        "": "wait in MPI (MPI_Recv, MPI_Barrier) for what another rank does: that is seen",
    },
    "network": {
        "": "start communication earlier (MPI_Isend, MPI_Irecv) and wait for it later",
        "small": "merge messages: fewer and larger ones",
        "small collectives": "merge collective calls: one for several values, or non-blocking ones "
        "(MPI_Ibcast, MPI_Iallreduce) that computation overlaps",
        "barriers": "leave out barriers: messages and collective calls keep the order that matters",
        "large": "send less, or overlap it with computation: MPI_Isend, MPI_Irecv, MPI_Ibcast",
        "one rank": "call MPI less often, or not at all where there is one rank",
        "windows": _WINDOWS,
        "made": "make windows, communicators and the like once, and keep them: all ranks take part "
        "in each",
        "file requests": "these waits are for MPI-IO calls that do not block: call them earlier, "
        "or compute longer before the wait",
        "mpiio": "compare collective with independent calls, and numbers of aggregators (hint "
        "cb_nodes): MPI-IO itself exchanges the data",
        "mpiio, set-up": "open files and set views less often: keep what is used again open",
        "mpiio, large": f"no rank waits for another's data in these calls: {_DONE_TO_DATA}",
        "mpiio, independent": "move more in each call of MPI-IO: what the library itself does in "
        "one takes as long for few bytes",
    },
    "processors": {
        "": "look for other programs on these cores, for more threads than cores, and for a limit "
        "on processor time",
        "too few": "give every rank a core of its own: fewer ranks, or more cores",
    },
}


def advice(code: str, library: str = "", mpi: str = "") -> str:
    """`mpi`: as the trace names the MPI library."""
    if code in (of_database := OF_DATABASES.get(library, {})):
        return of_database[code]
    words = ADVICE.get(code, {}) | (ADVICE_OPEN_MPI.get(code, {}) if "Open MPI" in mpi else {})
    return words.get(library, words.get("", ""))
