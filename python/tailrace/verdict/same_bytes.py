"""The same bytes read or written many times; why.py says when which sentence is said."""

import numpy as np

from tailrace.names import base_name
from tailrace.units import byte_count, digits
from tailrace.verdict.by_path import ENDING_DEFINITIONS, done_inside, through, through_library
from tailrace.verdict.cause import Cause, dominant, only_row, where_of
from tailrace.verdict.evidence import Evidence, Kind
from tailrace.verdict.flushes import flushed_file
from tailrace.verdict.libraries import OF_HDF5
from tailrace.verdict.places import Places
from tailrace.verdict.requests import (
    KINDS,
    MANY_REQUESTS,
    MOSTLY_SMALL,
    Use,
    moved_column,
    small_ones_of,
    sum_use,
)

# The same bytes read so often are redundant.
REDUNDANT = 2.0
# HDF5's buffer for datasets without chunks.
SIEVE_BYTES = 64 * 1024
# Who moves data writes so much of what he reads; the library reads a block before it writes to it.
MOVED = 1 / 3
# Who skips no more than this, a header say, reads all of it to the digits shown.
NEARLY_WHOLE = 0.995
# So much more written than there is place for, each time that the file is opened, is written again;
# less than so many bytes are a header, a counter or a state, which are there to be replaced.
WRITTEN_AGAIN = 1.5
REPLACED_BYTES = 1_000_000
# More than what is filled first and written then.
FILLED = 3.0
# Many requests of less than a page are worth a word beside what they are for.
TINY_BYTES = 4096


def read_again(evidence: Evidence, kind: str) -> Cause | None:
    """More bytes are read than there are between the first and the last byte that is read."""
    files = evidence.files
    begin, end = np.asarray(files["reads_begin"]), np.asarray(files["reads_end"])
    moved = np.asarray(files["bytes_read"])
    # What MPI-IO reads without being asked for it is read for what lies between: data sieving.
    asked = np.asarray(files["mpiio_bytes_read"])
    again = (asked == 0) | (asked >= REDUNDANT * (end - begin))
    known = (end > begin) & (moved >= REDUNDANT * (end - begin)) & again
    if kind != "read" or (rows := dominant(evidence, kind, known)) is None:
        return None
    single = only_row(rows)
    alike = max(_readers_alike(evidence, int(row)) for row in rows)
    use, span = sum_use(files, rows), int((end - begin)[rows].sum())
    passes = (np.asarray(files["bytes_written"])[rows] / (end - begin)[rows]).min()
    if single is not None and alike > 1:
        text = _read_by_all(evidence, single, span)
    else:
        text = f"{byte_count(use.bytes('read'))} are read from {byte_count(span)} of "
        text += where_of(evidence, rows)
        if passes >= REDUNDANT and use.bytes("write") >= MOVED * use.bytes("read"):
            text += f", and {byte_count(use.bytes('write'))} are written there"
    text += _in_small_ones(use, "read")
    facts = f"{byte_count(use.bytes('read'))} read in all: "
    facts += evidence.described(use, "read")
    again = alike == 1 or _read_again_by_each(evidence, rows)
    tiny = "in small ones" if _in_small_ones(use, "read") else ""
    advised = tiny if not again else "back" if alike == 1 and passes >= 1 else "again"
    library = evidence.library_in(int(rows[0]))
    if alike == 1 and library in ("hdf5", "netcdf"):
        # classic files are moved, by as much as is read or half of it; chunks are read as a whole
        written = use.bytes("write") >= MOVED * use.bytes("read")
        moves = passes >= REDUNDANT and written and library == "netcdf"
        sieved = abs(use.bytes("read") - SIEVE_BYTES * use.calls("read")) < use.bytes("read") // 100
        advised = f"{'moved by' if moves else 'chunks of'} {library}"
        advised = "sieve of hdf5" if sieved and not moves else advised
    elif _refills_a_buffer_of_fortran(evidence, rows, use):
        advised = "buffer of fortran"
    return Cause(Kind.REDUNDANT_READS, text, facts, single, advised=advised)


def read_back(evidence: Evidence) -> str:
    """Which advice fits, where a rank reads again what it has written itself, or what a library has
    for it; else empty."""
    cause = read_again(evidence, "read")
    advised = cause.advised if cause else ""
    return advised if advised in ("back", "moved by netcdf") else ""


def _refills_a_buffer_of_fortran(evidence: Evidence, rows: np.ndarray, use: Use) -> bool:
    """Records at other places than behind the last one: the library of GNU's Fortran reads a whole
    buffer for each."""
    places = Places(evidence.columns)
    if 2 * use.pattern("read", "consecutive") >= use.calls("read") or not len(places.files):
        return False
    moved = np.where(np.isin(places.files, rows), places.table["bytes_read"], 0)
    return 2 * int(moved[through_library(places, "libgfortran")].sum()) > int(moved.sum())


