"""Whose file calls take longer than those of others, of which kind these are, and to which file:
what who.py compares the ranks by."""

from typing import NamedTuple

import numpy as np

from tailrace.verdict.evidence import Evidence, RankUse
from tailrace.verdict.requests import KINDS

# So much of the work, or of the excess, makes a group of ranks "the ones that do the I/O".
DOING_SHARE = 0.9


class Culprits(NamedTuple):
    """The ranks whose file calls take longer, the kind of call in which they do, and the file that
    most of the time and of the work goes to (a row of "files", or None): one slow call among equal
    ones does not make its file the one that is written."""

    ranks: tuple[int, ...]
    kind: str
    file: int | None
    rows: list[int]


def find_culprits(evidence: Evidence) -> Culprits | None:
    """Those with nearly all of the excess over the median rank."""
    ranks = evidence.ranks_with_excess(DOING_SHARE)
    if not len(ranks):
        return None
    excess = {kind: _excess_ns(evidence.by_rank(kind), ranks) for kind in KINDS}
    kind = max(excess, key=lambda kind: excess[kind])
    table = evidence.file_rank
    calls, times = (np.asarray(table[name]) for name in (KINDS[kind][0], f"{kind}_ns"))
    rows = [row for row in evidence.rows_of_ranks(ranks.tolist()) if calls[row]]
    moved = {"read": "bytes_read", "write": "bytes_written"}.get(kind)
    work = np.asarray(table[moved])[rows] if moved else calls[rows]
    more_work = _beyond_others(evidence, rows, np.asarray(table[moved]) if moved else calls)
    work = more_work if more_work.any() else work if work.any() else calls[rows]
    longer = _beyond_others(evidence, rows, times)
    slowest = evidence.file_of(rows, longer if longer.any() else times[rows])
    file = slowest if slowest == evidence.file_of(rows, work) else None
    return Culprits(tuple(map(int, ranks)), kind, file, evidence.rows_of_file(rows, file))


def _beyond_others(evidence: Evidence, rows: list[int], column: np.ndarray) -> np.ndarray:
    """Of each of these rows: by how much it is beyond the median rank in its file. What all ranks
    do to a file, however long it takes, makes none differ."""
    files, ranks = np.asarray(evidence.file_rank["file"]), evidence.ranks
    order = np.lexsort((column, files))
    users = np.bincount(files)
    first = np.cumsum(users) - users
    middle = np.zeros(len(users))
    for place in ((ranks - 1) // 2, ranks // 2):
        behind = place - (ranks - users)  # ranks that do not use it come first, with nothing
        used = behind >= 0
        middle[used] += column[order[(first + behind)[used]]] / 2
    return np.clip(column[rows] - middle[files[rows]], 0, None)


def _excess_ns(use: RankUse, ranks: np.ndarray) -> int:
    return int(np.clip(use.time_ns[ranks] - np.median(use.time_ns), 0, None).sum())


def most_in_own_files(evidence: Evidence, culprits: Culprits) -> int:
    """The most that any other rank does, by this kind of call, to files that the culprit does not
    touch so: where each has a file of its own, that is as much."""
    table, own = evidence.file_rank, work_in(evidence, culprits)
    rank, file = (np.asarray(table[name], dtype=np.int64) for name in ("rank", "file"))
    others = (rank != culprits.ranks[0]) & (own[file] == 0)
    work = np.where(others, _work_of_rows(evidence, culprits.kind), 0)
    return int(np.bincount(rank, weights=work, minlength=evidence.ranks).max(initial=0))


def work_in(evidence: Evidence, culprits: Culprits) -> np.ndarray:
    """What the culprit does to each file (row of "files") by this kind of call."""
    table = evidence.file_rank
    own = np.asarray(table["rank"]) == culprits.ranks[0]
    work = np.where(own, _work_of_rows(evidence, culprits.kind), 0)
    files = np.asarray(table["file"], dtype=np.int64)
    return np.bincount(files, weights=work, minlength=len(evidence.elsewhere))


def _work_of_rows(evidence: Evidence, kind: str) -> np.ndarray:
    """Of "file_rank": the bytes that calls of this kind move, or where they move none, calls."""
    table, moved = evidence.file_rank, {"read": "bytes_read", "write": "bytes_written"}.get(kind)
    return np.asarray(table[moved or KINDS[kind][0]], dtype=np.int64)
