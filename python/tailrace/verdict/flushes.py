"""Writes that the program itself has made, by a flush after every few bytes: C's fflush, which is a
call of its own, and what C++'s std::endl, Fortran's flush statement, H5Fflush and nc_sync do, which
is seen on the way of their writes."""

import re
from typing import NamedTuple

import numpy as np

from tailrace.units import byte_count, nanoseconds
from tailrace.verdict.by_path import ENDING_DEFINITIONS, through, through_library
from tailrace.verdict.cause import CAUSE_SHARE, Cause, part_of_io
from tailrace.verdict.evidence import Evidence, Kind
from tailrace.verdict.libraries import OF_NETCDF
from tailrace.verdict.places import Places
from tailrace.verdict.requests import (
    FLUSH_NAMES,
    MANY_REQUESTS,
    are_reopened,
    bytes_of_functions,
    flushed,
    sums_of,
)

# By how the program calls them: what is advised, and the functions. nc_sync may call H5Fflush.
STREAMS = {
    "nc_sync": ("flush of netcdf", re.compile(r"nc_sync$")),
    "H5Fflush": ("flush of hdf5", re.compile(r"H5Fflush\d?$")),
    "H5Dflush": ("flush of hdf5", re.compile(r"H5Dflush$")),
    "std::endl or flush": ("flush of C++", re.compile(r"std::(basic_)?ostream(<.*>)?::flush\b")),
    "the flush statement": ("flush", re.compile(r"_gfortran_(st_flush|flush_i\d)$")),
}


# One of these writes whatever has changed, by many calls.
LIBRARIES = ("flush of netcdf", "flush of hdf5")
OF_LIBRARIES = tuple(by for by, (advised, _) in STREAMS.items() if advised in LIBRARIES)


CLOSING_HDF5 = re.compile(r"H5Fclose$")
# By netCDF: where definitions end, and where the file is closed.
SYNCS_OF_AN_OPEN = 2


class Flushes(NamedTuple):
    calls: int
    time_ns: int
    bytes_written: int
    by: str
    advised: str


def flushes(evidence: Evidence, kind: str) -> Cause | None:
    """Where they are most of the writes, and have most of the time in these."""
    use = evidence.use
    found = max(_all(evidence), key=lambda found: found.time_ns) if kind == "write" else None
    if found is None or found.calls < MANY_REQUESTS or 2 * found.calls <= use.calls(kind):
        return None
    small = 2 * use.pattern(kind, "small") >= use.calls(kind)
    if not small or found.time_ns < CAUSE_SHARE * use.time_ns(kind):
        return None
    mean = byte_count(found.bytes_written / found.calls)
    part, what = part_of_io(evidence, found.time_ns), "the buffer"
    text = f"{found.calls:,} flushes of {mean} on average {part}"
    if found.advised in LIBRARIES:
        text = f"{found.calls:,} writes of {mean} on average, made by {found.by}, {part}"
        what = "all that has changed"
    facts = f"{nanoseconds(found.time_ns // found.calls)} each; {found.by} hands {what} to the "
    functions = ("fflush",) if found.by == "fflush" else ()
    file = evidence.named_file(kind)
    return Cause(Kind.SMALL_REQUESTS, text, f"{facts}system", file, functions, found.advised)


def flushed_by_library(evidence: Evidence, kind: str) -> Cause | None:
    """Tables that are written at each flush make requests jump, and the same bytes be written
    again: the flushes are the cause of that, too."""
    cause = flushes(evidence, kind)
    return cause if cause is not None and cause.advised in LIBRARIES else None


def through_flush(places: Places, by: str) -> np.ndarray:
    """By row; not where netCDF flushes by itself as it closes a file or ends its definitions, which
    nobody can do less often than once. Who uses netCDF calls none of HDF5's."""
    advised, functions = STREAMS[by]
    rows = through(places, functions)
    if by in OF_LIBRARIES:
        rows &= ~through(places, ENDING_DEFINITIONS)
    if advised == "flush of hdf5":
        rows &= ~(through_library(places, "libnetcdf") | through(places, OF_NETCDF))
    return rows


def synchronised_by_library(evidence: Evidence, files: np.ndarray) -> str:
    """Which advice is for the synchronisations of these files, where most of the time in them is in
    those that a library makes by itself, as it closes a file or ends its definitions; else
    empty."""
    places = Places(evidence.columns)
    spent_ns = np.where(places.files >= 0, places.time_ns(("sync",)), 0)
    itself = np.isin(places.files, files)
    if not itself.any():
        return ""
    itself &= through(places, ENDING_DEFINITIONS) | through(places, CLOSING_HDF5)
    if 2 * int(spent_ns[itself].sum()) <= evidence.use.time_ns("sync"):
        return ""
    table = evidence.files
    opens, syncs = (np.asarray(table[name])[files] for name in ("opens", "syncs"))
    if are_reopened(table)[files].all():
        return "by library, again"
    often = syncs.sum() > SYNCS_OF_AN_OPEN * opens.sum()
    return "by library, definitions" if often else "by library" + ", once" * (len(files) == 1)


def made_by(evidence: Evidence, rows: np.ndarray) -> str:
    """By which function of a library most of the writes in these rows of the table of places are
    made, if by one."""
    places = Places(evidence.columns)
    for by in OF_LIBRARIES if len(rows) else ():
        made = rows[through_flush(places, by)[rows]]
        if len(made):
            writes = np.asarray(places.table["writes"])
            if 2 * writes[made].sum() > writes[rows].sum():
                return by
    return ""


def flushed_file(evidence: Evidence, file: int | None) -> str:
    """Which advice is for the flushes that make most of the writes to the file; empty where none
    do."""
    by = made_by(evidence, np.flatnonzero(Places(evidence.columns).files == file))
    return STREAMS[by][0] if by else ""


def _all(evidence: Evidence) -> list[Flushes]:
    return [_of_c(evidence), *(_of_streams(evidence, by) for by in STREAMS)]


def _of_c(evidence: Evidence) -> Flushes:
    functions = evidence.columns["functions"]
    _, time_ns = sums_of(functions, FLUSH_NAMES)
    size = bytes_of_functions(functions, FLUSH_NAMES)
    times = np.asarray(evidence.files["write_ns"])
    library = evidence.library_in(int(times.argmax())) if len(times) else ""
    advised = "flush of petsc" if library == "petsc" else "flush"
    return Flushes(flushed(evidence.use, functions), time_ns, size, "fflush", advised)


def _of_streams(evidence: Evidence, by: str) -> Flushes:
    """Of files on file systems alone, as the numbers that they are compared with."""
    advised, places = STREAMS[by][0], Places(evidence.columns)
    if not len(places.files):
        return Flushes(0, 0, 0, by, advised)
    rows = (places.files >= 0) & through_flush(places, by)
    rows &= ~evidence.elsewhere[places.files]
    if not rows.any():
        return Flushes(0, 0, 0, by, advised)
    columns = (places.table[name] for name in ("writes", "write_ns", "bytes_written"))
    calls, time_ns, size = (int(np.asarray(column)[rows].sum()) for column in columns)
    return Flushes(calls, time_ns, size, by, advised)