def _stretches(evidence: Evidence, file: int) -> np.ndarray:
    """Of each reader: from the first byte of the file that it reads to the last."""
    table, rows = evidence.file_rank, evidence.users_of(file, "read")
    return (np.asarray(table["reads_end"]) - np.asarray(table["reads_begin"]))[rows]


def readers_of_the_same(evidence: Evidence, file: int) -> list[int]:
    """Rows of "file_rank" of those who read the same bytes of the file once each, so that one could
    for all; none where each reads a part of its own, or the same again and again."""
    if _readers_alike(evidence, file) == 1 or _read_again_by_each(evidence, np.array([file])):
        return []
    return evidence.users_of(file, "read")


def _readers_alike(evidence: Evidence, file: int) -> int:
    """Ranks that read the file; 1 where each reads a part of its own, however often."""
    stretches = _stretches(evidence, file)
    span = int(evidence.files["reads_end"][file]) - int(evidence.files["reads_begin"][file])
    return len(stretches) if stretches.sum() >= REDUNDANT * span else 1


def _read_by_all(evidence: Evidence, file: int, span: int) -> str:
    name, moved = base_name(evidence.files["path"][file]), evidence.files["bytes_read"][file]
    readers = evidence.users_of(file, "read")
    each = np.asarray(evidence.file_rank["bytes_read"])[readers]
    if min(_nearly_whole(evidence, row, "read") for row in readers) < NEARLY_WHOLE * span:
        return f"{byte_count(moved)} are read from {byte_count(span)} of {name}"
    times = f" {digits(each.mean() / span)} times" if each.min() >= REDUNDANT * span else ""
    if len(each) < evidence.ranks:
        return f"{len(each)} ranks each read all {byte_count(span)} of {name}{times}"
    return f"each of {len(each)} ranks reads all {byte_count(span)} of {name}{times}"


def _read_again_by_each(evidence: Evidence, rows: np.ndarray) -> bool:
    """Whether each rank that reads these files reads the same bytes more than once: to keep them
    saves more than to have them from another."""
    return all(times_read_by_each(evidence, row) >= REDUNDANT for row in map(int, rows))


def times_read_by_each(evidence: Evidence, file: int) -> float:
    """How often each of its readers reads the same bytes of the file, at least, in the mean over
    those that any of them reads."""
    span = int(evidence.files["reads_end"][file]) - int(evidence.files["reads_begin"][file])
    each = np.asarray(evidence.file_rank["bytes_read"])[evidence.users_of(file, "read")]
    return each.min() / span if len(each) and span > 0 else 0.0


def passes_of_each(evidence: Evidence, file: int) -> float:
    """How often each of its readers reads all that is read of a file which is not written
    meanwhile, at least; of a stream, whose place in the file is not known, as often as it was
    opened and read to its end. 0 where it is written again."""
    table, rows = evidence.file_rank, evidence.users_of(file, "read")
    names = ("opens", "reads_empty", "bytes_read")
    opens, ends, moved = (np.asarray(table[name])[rows] for name in names)
    passes = times_read_by_each(evidence, file) or np.minimum(opens, ends).min(initial=1 << 30)
    written = int(evidence.files["bytes_written"][file])
    return float(passes) if len(rows) and written * passes < WRITTEN_AGAIN * moved.max() else 0.0


def written_again(evidence: Evidence, kind: str) -> Cause | None:
    """More bytes are written than there are between the first and the last, as where a library
    fills variables that are written afterwards."""
    if kind != "write" or (rows := dominant(evidence, kind, _overwritten(evidence))) is None:
        return None
    files = evidence.files
    span = int((np.asarray(files["writes_end"]) - np.asarray(files["writes_begin"]))[rows].sum())
    use = sum_use(files, rows)
    text, advised = f"{byte_count(use.bytes('write'))} are written to {byte_count(span)} of ", ""
    text += where_of(evidence, rows)
    single = only_row(rows)
    if single is not None and (writers := _who_write_all(evidence, single, span)):
        who = f"each of {writers} ranks writes"
        who = who if writers == evidence.ranks else f"{writers} ranks each write"
        text, advised = f"{who} all {byte_count(span)} of {where_of(evidence, rows)}", "all"
        if (passes := use.bytes("write") / writers / span) >= REDUNDANT:
            text, advised = f"{text} {digits(passes)} times", ""
    text += _in_small_ones(use, "write")
    advised = advised or _by_library(evidence, int(rows[0]), use, span)
    facts = evidence.described(use, "write")
    return Cause(Kind.REDUNDANT_WRITES, text, facts, single, advised=advised)


