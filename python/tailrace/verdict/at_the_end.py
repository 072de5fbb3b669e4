"""Reads where a file ends that their own rank writes: netCDF looks for each page of a classic file
before it fills it, and finds nothing. A file system that several nodes use asks its server then,
and waits until all that was written has arrived: what looks like reading is the price of writing.

| it is said when                                 | it must not be said when                       |
|-------------------------------------------------|------------------------------------------------|
| nearly all reads of half of the time find       | they find something, or another rank writes or |
| nothing, their rank writes to the same file,    | reads the file, too; or return at once, as from|
| and each takes 0.05 ms with a processor         | a file system of this machine                  |
"""

from __future__ import annotations

import numpy as np

from tailrace.units import nanoseconds
from tailrace.verdict.cause import Cause, dominant, only_row, where_of
from tailrace.verdict.evidence import Evidence, Kind
from tailrace.verdict.requests import MOSTLY_EMPTY, sum_use

# A file system of this machine answers in a few microseconds; a client that asks its server takes
# 80 and more, however near that is.
ASKED_NS = 50_000


def at_the_end(evidence: Evidence) -> np.ndarray:
    """By row of "file_rank": nearly all of the rank's reads find nothing, and it writes there."""
    table = evidence.file_rank
    names = ("reads", "reads_empty", "writes")
    reads, empty, writes = (np.asarray(table[name], dtype=np.int64) for name in names)
    return (writes > 0) & (empty > 0) & (empty >= MOSTLY_EMPTY * reads)


def belong_to_writing(evidence: Evidence, rows: list[int]) -> bool:
    """Whether that is most of what these rows of "file_rank" take for reading."""
    time_ns = np.asarray(evidence.file_rank["read_ns"], dtype=np.int64)
    return bool(2 * time_ns[rows][at_the_end(evidence)[rows]].sum() > time_ns[rows].sum())


def end_is_asked(evidence: Evidence, kind: str) -> Cause | None:
    if kind != "read":
        return None
    rows = dominant(evidence, kind, _only_by_who_writes(evidence))
    use = None if rows is None else sum_use(evidence.files, rows)
    if rows is None or use is None or use.each_ns(kind) * evidence.ran_in_io < ASKED_NS:
        return None
    text = (
        f"{use.pattern(kind, 'empty'):,} reads that find nothing, {nanoseconds(use.each_ns(kind))}"
        f" each: where {where_of(evidence, rows)} {'ends' if len(rows) == 1 else 'end'}, they wait"
        " until what was written has arrived"
    )
    facts = f"{evidence.described(use, 'write')} by whoever reads there"
    is_netcdf = evidence.library_in(int(rows[0])) == "netcdf"
    advised = "end of netcdf" if is_netcdf else "end"
    return Cause(Kind.SLOW_SMALL_REQUESTS, text, facts, only_row(rows), advised=advised)


def _only_by_who_writes(evidence: Evidence) -> np.ndarray:
    """Files that nobody else reads or writes."""
    table, count = evidence.file_rank, len(evidence.files["path"])
    files = np.asarray(table["file"], dtype=np.int64)
    moves = (np.asarray(table["reads"]) > 0) | (np.asarray(table["writes"]) > 0)
    users, who_ask = (
        np.bincount(files[rows], minlength=count) for rows in (moves, at_the_end(evidence))
    )
    return (users == 1) & (who_ask == 1)
