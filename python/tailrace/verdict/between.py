"""What lies between calls that follow each other from one place of the program, with no other call
in between: where a buffer's worth of bytes is written each time, that is formatting, most often,
and where it is read, parsing; of files that hold no text, packing and unpacking. What is done in
that time is not known; it is at least so much, since pauses of a hundredth of the run are left out,
in which a step may have been computed.

| sentence                                  | said when                                           |
|-------------------------------------------|-----------------------------------------------------|
| what lies between n writes to F           | MANY writes follow each other, of BUFFER_BYTES to   |
| (formatting, or what else is done from one| SMALL_BYTES on average, at FORMATTED_BYTES_PER_S    |
| to the next) takes at least x % of the run| or more, with hardly another call from there, and   |
|                                           | NOTABLE_LOSS of the run lies between                |
| the same of reads and parsing             | the same                                            |
| …, on rank r y %                          | it is there UNEVEN times as long as the mean        |
| … (compressing, …), (decompressing, …)    | the same, and all files are packed, by their names  |
| … (pickling, …), (unpickling, …)          | the same of files of Python's objects, by their names|
| … (compressing or converting, …)          | the same of files of HDF5 and netCDF                |
| … (making the file's tables, …), (looking | the same, from HDF5's cache of a file's tables      |
| through the file's tables, …)             |                                                     |
| … (converting, or what the library does   | the same, and a shared HDF5 was watched, in whose   |
| for its tables, …)                        | filters hardly any time was spent                   |
| → open the file once and keep it open     | it is opened REOPENED times                         |
| … (H5Fflush, …), (H5Dflush, …), (nc_sync, | most of these writes are made by that function      |
| …)                                        |                                                     |
| … (what SQLite does to find and fill its  | the same of SQLite's databases                      |
| pages, …)                                 |                                                     |
| … (gathering pieces in a buffer, …),      | the same, at more than COPIED_BYTES_PER_S, or by    |
| (taking pieces out of a buffer, …)        | GNU's Fortran in a larger buffer than text has,     |
|                                           | which holds up to MOST_OF_FORTRAN                   |
| … reads (compressing, …)                  | packed files are written from the same place, or in |
|                                           | between                                             |
| … writes (decompressing, …)               | packed files are read so                            |
| → it is read n times: read it once and    | each of its readers reads what it holds so often,   |
| keep what was made of it                  | REDUNDANT times at least, and nobody writes it again|
"""

import math
import re
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from tailrace.names import base_name
from tailrace.units import count, nanoseconds, percent, rate, to_seconds
from tailrace.verdict.advice import advice
from tailrace.verdict.by_path import through, through_library
from tailrace.verdict.cause import ONE_FILE_SHARE
from tailrace.verdict.evidence import NOTABLE_LOSS, Evidence, Finding, Kind
from tailrace.verdict.filters import READ, WRITTEN, filters
from tailrace.verdict.flushes import STREAMS, made_by
from tailrace.verdict.libraries import content_of
from tailrace.verdict.modules import are_modules
from tailrace.verdict.places import Places
from tailrace.verdict.requests import (
    KINDS,
    MOVING_KINDS,
    SMALL_BYTES,
    are_reopened,
    moved_column,
)
from tailrace.verdict.same_bytes import REDUNDANT, passes_of_each

