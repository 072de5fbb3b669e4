"""MPI_File_preallocate: one rank writes zeros, or what the file already holds, for as long as the
file is to be, or has the system find room; the others wait for it. No other way to write makes that
faster, and nobody asked for these bytes. Each communicator has a rank of its own that does so."""

import numpy as np

from tailrace.names import base_name
from tailrace.units import byte_count, count, nanoseconds, percent, to_seconds
from tailrace.verdict.advice import advice
from tailrace.verdict.by_path import preallocated
from tailrace.verdict.cause import CAUSE_SHARE, ONE_FILE_SHARE
from tailrace.verdict.evidence import Evidence, Finding, Kind
from tailrace.verdict.requests import KINDS

# Less of the run is not worth a change.
NOTABLE_SHARE = 0.02
_WAITING = {0: "", 1: " while the other waits"}


def preallocation(evidence: Evidence) -> Finding | None:
    """What it costs: the time of the rank that is longest there, for which others wait."""
    time_ns = preallocated(evidence).time_ns
    if not time_ns.any():
        return None
    by_rank = _by_rank_ns(evidence)
    rank, whole = int(by_rank.argmax()), int(time_ns.sum())
    loss = int(min(by_rank[rank] * evidence.ran_in_io, float(evidence.losses.io_ns)))
    if evidence.share(loss) < NOTABLE_SHARE:
        return None
    files = _files(evidence)
    alone = evidence.ranks > 1 and all(_could(evidence, file) == [rank] for file in files)
    where = f" on rank {rank}{_waiting(evidence, files)}" if alone else ""
    part = percent(whole / evidence.io_time_ns)
    return Finding(
        Kind.PREALLOCATION,
        f"MPI_File_preallocate, which {_acts(evidence, files)}{where}, takes {part} of the I/O "
        "time",
        f"{nanoseconds(whole)} in file calls inside it",
        evidence.share(loss),
        f"without it the run would be up to {nanoseconds(loss)} shorter",
        to_seconds(loss),
        advice(Kind.PREALLOCATION),
        evidence.path_of(files[0]) if len(files) == 1 else "",
        (rank,) if alone or evidence.ranks == 1 else (),
        ("MPI_File_preallocate",),
    )


def _by_rank_ns(evidence: Evidence) -> np.ndarray:
    """Length P. Of those that could have done it MPI libraries take the first one."""
    time_ns, by_rank = preallocated(evidence).time_ns, np.zeros(evidence.ranks, dtype=np.int64)
    slowest = evidence.files["slowest_rank"]
    for file in map(int, np.flatnonzero(time_ns)):
        by_rank[next(iter(_could(evidence, file)), int(slowest[file]))] += time_ns[file]
    return by_rank


def _could(evidence: Evidence, file: int) -> list[int]:
    """The ranks that wrote as much to the file, and were nearly as long in calls on it: no call
    path tells which rank it was, and others may look at the file there."""
    table, done = evidence.file_rank, preallocated(evidence)
    rows = np.flatnonzero(np.asarray(table["file"]) == file)
    spent_ns = np.sum([np.asarray(table[f"{kind}_ns"])[rows] for kind in KINDS], axis=0)
    enough = spent_ns >= ONE_FILE_SHARE * done.time_ns[file]
    enough &= np.asarray(table["bytes_written"])[rows] >= done.bytes_written[file]
    return sorted(map(int, np.asarray(table["rank"])[rows[enough]]))


def is_most_of_io(evidence: Evidence) -> bool:
    """Who does the I/O, and why it takes long, is said of it then."""
    time_ns = int(preallocated(evidence).time_ns.sum())
    return time_ns >= CAUSE_SHARE * evidence.use.time_ns() > 0


def makes_ranks_differ(evidence: Evidence) -> bool:
    """Whether without it the longest rank would be less than half as much longer than the mean:
    nobody could do a part of it."""
    io_ns = np.asarray(evidence.times.io_ns)
    rest_ns = io_ns - _by_rank_ns(evidence)
    return bool(rest_ns.max() - rest_ns.mean() < CAUSE_SHARE * (io_ns.max() - io_ns.mean()))


def _files(evidence: Evidence) -> list[int]:
    """Rows of "files"; the one that has nearly all of the time alone."""
    time_ns = preallocated(evidence).time_ns
    most = int(time_ns.argmax())
    if time_ns[most] >= ONE_FILE_SHARE * time_ns.sum():
        return [most]
    return list(map(int, np.flatnonzero(time_ns)))


def _acts(evidence: Evidence, files: list[int]) -> str:
    """`reads 4 MB and writes 400 MB of field.dat`; `allocates 3 files`."""
    done = preallocated(evidence)
    sizes = (("reads", done.bytes_read[files].sum()), ("writes", done.bytes_written[files].sum()))
    acts = " and ".join(f"{verb} {byte_count(int(size))}" for verb, size in sizes if size)
    name = base_name(evidence.files["path"][files[0]])
    name = name if len(files) == 1 else count(len(files), "file")
    return f"{acts} of {name}" if acts else f"allocates {name}"


def _waiting(evidence: Evidence, files: list[int]) -> str:
    """Of a file that no other rank has opened none waits."""
    others = int(np.asarray(evidence.files["ranks"])[files].max()) - 1
    return _WAITING.get(others, f" while {others} ranks wait")
