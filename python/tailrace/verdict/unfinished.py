"""The file call that a rank was in when its process was killed, and never left: the answer to "my
program hangs, I kill it: why?".

Its time is time in file calls, but it has no file in any table, and an ideal file system need not
have let it end: a lock may be another program's, and a read may wait for a person. So it is left
out of what is said about files. In a call of MPI nobody knows what a rank waited for (ends.py).

| sentence                                      | said when                                       |
|-----------------------------------------------|-------------------------------------------------|
| the run was stopped while it had been in      | the one rank was in there for NOTABLE_LOSS of   |
| flock for 2.07 s, 99.0 % of the run           | the run                                         |
| rank 1 was in flock for the last 2.07 s,      | likewise, of several ranks                      |
| 99.0 % of the run, and never left it          |                                                 |
"""

from typing import Any

import numpy as np

from tailrace.units import nanoseconds, percent
from tailrace.verdict.ends import NAMED_RANKS, is_mpi
from tailrace.verdict.evidence import NOTABLE_LOSS, TOO_SHORT_NS, Evidence, Finding, Kind

# By parts of functions' names: what such a call may have waited for, and what to do.
ABOUT = (
    (
        ("flock", "lockf", "fcntl"),
        "who asks for a lock waits for whoever holds it",
        "find out who held the lock (lslocks, fuser): another program, or this one's own other "
        "process",
    ),
    (
        ("readdir", "stat", "sync", "link", "rename", "truncate", "fallocate"),
        "what it waited for is not recorded",
        "",
    ),
    (
        ("open",),
        "to open a FIFO waits for whoever opens its other end",
        "",
    ),
    (
        ("read", "write", "get", "put", "scan", "print"),
        "whether it waited for a file, a pipe or a terminal is not recorded",
        "",
    ),
)
NOTHING_KNOWN = ((), "what it waited for is not recorded", "")
# Of a program that hangs there again.
LOOK = (
    "see where it hangs while it does: its stack (gdb -p, or py-spy of a Python program), and what "
    "its descriptors are (ls -l /proc/PID/fd)"
)


def unfinished_ns(evidence: Evidence) -> np.ndarray:
    """Length P: in a file call that never ended, up to the run's end."""
    names = evidence.unfinished
    is_file_call = np.array([bool(name) and not is_mpi(name) for name in names], dtype=bool)
    return np.where(is_file_call, evidence.of_ranks("unfinished_ns"), 0)


def unfinished(evidence: Evidence) -> Finding | None:
    lengths_ns = unfinished_ns(evidence)
    longest_ns = int(lengths_ns.max(initial=0))
    share = evidence.share(longest_ns)
    if share < NOTABLE_LOSS or evidence.times.runtime_ns < TOO_SHORT_NS:
        return None
    rank = int(lengths_ns.argmax())
    function = evidence.unfinished[rank]
    length = f"{nanoseconds(longest_ns)}, {percent(share)} of the run"
    text = f"the run was stopped while it had been in {function} for {length}"
    ranks: tuple[int, ...] = ()
    if evidence.ranks > 1:
        notable = NOTABLE_LOSS * evidence.times.runtime_ns
        ranks = tuple(np.flatnonzero(lengths_ns >= notable).tolist())
        others = _others(len(ranks) - 1)
        text = f"rank {rank} was in {function} for the last {length}, and never left it{others}"
        ranks = ranks[:NAMED_RANKS]
    what, advised = _about(function)
    facts = f"{what}; its time counts as I/O, but of no file"
    return Finding(
        Kind.UNFINISHED_CALL,
        text,
        facts,
        share,
        advice=advised,
        ranks=ranks,
        functions=(function,),
    )


def _others(number: int) -> str:
    """Of other ranks that were in a file call likewise."""
    if not number:
        return ""
    return f", nor did {number:,} other {'ranks' if number > 1 else 'rank'} leave such a call"


def _about(function: str) -> tuple[str, str]:
    """What the call may have waited for, and what to do."""
    found = (row for row in ABOUT if any(part in function for part in row[0]))
    _, what, advised = next(found, NOTHING_KNOWN)
    return what, advised or LOOK


def without_unfinished(evidence: Evidence) -> Evidence:
    """The same run as if the time in such calls were the program's own, which no file system saves:
    for what is said about the file calls that ended. Where several ranks wait for each other, the
    ideal run is the longest that it may be."""
    lengths_ns = unfinished_ns(evidence)
    if not lengths_ns.any():
        return evidence
    columns, rank = evidence.columns, evidence.columns["rank"]
    kept_ns = np.minimum(np.asarray(rank["io_ns"], dtype=np.int64), lengths_ns)
    moved: dict[str, Any] = {
        "io_ns": np.asarray(rank["io_ns"]) - kept_ns,
        "useful_ns": np.asarray(rank["useful_ns"]) + kept_ns,
    }
    longest_ns = int(kept_ns.max())
    times: dict[str, int] = {}
    for name, most in (("ideal_network_even_io_ns", "ideal_network_ns"), ("ideal_ns", "")):
        most_ns = int(columns[most]) if most else times["ideal_network_even_io_ns"]
        times[name] = min(int(columns[name]) + longest_ns, most_ns)
    return Evidence(columns | times | {"rank": rank | moved})
