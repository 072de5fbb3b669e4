"""What was done to files, by the functions through which the calls went."""

import re
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from tailrace.names import base_name
from tailrace.verdict.cause import CAUSE_SHARE
from tailrace.verdict.evidence import Evidence
from tailrace.verdict.places import Places
from tailrace.verdict.requests import COLUMNS, KINDS, Use

MPI = re.compile("P?MPI_[A-Z]")
MPI_FILE = re.compile("P?(MPI_File_.*)")
# Of netCDF and PnetCDF; closing a file may do it, too.
ENDING_DEFINITIONS = re.compile(r"(nc|ncmpi|ncmpio|NC\d?)_+(enddef|close)$")
PREALLOCATE = re.compile("P?MPI_File_preallocate$")


class Done(NamedTuple):
    """By file; times are summed over ranks."""

    time_ns: np.ndarray
    bytes_read: np.ndarray
    bytes_written: np.ndarray

    @property
    def bytes(self) -> np.ndarray:
        return self.bytes_read + self.bytes_written


class Made(NamedTuple):
    """By file: calls of a kind inside a function of MPI-IO, and their time, summed over ranks."""

    function: str
    calls: np.ndarray
    time_ns: np.ndarray

    def use(self, kind: str, rows: list[int] | None = None) -> Use:
        """Those alone; on these files, or on all."""
        chosen = slice(None) if rows is None else rows
        sums = {KINDS[kind][0]: self.calls[chosen], f"{kind}_ns": self.time_ns[chosen]}
        none = dict.fromkeys(COLUMNS, 0)
        return Use(none | {name: int(column.sum()) for name, column in sums.items()})


def done_inside(evidence: Evidence, function: re.Pattern[str]) -> Done:
    """By calls inside such functions."""
    return _done(evidence, function, inside=True)


@lru_cache(maxsize=1)  # several findings ask
def preallocated(evidence: Evidence) -> Done:
    """Inside MPI_File_preallocate."""
    return done_inside(evidence, PREALLOCATE)


@lru_cache(maxsize=1)
def moved_for_mpiio(evidence: Evidence) -> Done:
    """Without what the program moves by calls of its own, and what it has preallocated."""
    files = evidence.files
    moved = Done(files["mpiio_ns"], files["bytes_read"], files["bytes_written"])
    own = _done(evidence, MPI, inside=False)
    less = zip(moved, own, preallocated(evidence), strict=True)
    return Done(*(np.asarray(whole) - part - room for whole, part, room in less))


def made_by_mpiio(evidence: Evidence, kind: str) -> Made | None:
    """The function of MPI-IO inside which most of the time in such calls is spent, and those calls;
    None where the program, or another library, makes them."""
    places = Places(evidence.columns)
    spent = np.where(places.files >= 0, places.time_ns((kind,)), 0)
    if not spent.any():
        return None
    found = map(MPI_FILE.match, map(str, places.table["frames"]["function"]))
    rows = {
        function: through(places, re.compile(f"P?{function}$")) & (places.files >= 0)
        for function in sorted({match[1] for match in found if match is not None})
    }
    function = max(rows, key=lambda name: int(spent[rows[name]].sum()), default="")
    enough_ns = CAUSE_SHARE * evidence.use.time_ns(kind)
    if not function or int(spent[rows[function]].sum()) < enough_ns:
        return None
    return Made(function, *_by_file(evidence, places, kind, rows[function]))


def _by_file(
    evidence: Evidence, places: Places, kind: str, rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The number of such calls from these places, and the time in them; none on what is not on a
    file system."""
    calls, time_ns = (np.zeros(len(evidence.elsewhere), dtype=np.int64) for _ in range(2))
    columns = (np.asarray(places.table[name]) for name in (KINDS[kind][0], f"{kind}_ns"))
    for total, column in zip((calls, time_ns), columns, strict=True):
        np.add.at(total, places.files[rows], column[rows])
        total[evidence.elsewhere] = 0
    return calls, time_ns


def _done(evidence: Evidence, function: re.Pattern[str], *, inside: bool) -> Done:
    """By calls inside such functions, or by all others."""
    places, number = Places(evidence.columns), len(evidence.elsewhere)
    done = Done(*(np.zeros(number, dtype=np.int64) for _ in Done._fields))
    if not len(places.files):
        return done
    rows = np.flatnonzero((places.files >= 0) & (through(places, function) == inside))
    columns = (places.time_ns(KINDS), places.table["bytes_read"], places.table["bytes_written"])
    for total, column in zip(done, columns, strict=True):
        np.add.at(total, places.files[rows], np.asarray(column)[rows])
    return done


def through(places: Places, function: re.Pattern[str]) -> np.ndarray:
    """By row, whether its path leads through such a function."""
    names = enumerate(places.table["frames"]["function"])
    return _through(places, {row for row, name in names if function.match(str(name))})


def through_library(places: Places, begin: str) -> np.ndarray:
    """By row, whether its path leads through a library whose file's name begins so."""
    modules = enumerate(places.table["frames"]["module"])
    return _through(places, {row for row, name in modules if base_name(name).startswith(begin)})


def _through(places: Places, frames: set[int]) -> np.ndarray:
    paths = np.array([not frames.isdisjoint(path) for path in places.table["paths"]], dtype=bool)
    return np.asarray(paths[places.table["path"]])
