"""What is advised about calls on files' names: opening, looking up, renaming, cutting to length."""

_SLOW_RENAME = (
    "to replace a large file waits until what it held is freed, and on some "
    "file systems until the new one has its room: write less often, or write in turns over two "
    "files that stay"
)
_SLOW_REMOVAL = (
    "to remove a file takes the longer the more it holds: write over files that "
    "stay, in turns, instead of removing old ones, or leave that until the run has ended"
)

# By kind of call; "" where none has a word of its own.
SERIAL_METADATA = {
    "": "make these calls less often: once per output, not once per record",
    "open": "open the file once and keep it open",
    "close": "open the file once and keep it open",
    "names": "use fewer files, or let each rank open its part of them",
    "truncate": "set a file's size once, or not at all: writing beyond the end makes it longer",
    "look_up": "look up less often, and keep the answer",
    "lock": "lock larger parts less often",
    "slow rename": _SLOW_RENAME,
    "slow removal": _SLOW_REMOVAL,
}
METADATA = {
    "": "open once and keep open; fewer, larger files",
    "other": "rename, remove or make files and directories less often: once per output, not "
    "once per record",
    "slow rename": _SLOW_RENAME,
    "slow removal": _SLOW_REMOVAL,
    "hints": "call posix_fadvise once for a file, or for each large part of it, not for each "
    "request",
    "neither": "make these calls less often: once per output, not once per record",
    "listing": "list a directory once, and of several ranks on one; keep fewer files in it, or "
    "name them so that they need not be looked for",
    "seeks": "read and write with pread and pwrite instead of seeking; a stream reads its "
    "buffer again after each seek: read the file once into memory, or sort by offset",
    "seeks to write": "write with pwrite instead of seeking, in the order of the file, or gather "
    "in memory and write once: a stream writes what its buffer holds at each seek",
    "positions": "hardly one of these seeks is for a read or write: they ask for the position, "
    "as a C++ stream's tellg and tellp do, for a file's end or its holes; ask less often, and "
    "count or keep the answer",
    "seeks that ask": "such a seek asks the file system, for a file's end (SEEK_END) or its "
    "holes (SEEK_HOLE, SEEK_DATA): keep the answer, or ask before the file is written to, as "
    "some file systems must store what is new first",
    "slow open": "write to a new name where old contents are only replaced: to empty a large "
    "file takes time; else look at what looks up names there",
    "slow close": "closing waits for what was written before: write less, or to faster "
    "storage, or close it while there is something to compute",
    "slow look-up": "look at what looks up names there: a server, or a very large directory",
    "asynchronous": "hand them over earlier, or give the program more work before it waits: "
    "the waits are what no work covers; or write less",
    "allocated": "reserve room once, for the whole file, or not at all: writing beyond the end "
    "makes it longer",
    "fallocate": "reserve room, or punch holes, once for a large range and not for each piece",
    "mpiio": "call that function once, outside the loop, or less often",
    "opened anew": "open the file once and keep it open: its size is set each time that it is "
    "opened",
    "cut": "set a file's size once, or not at all: writing beyond the end makes it longer",
    "cut by fortran": "Fortran's library cuts a sequential file behind each record that is "
    "written after a read, backspace or rewind: write all records first, or open the file with "
    "access='stream' or 'direct'",
    "hdf5": "use collective metadata: H5Pset_all_coll_metadata_ops, H5Pset_coll_metadata_write",
}
