"""Whose file calls take longer than those of others, of which kind these are, and to which file:
what who.py compares the ranks by."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tailrace.verdict.at_the_end import belong_to_writing
from tailrace.verdict.evidence import Evidence, RankUse
from tailrace.verdict.requests import KINDS, MOVING_KINDS, sum_use

# So much of the work, or of the excess, makes a group of ranks "the ones that do the I/O".
DOING_SHARE = 0.9
# Work within this factor of the mean is equal.
UNEVEN_WORK = 1.3
# Calls that move nothing themselves, but wait for what was written before.
WAIT_FOR_WRITES = ("sync", "close")


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


def is_even(work: np.ndarray) -> bool:
    """Of those that do any: a master that hands out work makes no other's part larger."""
    return bool(work.max() <= _uneven_from(work))


def _uneven_from(work: np.ndarray) -> float:
    return UNEVEN_WORK * float(work[work > 0].mean()) if work.any() else 0.0


def moved_by(kind: str) -> str:
    """The kind of call whose bytes these calls move, or wait for."""
    return "write" if kind in WAIT_FOR_WRITES else kind


def who_does_more(time_ns: np.ndarray, work: np.ndarray) -> tuple[int, ...]:
    """The ranks that the others wait for: the one with most time, where it does about as much as
    any and more than an even part of it, with those that do as much and take longer, too, than
    ranks that do less. Else empty."""
    slowest = int(time_ns.argmax())
    much = UNEVEN_WORK * work >= work.max()
    if not much[slowest] or work[slowest] <= _uneven_from(work):
        return ()
    long = time_ns > UNEVEN_WORK * time_ns[~much].mean()
    long[slowest] = True
    return tuple(np.flatnonzero(much & long).tolist())


def others_do_nothing(evidence: Evidence, culprits: Culprits, ranks: Sequence[int]) -> bool:
    """To the file, or where none stands out to any, by the kind of call in question."""
    table = evidence.file_rank
    rows = evidence.rows_of_file(range(len(table["rank"])), culprits.file)
    calls = table[KINDS[culprits.kind][0]]
    return not any(int(calls[row]) for row in rows if int(table["rank"][row]) not in ranks)


def does_more_to_its_own(
    evidence: Evidence, culprits: Culprits, rank: int, size: np.ndarray
) -> bool:
    """Whether nobody else uses that file so, and it is all that the rank does more. Of files of
    which each rank has one it is not said: they differ in size."""
    moving = culprits.file is not None and culprits.kind in MOVING_KINDS
    if not moving or not others_do_nothing(evidence, culprits, (rank,)):
        return False
    rest = size.copy()
    rest[rank] -= sum_use(evidence.file_rank, culprits.rows).bytes(culprits.kind)
    as_much = rest[rank] * UNEVEN_WORK >= np.delete(rest, rank).mean() > 0
    return bool(as_much) and is_even(rest)


def of_all_files(evidence: Evidence, culprits: Culprits, ranks: Sequence[int]) -> Culprits:
    """Where each of these ranks has a file of its own, however much of the time goes to one of
    them, they do it to all of these."""
    table, calls = evidence.file_rank, evidence.file_rank[KINDS[culprits.kind][0]]
    users = {int(table["rank"][row]) for row in culprits.rows if calls[row]}
    if culprits.file is None or users >= set(ranks):
        return culprits
    rows = [row for row in evidence.rows_of_ranks(list(ranks)) if calls[row]]
    file = culprits.file if _all_mostly_on(evidence, culprits, ranks) else None
    return Culprits(tuple(ranks), culprits.kind, file, evidence.rows_of_file(rows, file))


def _all_mostly_on(evidence: Evidence, culprits: Culprits, ranks: Sequence[int]) -> bool:
    """Whether each of these ranks does half of such work or more to that file."""
    work, whose = _work_of_rows(evidence, culprits.kind), np.asarray(evidence.file_rank["rank"])
    done = np.where(np.asarray(evidence.file_rank["file"]) == culprits.file, work, 0)
    return all(2 * done[whose == rank].sum() >= work[whose == rank].sum() for rank in ranks)


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
