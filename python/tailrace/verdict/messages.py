"""What the time in MPI goes into: many small messages, large ones, small collective calls, or
barriers. A message costs time where either side waits for it, so that all calls about messages are
one group; every other function is one of its own."""

import re
from typing import NamedTuple

from tailrace.verdict.evidence import Evidence

# A group of functions with so much of the time in MPI decides what is advised.
DECIDING_SHARE = 0.5
# Messages cost by their number below about a page or two, by their bytes above the eager limit.
SMALL_MESSAGE_BYTES = 8 * 1024
LARGE_MESSAGE_BYTES = 64 * 1024
# Merging fewer than these, on each rank, gains little.
MANY_MESSAGES = 1000

# Compiled where they are asked for: a program without MPI does not wait for it.
_MESSAGE = r"(?i)MPI_(Wait|Test|Start|I?m?probe|I?[bsr]?send|I?m?recv|I?sendrecv)"
_LOCKS = "MPI_Win_(lock|unlock)"
_COMPLETION = "MPI_(Wait|Test)"
_REQUESTS = "MPI_(I(?!nit|nfo)[a-z]|R(put|get|accumulate))"
_MADE = "MPI_(Win_(allocate|create|free)|(Comm|Group|Cart|Graph|Type)_(?!rank|size|test))"
_COLLECTIVE = r"MPI_I?(Bcast|Reduce|Allreduce|Gather|Allgather|Scatter|Alltoall|Scan|Exscan)"


class Called(NamedTuple):
    """One MPI function outside file calls: its calls and bytes over all ranks, and their time."""

    name: str
    calls: int
    bytes: int
    time_ns: int


def mpi_functions(evidence: Evidence) -> list[Called]:
    """The longest first."""
    table = evidence.columns["functions"]
    keys = ("name", "layer", "calls", "bytes", "time_ns")
    rows = zip(*(table[key] for key in keys), strict=True)
    found = [
        Called(str(name), int(calls), int(size), int(time_ns))
        for name, layer, calls, size, time_ns in rows
        if layer == "mpi"
    ]
    return sorted(found, key=lambda called: -called.time_ns)


def waits_for_all(evidence: Evidence) -> bool:
    """Whether most of the time in MPI is in collective calls and barriers."""
    functions = mpi_functions(evidence)
    whole = sum(called.time_ns for called in functions)
    together = (f for f in functions if re.match(f"{_COLLECTIVE}|MPI_I?Barrier", f.name))
    return sum(called.time_ns for called in together) >= DECIDING_SHARE * max(whole, 1)


def waits_for_windows(evidence: Evidence) -> bool:
    """Whether most of the time in MPI is in locking windows, and in waiting for what was done
    under the lock."""
    functions = mpi_functions(evidence)
    whole = sum(called.time_ns for called in functions)
    locks_ns = sum(called.time_ns for called in functions if re.match(_LOCKS, called.name))
    return locks_ns >= DECIDING_SHARE * whole > 0


def kind_of_messages(evidence: Evidence) -> str:
    """ "small", "small collectives", "large" or "barriers" where these take most of the time in
    MPI, "file requests" where waits for calls of MPI-IO do, "windows" where their locks do, and
    "made" where making windows, communicators and the like does; "" where nothing does."""
    functions = mpi_functions(evidence)
    whole = sum(called.time_ns for called in functions)
    if _waits_for_files(evidence, functions, whole):
        return "file requests"
    if waits_for_windows(evidence):
        return "windows"
    made_ns = sum(called.time_ns for called in functions if re.match(_MADE, called.name))
    if made_ns >= DECIDING_SHARE * whole > 0:
        return "made"
    groups: dict[str, list[Called]] = {}
    for called in functions:
        name = "" if re.match(_MESSAGE, called.name) else called.name
        groups.setdefault(name, []).append(called)
    time_of: dict[str, int] = {}
    for name, group in groups.items():
        kind = _kind(name, group, evidence.ranks)
        time_of[kind] = time_of.get(kind, 0) + sum(called.time_ns for called in group)
    deciding = {k: ns for k, ns in time_of.items() if k and ns >= DECIDING_SHARE * whole > 0}
    return max(deciding, key=lambda kind: deciding[kind], default="")


def _waits_for_files(evidence: Evidence, functions: list[Called], whole: int) -> bool:
    """Whether most of the time is in waits for requests, and only MPI-IO makes any."""
    waits_ns = sum(f.time_ns for f in functions if re.match(_COMPLETION, f.name))
    messages = (f.name for f in functions if re.match(_MESSAGE, f.name))
    others = any(not re.match(_COMPLETION, name) for name in messages)
    others |= any(re.match(_REQUESTS, f.name) is not None for f in functions)
    made = any(str(name).startswith("MPI_File_i") for name in evidence.columns["functions"]["name"])
    return made and not others and waits_ns >= DECIDING_SHARE * whole > 0


def _kind(name: str, group: list[Called], ranks: int) -> str:
    if name in ("MPI_Barrier", "MPI_Ibarrier"):
        return "barriers"
    carrying = [called for called in group if called.bytes]
    calls, size = sum(c.calls for c in carrying), sum(c.bytes for c in carrying)
    if not calls:
        return ""
    if size < SMALL_MESSAGE_BYTES * calls:
        small = "small collectives" if re.match(_COLLECTIVE, name) else "small"
        return small if calls >= MANY_MESSAGES * ranks else ""
    return "large" if size >= LARGE_MESSAGE_BYTES * calls else ""