# A few may be steps of the program.
MANY = 50
# No buffer is as small: what lies between lines that are flushed one by one is a step of whatever
# loop prints them.
BUFFER_BYTES = 512
# Most runtimes gather less than SMALL_BYTES, and programs hand over blocks of that and more as they
# please. GNU's Fortran gathers more than that, with the marks of records, where it writes no text;
# text it gathers in less.
MOST_OF_FORTRAN = 256 * 1024
TEXT_OF_FORTRAN = 8 * 1024
# So many of the calls from a place are reads, or writes: a line of Python may open and close files,
# too, and then what follows a call is another kind of call.
OF_ONE_KIND = 0.9
# Text is made as quickly in any language (20 MB/s by json.dump, 60 MB/s by fprintf); what comes
# more slowly is computed.
FORMATTED_BYTES_PER_S = 8_000_000
# What is packed comes more slowly (of numbers as text xz made 0.3 MB/s here, gzip -9 7 MB/s).
PACKED_BYTES_PER_S = 200_000
# More often for each open of a file than by its end, and by what looks at it first.
BROKEN = 3
# Of which files' bytes filters may be, and what share is too little to be what lies between calls.
FILTERED = ("hdf5", "netcdf")
HARDLY = 0.1
# HDF5's cache of what it keeps in a file besides the chunks and bytes of datasets.
TABLES = re.compile("H5(C|AC)_")
# Who is there so many times as long as the mean is named.
UNEVEN = 1.2
NAMES = ("again", "again_ns")
CALLS = {"read": "reads of", "write": "writes to"}
# By what is in the files: text, as far as is known.
WORK = {
    "": {"read": "parsing", "write": "formatting"},
    "packed": {"read": "decompressing", "write": "compressing"},
    "pickled": {"read": "unpickling", "write": "pickling"},
    "hdf5": {"read": "decompressing or converting", "write": "compressing or converting"},
}
WORK["netcdf"] = WORK["hdf5"]
_CONVERTING = dict.fromkeys(MOVING_KINDS, "converting, or what the library does for its tables")
WORK |= dict.fromkeys(("hdf5, unfiltered", "netcdf, unfiltered"), _CONVERTING)
_TABLES = {"read": "looking through the file's tables", "write": "making the file's tables"}
WORK |= dict.fromkeys(("hdf5, tables", "netcdf, tables"), _TABLES)
# What comes more quickly than text is made, or read, value by value is copied from buffer to buffer
# (16 bytes each by std::ostream::write: 0.86 GB/s on a slow machine).
COPIED_BYTES_PER_S = 300_000_000
WORK["copied"] = {"read": "taking pieces out of a buffer", "write": "gathering pieces in a buffer"}
# Who reads files and writes packed ones, as one that makes an archive of them, or the opposite.
WORK["into packed"] = {"read": WORK["packed"]["write"]}
WORK["out of packed"] = {"write": WORK["packed"]["read"]}
WORK["sqlite"] = dict.fromkeys(MOVING_KINDS, "what SQLite does to find and fill its pages")


class Between(NamedTuple):
    """From places of one name: `rows` of the table of places, and how often calls from there
    followed each other; the time is summed over ranks."""

    kind: str
    place: str
    rows: list[int]
    calls: int
    time_ns: int


class _Told(NamedTuple):
    """What the sentence is about: on which ranks, and how long each of them is there."""

    found: Between
    files: list[int]
    ranks: list[int]
    time_ns: float