def _by_library(evidence: Evidence, file: int, use: Use, span: int) -> str:
    """What makes a library write that much: it is told to flush after every few bytes, moves what
    it has written, or writes chunks that do not fit its cache once for each part of them, or whole
    elements for each of their members. To fill what is written anyway makes it twice."""
    library = evidence.library_in(file)
    as_much_read = use.bytes("read") >= max(MOVED * use.bytes("write"), span)
    if library in ("netcdf", "pnetcdf") and as_much_read and _moved_by_netcdf(evidence, file):
        return "moved by netcdf"
    again = use.bytes("write") >= FILLED * span and library in ("hdf5", "netcdf")
    if again and library == "hdf5" and use.bytes("read") >= MOVED * use.bytes("write"):
        return "read back by hdf5"
    if again and library == "netcdf" and _is_classic(evidence, file):
        return "classic netcdf"
    return (flushed_file(evidence, file) or f"chunks of {library}") if again else ""


def _is_classic(evidence: Evidence, file: int) -> bool:
    """Whether it is of netCDF's own formats, which have no chunks: HDF5 stands on the way of none
    of its calls. Where no call path tells it may."""
    places = Places(evidence.columns)
    calls = places.files == file
    if not calls.any():
        return False
    inside = through_library(places, "libhdf5") | through(places, OF_HDF5)
    return not (inside & calls).any()


def _moved_by_netcdf(evidence: Evidence, file: int) -> bool:
    """Whether what is read of the file is read to be moved, by the functions that end the mode of
    definitions; where no call path tells it may be. Filled blocks are read back, too, but on the
    way of writes."""
    if file not in Places(evidence.columns).files:
        return True
    moved = done_inside(evidence, ENDING_DEFINITIONS).bytes_read[file]
    return 2 * int(moved) >= int(evidence.files["bytes_read"][file])


def _in_small_ones(use: Use, kind: str) -> str:
    """`, in 240,000 small writes of 64 B on average`: for their number, each byte once would take
    long, too."""
    small = use.pattern(kind, "small") >= MOSTLY_SMALL * use.calls(kind)
    tiny = use.bytes(kind) < TINY_BYTES * use.calls(kind)
    many = use.calls(kind) >= MANY_REQUESTS and small and tiny
    return f", in {small_ones_of(use, kind)}" if many else ""


def _who_write_all(evidence: Evidence, file: int, span: int) -> int:
    """How many ranks write it, if each writes all of it; else 0."""
    rows = evidence.users_of(file, "write")
    least = min(_nearly_whole(evidence, row, "write") for row in rows)
    return len(rows) if len(rows) > 1 and least >= NEARLY_WHOLE * span else 0


def _nearly_whole(evidence: Evidence, row: int, kind: str) -> int:
    """How much of the file that rank may have read or written in one piece: no more than it moved,
    nor than lies between its first byte and its last; nothing where it mostly skips, who may
    have passed over the same pieces several times, unless it opened the file once and never went
    back."""
    table, noun = evidence.file_rank, KINDS[kind][0]
    once = not table[f"{noun}_backward"][row] and table["opens"][row] <= 1
    if not once and 2 * int(table[f"{noun}_forward"][row]) > int(table[noun][row]):
        return 0
    stretch = int(table[f"{noun}_end"][row]) - int(table[f"{noun}_begin"][row])
    return min(int(table[moved_column(kind)][row]), stretch)


def _overwritten(evidence: Evidence) -> np.ndarray:
    """Files most of whose bytes are written by ranks that write them again, or that ranks write
    over each other's bytes. Who closes the file to open it anew, or cuts it, begins a new pass over
    it, as of a checkpoint."""
    table, files = evidence.file_rank, evidence.files
    begin, end, moved, closes, cuts = (
        np.asarray(table[name])
        for name in ("writes_begin", "writes_end", "bytes_written", "closes", "truncates")
    )
    span, passes = end - begin, np.maximum(closes + cuts, 1)  # of opens some may have failed
    again = (begin >= 0) & (span >= REPLACED_BYTES) & (moved >= WRITTEN_AGAIN * span * passes)
    bytes_again = np.zeros(len(files["path"]), dtype=np.int64)
    np.add.at(bytes_again, np.asarray(table["file"])[again], moved[again])
    whole = np.asarray(files["bytes_written"])
    # A library may open the file on one rank alone to make it, before all do.
    fewest_passes, stretches = np.full(len(files["path"]), 1 << 62), np.zeros_like(bytes_again)
    wrote = begin >= 0
    np.minimum.at(fewest_passes, np.asarray(table["file"])[wrote], passes[wrote])
    np.add.at(stretches, np.asarray(table["file"]), np.where(begin >= 0, span, 0))
    begin, end = np.asarray(files["writes_begin"]), np.asarray(files["writes_end"])
    span = end - begin
    over = (begin >= 0) & (span >= REPLACED_BYTES) & (stretches >= WRITTEN_AGAIN * span)
    over &= whole >= WRITTEN_AGAIN * span * np.where(over, fewest_passes, 1)
    return (bytes_again > whole / 2) | over
