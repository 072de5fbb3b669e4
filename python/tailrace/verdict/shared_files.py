"""How ranks use a file that they share by MPI-IO: whether each goes on where it ended, whether
collective calls merge their pieces, and what the pointer costs that they share."""

import re

import numpy as np

from tailrace.units import count
from tailrace.verdict.cause import CAUSE_SHARE, Cause, part_of_io
from tailrace.verdict.evidence import Evidence, Kind
from tailrace.verdict.requests import (
    KINDS,
    MOVING_KINDS,
    MPIIO_CALL,
    calls_of,
    mpiio_ways,
    shared_calls,
    sum_use,
    sums_of,
    waits_for_collective,
)

# Requests for each collective call: an aggregator makes one, or one for each of its buffers.
PIECES = 4
# In which ROMIO keeps the pointer that ranks share, in the directory of the file.
_POINTER = re.compile(rb"/\.[^/]+\.shfp\.[0-9.]+$")


def goes_on(evidence: Evidence, file: int) -> bool:
    """Whether most requests to it begin where the rank's last one ended."""
    use = sum_use(evidence.files, [file])
    kind = max(MOVING_KINDS, key=lambda kind: use.time_ns(kind))
    return 2 * use.pattern(kind, "consecutive") > use.calls(kind)


def are_unmerged(evidence: Evidence, file: int) -> bool:
    """Whether each rank that calls collective functions of MPI-IO moves its own pieces itself, by
    several requests with gaps for each call: aggregators make large ones of them."""
    use, table = sum_use(evidence.files, [file]), evidence.file_rank
    kind = max(MOVING_KINDS, key=lambda kind: use.time_ns(kind))
    functions = evidence.columns["functions"]
    if waits_for_collective(functions):
        return False
    rows = evidence.rows_of_file(range(len(table["rank"])), file)
    moving = [int(table[KINDS[kind][0]][row]) > 0 for row in rows if int(table["mpiio_ns"][row])]
    calls = zip(map(str, functions["name"]), functions["calls"], strict=True)
    together = sum(
        int(number)
        for name, number in calls
        if (match := MPIIO_CALL.match(name)) and match["all"] and match["kind"] == kind
    )
    apart = 2 * use.pattern(kind, "forward") >= use.calls(kind) >= PIECES * together > 0
    return len(moving) > 1 and all(moving) and apart


def who_call_mpiio(evidence: Evidence, file: int | None) -> set[int]:
    """The ranks that call MPI-IO on the file, or where there is none on any."""
    table = evidence.file_rank
    rows = evidence.rows_of_file(range(len(table["rank"])), file)
    return {int(table["rank"][row]) for row in rows if int(table["mpiio_ns"][row])}


def is_collective(evidence: Evidence, file: int | None, kind: str) -> bool:
    """Whether the file is read or written by calls of MPI-IO, mostly by collective ones."""
    if file is None or kind not in MOVING_KINDS:
        return False
    ways = mpiio_ways(evidence.columns["functions"], kind)
    used = int(evidence.files["mpiio_ns"][file]) > 0
    return used and ways["collective"] > max(ways["independent"], ways["shared"])


def by_few(evidence: Evidence, file: int | None, ranks: int) -> bool:
    """Whether no more than so many ranks call MPI-IO on the file, which is used by nothing else:
    aggregators are chosen among them."""
    return evidence.library_in(file) == "mpiio" and len(who_call_mpiio(evidence, file)) <= ranks


def locked_by(evidence: Evidence, file: int | None) -> str:
    """Through which library, for what is advised about its locks. Where a program asks MPI-IO for
    atomic access, that locks around each call, whether any bytes are sieved or not."""
    asked = sums_of(evidence.columns["functions"], ["MPI_File_set_atomicity"])[0]
    by_mpiio = file is not None and int(evidence.files["mpiio_ns"][file]) > 0
    return "atomic" if by_mpiio and asked else evidence.library_in(file)


def shared_pointer(evidence: Evidence) -> Cause | None:
    """Whatever the calls on its file are, they are made for the calls that share it."""
    files, (function, calls) = evidence.files, shared_calls(evidence.columns["functions"])
    of_pointer = np.asarray([bool(_POINTER.search(bytes(path))) for path in files["path"]], bool)
    use = sum_use(files, np.flatnonzero(of_pointer))
    if not calls or use.time_ns() < CAUSE_SHARE * evidence.use.time_ns():
        return None
    who = f"{count(calls, 'call')} of {function}"
    part = part_of_io(evidence, use.time_ns(), 1)
    text = f"the pointer that ranks share, which {who} lock and move in a file of its own, {part}"
    kinds = (kind for kind in ("lock", "read", "write") if use.calls(kind))
    facts = " and ".join(calls_of(use, kind, evidence.columns["functions"]) for kind in kinds)
    advised = "shared reads" if "_read" in function else "shared"
    return Cause(Kind.SMALL_REQUESTS, text, facts, None, (function,), advised)