def between_calls(evidence: Evidence) -> Finding | None:
    """Of the place and the kind with most time."""
    if (told := _told(evidence)) is None:
        return None
    found, files, ranks, time_ns = told
    share = evidence.share(time_ns)
    content = _content(evidence, files) or _made_of(evidence, found, files)
    content += _without_filters(evidence, found, content)
    work, advised = WORK[content][found.kind], f"{found.kind} {content}".rstrip()
    if flush := _flush(evidence, found):
        work, advised = flush, STREAMS[flush][0]
    paths = evidence.columns["files"]["path"]
    name = base_name(paths[files[0]]) if len(files) == 1 else count(len(files), "file")
    few = len(ranks) < evidence.ranks
    parted = few and not content.endswith(", tables")  # a file has them once
    who = f" on {named_ranks(evidence, ranks)}" if few else evidence.without_waits(share)
    speed = rate(_bytes(evidence, found) / to_seconds(found.time_ns))
    each = " a rank" if len(ranks) > 1 else ""
    words, longest_ns = advice(Kind.BETWEEN_CALLS, advised), time_ns
    if advised == "read" and (again := _again(evidence, files)):
        words = again + advice(Kind.BETWEEN_CALLS, "read again")
    if (
        content.partition(",")[0] in FILTERED
        and are_reopened(evidence.files)[files].all()
        and not flush
    ):
        words = f"{advice(Kind.BETWEEN_CALLS, 'reopened')}; {words}"
    if (most := _most_on(evidence, time_ns)) is not None:
        longest_ns = float(between_calls_ns(evidence)[most])
        who += f", on rank {most} {percent(evidence.share(longest_ns))}"
        words += "; or give the ranks equal parts"
    return Finding(
        Kind.BETWEEN_CALLS,
        f"what lies between {found.calls:,} {CALLS[found.kind]} {name} ({work}, or what else is "
        f"done from one {found.kind} to the next) takes at least {percent(share)} of the run{who}",
        f"{nanoseconds(found.time_ns // max(found.calls, 1))} from one to the next, with no other "
        f"call in between: {speed}{each}",
        share,
        f"without this time the run would be up to {nanoseconds(int(longest_ns))} shorter",
        to_seconds(longest_ns),
        f"{words}; or let every rank do that for its part" if parted else words,
        file=evidence.path_of(files[0]) if len(files) == 1 else "",
        ranks=tuple(ranks) if few else (),
        place=found.place,
    )


@lru_cache(maxsize=1)  # what is said here is not said of uneven computation
def _told(evidence: Evidence) -> _Told | None:
    if (found := _most(evidence)) is None:
        return None
    files = _files(evidence, found)
    ranks = _ranks(evidence, files, found.kind)
    running = evidence.ran_while_useful(ranks[0]) if len(ranks) == 1 else ran(evidence)
    time_ns = found.time_ns * running / max(len(ranks), 1)
    notable = evidence.is_notable(evidence.share(time_ns), NOTABLE_LOSS)
    return _Told(found, files, ranks, time_ns) if notable else None


def _again(evidence: Evidence, files: list[int]) -> str:
    """How often each reader reads these files, if that is more than once; else empty."""
    times = math.inf
    for file in files:
        times = min(times, passes_of_each(evidence, file))
        if times < REDUNDANT:
            return ""
    said = f"{times:,.1f}".removesuffix(".0")
    return f"{'it is' if len(files) == 1 else 'each is'} read {said} times: "


def _files(evidence: Evidence, found: Between) -> list[int]:
    """Those of the calls; the one with nearly all of them alone, beside which a line prints."""
    table, calls = evidence.columns["places"], KINDS[found.kind][0]
    made: dict[int, int] = {}
    for row in found.rows:
        file = int(table["file"][row])
        made[file] = made.get(file, 0) + int(table[calls][row])
    most = max(made, key=lambda file: made[file])
    return [most] if made[most] >= ONE_FILE_SHARE * sum(made.values()) else sorted(made)


def between_calls_ns(evidence: Evidence) -> np.ndarray:
    """Length P: what of each rank's useful time that sentence is about."""
    time_ns = np.zeros(evidence.ranks, dtype=np.int64)
    if (told := _told(evidence)) is None:
        return time_ns
    places = evidence.columns["places"]
    paths = [int(places["path"][row]) for row in told.found.rows]
    path, rank, spent_ns = (places["again_rank"][name] for name in ("path", "rank", "time_ns"))
    there = np.isin(path, paths)
    np.add.at(time_ns, rank[there], spent_ns[there])
    ran = [evidence.ran_while_useful(rank) for rank in range(evidence.ranks)]
    return (time_ns * np.asarray(ran)).astype(np.int64)


def _most_on(evidence: Evidence, mean_ns: float) -> int | None:
    """The rank that is there longer than the others, which wait for it."""
    by_rank = between_calls_ns(evidence)
    return int(by_rank.argmax()) if by_rank.max() > UNEVEN * mean_ns else None


