"""Files that are on no file system, and no streams either: memory in /dev/shm, the answers of the
kernel in /proc and /sys, devices as /dev/urandom. No disk or server makes them faster, so that
their time is in no share of I/O; but a run can spend as much of it there."""

from typing import NamedTuple

import numpy as np

from tailrace.units import byte_count, count, nanoseconds, percent
from tailrace.verdict.advice import advice
from tailrace.verdict.evidence import NAMED_FILE_SHARE, NOTABLE_LOSS, Evidence, Finding, Kind
from tailrace.verdict.requests import KINDS, MOVING_KINDS, sum_use
from tailrace.verdict.streams import is_stream

# By the engine's word for the place: where that is, and what it is.
PLACES = {
    "memory": ("files in /dev/shm", "memory"),
    "kernel": ("files in /proc and /sys", "the kernel's"),
    "device": ("devices", "a device"),
}


class _Spent(NamedTuple):
    """Of a rank, in the files of a place; rows of "file_rank"."""

    place: str
    rank: int
    rows: np.ndarray
    time_ns: np.ndarray


def elsewhere(evidence: Evidence) -> Finding | None:
    """Of the rank and the place with most time of the main thread: where other threads of the rank
    move bytes, it is not known whose calls these are."""
    spent = _most(evidence)
    if spent is None:
        return None
    table, ran = evidence.columns["file_rank"], evidence.ran_while_useful(spent.rank)
    time_ns = int(float(spent.time_ns.sum()) * ran)
    if time_ns < NOTABLE_LOSS * evidence.times.runtime_ns or not time_ns:
        return None
    use = sum_use(table, spent.rows.tolist())
    share, calls = evidence.share(float(time_ns)), use.calls(*KINDS)
    whose = "" if evidence.ranks == 1 else f"rank {spent.rank}'s "
    what = f"{whose}{count(calls, 'call')} on {_name(evidence, spent)}"
    names = spent.place == "memory" and 2 * use.time_ns(*MOVING_KINDS) < use.time_ns()
    moved = byte_count(use.bytes("read") + use.bytes("write"))
    return Finding(
        Kind.ELSEWHERE,
        f"{what} {'takes' if calls == 1 else 'take'} {percent(share)} of the run",
        f"{moved} in {nanoseconds(time_ns)}; it counts as useful, or as MPI inside MPI calls",
        share,
        advice=advice(Kind.ELSEWHERE, "names" if names else spent.place),
        ranks=() if evidence.ranks == 1 else (spent.rank,),
    )


def _most(evidence: Evidence) -> _Spent | None:
    """Of the rank and the place with most time, where there is any."""
    table, files = evidence.columns["file_rank"], evidence.columns["files"]
    file, rank = (np.asarray(table[name], dtype=np.int64) for name in ("file", "rank"))
    words = list(PLACES)
    places = [words.index(str(place)) if str(place) in PLACES else -1 for place in files["place"]]
    named = [not (path.startswith(b"<") or is_stream(path)) for path in map(bytes, files["path"])]
    place = np.where(named, places, -1)[file] if len(file) else file
    counted = (place >= 0) & ~(evidence.of_ranks("bytes_by_other_threads") > 0)[rank]
    time_ns = np.sum([np.asarray(table[f"{kind}_ns"]) for kind in KINDS], axis=0)
    sums = np.zeros((len(PLACES), evidence.ranks), dtype=np.int64)
    np.add.at(sums, (place[counted], rank[counted]), time_ns[counted])
    # More than the main thread has outside file calls is other threads' time, too.
    sums[:, sums.sum(axis=0) > evidence.times.useful_ns + evidence.times.mpi_ns] = 0
    if not sums.any():
        return None
    most, by = np.unravel_index(int(sums.argmax()), sums.shape)
    rows = np.flatnonzero(counted & (place == most) & (rank == by))
    return _Spent(words[most], int(by), rows, time_ns[rows])


def _name(evidence: Evidence, spent: _Spent) -> str:
    """`/proc/self/stat, which is the kernel's,`: the file with half of the time, or the place."""
    where, what = PLACES[spent.place]
    most = int(spent.time_ns.argmax())
    if spent.time_ns[most] >= NAMED_FILE_SHARE * spent.time_ns.sum():
        file = int(evidence.columns["file_rank"]["file"][spent.rows[most]])
        return f"{evidence.path_of(file)}, which is {what},"
    return where if spent.place == "device" else f"{where}, which are {what},"
