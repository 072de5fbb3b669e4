"""Whose file calls take longer than those of others, of which kind these are, and to which file:
what who.py compares the ranks by."""

from typing import NamedTuple

import numpy as np

from tailrace.verdict.at_the_end import belong_to_writing
from tailrace.verdict.evidence import Evidence, RankUse
from tailrace.verdict.requests import KINDS

# So much of the work, or of the excess, makes a group of ranks "the ones that do the I/O".
DOING_SHARE = 0.9
# Work within this factor of the mean is equal.
UNEVEN_WORK = 1.3


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
    of_ranks = evidence.rows_of_ranks(ranks.tolist())
    if kind == "read" and belong_to_writing(evidence, of_ranks):
        kind = "write"
    table = evidence.file_rank
    calls, times = (np.asarray(table[name]) for name in (KINDS[kind][0], f"{kind}_ns"))
    rows = [row for row in of_ranks if calls[row]]
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


def with_files_of_its_own(evidence: Evidence, culprits: Culprits) -> Culprits | None:
    """The one rank, with the files that no other touches by this kind of call, where nearly all of
    its time goes to these; not where others do as much to files of their own."""
    if len(culprits.ranks) != 1:
        return None
    (rank,), kind = culprits.ranks, culprits.kind
    times, work = np.asarray(evidence.file_rank[f"{kind}_ns"]), _work_of_rows(evidence, kind)
    alone = _used_by_one(evidence, kind)
    whose = np.asarray(evidence.file_rank["rank"], dtype=np.int64)
    by_rank = np.bincount(whose[alone], weights=work[alone], minlength=evidence.ranks)
    rows = np.flatnonzero(alone & (whose == rank)).tolist()
    if times[rows].sum() < max(DOING_SHARE * times[whose == rank].sum(), 1):
        return None
    if UNEVEN_WORK * np.delete(by_rank, rank).max(initial=0) >= by_rank[rank]:
        return None
    file = evidence.file_of(rows, times[rows])
    return culprits._replace(file=file, rows=evidence.rows_of_file(rows, file))


def _used_by_one(evidence: Evidence, kind: str) -> np.ndarray:
    """By row of "file_rank": whether its rank alone makes calls of this kind on the file."""
    files = np.asarray(evidence.file_rank["file"], dtype=np.int64)
    used = np.asarray(evidence.file_rank[KINDS[kind][0]]) > 0
    users = np.bincount(files[used], minlength=len(evidence.elsewhere))
    return used & (users[files] == 1)


def _work_of_rows(evidence: Evidence, kind: str) -> np.ndarray:
    """Of "file_rank": the bytes that calls of this kind move, or where they move none, calls."""
    table, moved = evidence.file_rank, {"read": "bytes_read", "write": "bytes_written"}.get(kind)
    return np.asarray(table[moved or KINDS[kind][0]], dtype=np.int64)