def _flush(evidence: Evidence, found: Between) -> str:
    """By which function of a library most of these writes are made, if by one. What is done to hand
    over what has changed is no compressing."""
    return made_by(evidence, np.asarray(found.rows)) if found.kind == "write" else ""


def _content(evidence: Evidence, files: list[int]) -> str:
    """What all of these files hold, where that is known not to be text; else empty."""
    paths = evidence.columns["files"]["path"]
    kinds = {content_of(paths[file]) or evidence.library_in(file) for file in files} or {""}
    content = kinds.pop()
    return content if not kinds and content in WORK else ""


def _without_filters(evidence: Evidence, found: Between, content: str) -> str:
    """`, tables` where HDF5's cache of the file's tables makes these calls, and no chunk is moved;
    `, unfiltered` of a shared HDF5, whose filters are measured (filters.py), if hardly any of
    what lies between them was spent there."""
    meta, rows = evidence.columns["meta"], np.asarray(found.rows)
    if content not in FILTERED:
        return ""
    places = Places(evidence.columns)
    paths = np.asarray(places.table["path"])[rows]
    spent_ns = np.asarray(places.table["again_ns"])[paths]
    of_tables = through(places, TABLES)[rows]
    if spent_ns[of_tables].sum() >= ONE_FILE_SHARE * spent_ns.sum():
        return ", tables"
    done = (*filters(evidence, WRITTEN), *filters(evidence, READ))
    filtered_ns = sum(int(each.time_ns.sum()) for each in done)
    watched = "usage" in meta and through_library(places, "libhdf5")[rows].all()
    return ", unfiltered" if watched and filtered_ns < HARDLY * found.time_ns else ""


def kind_between(evidence: Evidence) -> str:
    """Reads or writes, whichever the sentence is about; empty where nothing is said."""
    told = _told(evidence)
    return told.found.kind if told else ""


def _made_of(evidence: Evidence, found: Between, files: list[int]) -> str:
    """What else than text these bytes become, or come from: packed ones are moved the other way
    meanwhile; or they come too quickly to be made one by one."""
    if _packed_meanwhile(evidence, found, files):
        return "into packed" if found.kind == "read" else "out of packed"
    quick = _bytes(evidence, found) * 1e9 >= COPIED_BYTES_PER_S * found.time_ns
    return "copied" if quick or _is_of_fortran(evidence, found) else ""


def _is_of_fortran(evidence: Evidence, found: Between) -> bool:
    """Whether the library of GNU's Fortran gathers records that hold no text: those it has a larger
    buffer for."""
    table, rows = evidence.columns["places"], np.asarray(found.rows)
    moved = np.asarray(table[moved_column(found.kind)])[rows]
    calls = np.asarray(table[KINDS[found.kind][0]])[rows]
    its = through_library(Places(evidence.columns), "libgfortran")[rows]
    return 2 * int(moved[its].sum()) > max(int(moved.sum()), 2 * TEXT_OF_FORTRAN * int(calls.sum()))


def _packed_meanwhile(evidence: Evidence, found: Between, files: list[int]) -> bool:
    """Packed files are written from the place that reads, or read from the one that writes; or from
    others, where it is these calls that stand between those on files that stay open, as of gzip: of
    what is parsed first, or formatted at the end, all calls follow each other."""
    table, paths = evidence.columns["places"], evidence.columns["files"]["path"]
    places, (other,) = Places(evidence.columns), set(MOVING_KINDS) - {found.kind}
    moved = np.flatnonzero((places.files >= 0) & (np.asarray(table[moved_column(other)]) > 0))
    packed = [row for row in moved if content_of(paths[places.files[row]]) == "packed"]
    if any(places.name(int(table["path"][row])) == found.place for row in packed):
        return True
    if found.kind == "write" and any(content_of(paths[file]) == "packed" for file in files):
        return False  # what is packed there was not unpacked elsewhere
    ours, theirs = KINDS[found.kind][0], KINDS[other][0]
    calls = sum(int(table[ours][row]) for row in found.rows if places.files[row] in files)
    broken, opens = calls - found.calls, evidence.columns["files"]["opens"]
    between = sum(int(table[theirs][row]) for row in packed)
    return BROKEN * max(int(np.asarray(opens)[files].sum()), 1) < broken <= 2 * between


