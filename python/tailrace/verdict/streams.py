"""Pipes, FIFOs, terminals, and standard streams that are sockets: no file system makes them faster,
so that their time is in no share of I/O, but a run can wait there as long as for files.

| sentence                                     | said when                                        |
|----------------------------------------------|--------------------------------------------------|
| n writes to <stdout: pipe> take x % of the   | some rank spends NOTABLE_LOSS of the run in them,|
| run                                          | not other threads of it, and with a processor    |
| …, mostly waiting for whoever                | the main thread sleeps for half of that time at  |
| reads them                                   | least (not of many short writes that are taken); |
|                                              | or reads take SLOW_READ_NS each for what a pipe  |
|                                              | holds                                            |
"""

import numpy as np

from tailrace.names import base_name, printable
from tailrace.units import byte_count, count, nanoseconds, percent
from tailrace.verdict.advice import advice
from tailrace.verdict.evidence import NOTABLE_LOSS, Evidence, Finding, Kind
from tailrace.verdict.off_path import MOSTLY_ASLEEP, slept_ns
from tailrace.verdict.requests import MANY_EMPTY

# What a pipe holds: who writes no more never waits for whoever reads it.
PIPE_BYTES = 65_536
# A pipe that holds something gives it in microseconds: a read that takes so long waited for it.
SLOW_READ_NS = 100_000
# Who writes to one waits for whoever reads it, as at a pipe: of devices, these are streams.
TERMINALS = (b"/dev/pts/", b"/dev/tty", b"/dev/ptmx")
DIRECTIONS = {"read": ("reads", "from", "writes"), "write": ("writes", "to", "reads")}


def is_stream(path: bytes) -> bool:
    """By the name of what is on no file system."""
    return path.startswith((b"<std", b"<pipe>", *TERMINALS))


def _name(path: bytes) -> str:
    """A terminal's last part is a number, which says nothing by itself."""
    return f"the terminal {printable(path)}" if path.startswith(TERMINALS) else base_name(path)


def streams(evidence: Evidence) -> Finding | None:
    """Of the rank, stream and direction with most time of the main thread."""
    table, paths = evidence.columns["file_rank"], evidence.columns["files"]["path"]
    if not (spent := _spent_ns(evidence)):
        return None
    others_ns = {kind: evidence.of_ranks(f"device_{kind}_by_others_ns") for kind in DIRECTIONS}
    (row, kind), spent_ns = max(spent.items(), key=lambda item: item[1])
    rank, calls = int(table["rank"][row]), int(table[DIRECTIONS[kind][0]][row])
    time_ns = int(spent_ns * evidence.ran_while_useful(rank))
    share = evidence.share(float(time_ns))
    if share < NOTABLE_LOSS:
        return None
    noun, preposition, others = DIRECTIONS[kind]
    whose = "" if evidence.ranks == 1 else f"rank {rank}'s "
    moved = int(table["bytes_read" if kind == "read" else "bytes_written"][row])
    what = count(calls, noun.removesuffix("s"))
    facts = f"{byte_count(moved)} in {nanoseconds(time_ns)}"
    verb = "takes" if calls == 1 else "take"
    if others_ns[kind][rank]:  # how many of them are the main thread's is not known
        what, facts, verb = noun, nanoseconds(time_ns), "take"
    text = f"{whose}{what} {preposition} {_name(paths[table['file'][row]])} "
    text += f"{verb} {percent(share)} of the run"
    slept = slept_ns(evidence)
    fits = kind == "write" and b"pipe" in paths[table["file"][row]] and moved <= PIPE_BYTES
    asleep = slept is not None and not fits and int(slept[rank]) >= MOSTLY_ASLEEP * time_ns
    slow = kind == "read" and moved <= PIPE_BYTES * calls and time_ns >= SLOW_READ_NS * calls
    waits = asleep or slow
    if waits:
        text += f", mostly waiting for whoever {others} {'it' if calls == 1 else 'them'}"
    advised = f"{kind}, waited for" if waits else kind
    if kind == "read" and not waits and calls > MANY_EMPTY * moved:
        advised = "read, empty"
    return Finding(
        Kind.STREAMS,
        text,
        f"{facts}; it counts as useful, or as MPI inside MPI calls",
        share,
        advice=advice(Kind.STREAMS, advised),
        ranks=() if evidence.ranks == 1 else (rank,),
    )


def _spent_ns(evidence: Evidence) -> dict[tuple[int, str], int]:
    """By row of the table of files by rank, and direction: of the main thread, at least. Who else
    of the rank reads or writes devices is taken off."""
    table, paths = evidence.columns["file_rank"], evidence.columns["files"]["path"]
    elsewhere = np.flatnonzero(evidence.elsewhere)
    named = [file for file in elsewhere if is_stream(paths[file])]
    others_ns = {kind: evidence.of_ranks(f"device_{kind}_by_others_ns") for kind in DIRECTIONS}
    return {
        (int(row), kind): int(table[f"{kind}_ns"][row] - others_ns[kind][table["rank"][row]])
        for row in np.flatnonzero(np.isin(table["file"], named))
        for kind in DIRECTIONS
    }


def streams_ns(evidence: Evidence) -> np.ndarray:
    """Length P: what each rank spends so, where that is said of some rank; it is part of its useful
    time, but for what it prints inside MPI calls."""
    time_ns = np.zeros(evidence.ranks, dtype=np.int64)
    for (row, _), spent_ns in _spent_ns(evidence).items() if streams(evidence) else ():
        rank = int(evidence.columns["file_rank"]["rank"][row])
        time_ns[rank] += max(int(spent_ns * evidence.ran_while_useful(rank)), 0)
    return time_ns


def slept_in_streams(evidence: Evidence, share: float) -> Finding | None:
    """What explains most of what the main threads sleep, where that is it."""
    found = streams(evidence)
    explains = found is not None and found.share_of_runtime >= MOSTLY_ASLEEP * share
    return found if explains else None