def _most(evidence: Evidence) -> Between | None:
    table = evidence.columns.get("places")
    if not table or "again_ns" not in table:
        return None
    groups: dict[tuple[str, str], list[int]] = {}
    for kind in MOVING_KINDS:
        for place, rows in _by_place(evidence, kind).items():
            groups[kind, place] = rows
    every = (_between(evidence, kind, place, rows) for (kind, place), rows in groups.items())
    found = [each for each in every if _is_buffered(evidence, each)]
    return max(found, key=lambda each: each.time_ns, default=None)


def _by_place(evidence: Evidence, kind: str) -> dict[str, list[int]]:
    """Rows of the table of places from which files on file systems are read, or written, by the
    place's name; not what Python reads of its modules."""
    table, places = evidence.columns["places"], Places(evidence.columns)
    left_out = evidence.elsewhere | are_modules(evidence)
    moved = np.asarray(table[moved_column(kind)])
    groups: dict[str, list[int]] = {}
    for row in np.flatnonzero((places.files >= 0) & (moved > 0)):
        path = int(table["path"][row])
        if not left_out[places.files[row]] and table["again_ns"][path] > 0:
            groups.setdefault(places.name(path), []).append(int(row))
    return groups


def _between(evidence: Evidence, kind: str, place: str, rows: list[int]) -> Between:
    table = evidence.columns["places"]
    paths = sorted({int(table["path"][row]) for row in rows})
    calls, time_ns = (sum(int(table[name][path]) for path in paths) for name in NAMES)
    return Between(kind, place, rows, calls, time_ns)


def _bytes(evidence: Evidence, found: Between) -> int:
    moved = evidence.columns["places"][moved_column(found.kind)]
    return sum(int(moved[row]) for row in found.rows)


def _is_buffered(evidence: Evidence, found: Between) -> bool:
    """Many small requests, which come as quickly as a formatted buffer fills, and hardly any other
    calls from there."""
    table = evidence.columns["places"]
    calls = sum(int(table[KINDS[found.kind][0]][row]) for row in found.rows)
    size = _bytes(evidence, found)
    if calls < OF_ONE_KIND * _all_calls(table, found.rows) or size < BUFFER_BYTES * calls:
        return False
    files = sorted({int(table["file"][row]) for row in found.rows})
    packed = _content(evidence, files) == "packed"
    least = PACKED_BYTES_PER_S if packed else FORMATTED_BYTES_PER_S
    quick = size * 1e9 >= least * found.time_ns * ran(evidence)
    most = MOST_OF_FORTRAN if _is_of_fortran(evidence, found) else SMALL_BYTES
    return found.calls >= MANY and size < most * calls and quick


def _all_calls(table: dict[str, Any], rows: list[int]) -> int:
    """From the places of these rows, whatever they do and to whatever file."""
    paths = {int(table["path"][row]) for row in rows}
    there = np.isin(np.asarray(table["path"]), list(paths))
    return sum(int(np.asarray(table[calls])[there].sum()) for calls, _ in KINDS.values())


def ran(evidence: Evidence) -> float:
    """Of the useful time the share that is no wait for a processor."""
    return 1 - min(evidence.waited_ns("useful") / max(int(evidence.times.useful_ns.sum()), 1), 1.0)


def _ranks(evidence: Evidence, files: list[int], kind: str) -> list[int]:
    table = evidence.file_rank
    users = {row for file in files for row in evidence.users_of(file, kind)}
    return sorted({int(table["rank"][row]) for row in users})


def named_ranks(evidence: Evidence, ranks: list[int]) -> str:
    return f"rank {ranks[0]}" if len(ranks) == 1 else f"{len(ranks)} of {evidence.ranks} ranks"
