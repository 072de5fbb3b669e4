"""Ranks that sleep outside MPI and file calls while another is in file calls: they may wait for it,
as who asks for a message again and again with a pause in between does, or who looks at memory that
ranks share. No call tells whether they do.

| sentence                                  | said when                                           |
|-------------------------------------------|-----------------------------------------------------|
| rank s sleeps x % of the run outside MPI  | s sleeps that long, and r is that long in file calls|
| and file calls, and rank r spends y % of  | that are no waits for a processor, both NOTABLE_LOSS|
| it in file calls (why): whether s waits   | of the run at least and KNOWN times what I/O takes  |
| for that is not known                     | of it as measured; why, if the main thread makes    |
|                                           | nearly all of r's                                   |
| …, between n calls of MPI_Test            | that is called MANY times, the most of its like     |
| ranks share memory (MPI_Win_allocate_…),  | it does not sleep, and is as long outside MPI and   |
| rank s is x % of the run outside MPI and  | file calls: it may look there again and again; not  |
| file calls, and …: whether rank s looks   | where no window is shared                           |
| there until that is done is not known     |                                                     |
"""

from typing import NamedTuple

import numpy as np

from tailrace.units import percent
from tailrace.verdict.advice import advice
from tailrace.verdict.evidence import NOTABLE_LOSS, Evidence, Finding, Kind
from tailrace.verdict.off_path import slept_ns
from tailrace.verdict.whose_calls import why_of_rank

# Where what is known of I/O is nearly all that there can be, there is no doubt.
KNOWN = 2.0
SHARES = ("MPI_Win_allocate_shared", "MPI_Win_shared_query")
# Who asks so often waits by asking.
MANY = 20
ASKS = frozenset(
    f"MPI_{name}"
    for name in (
        "Test",
        "Testall",
        "Testany",
        "Testsome",
        "Request_get_status",
        "Iprobe",
        "Improbe",
    )
)


class Doubt(NamedTuple):
    """Which rank may wait for which, in file calls, for what shares of the run, and why that is not
    known: it sleeps, or seems to compute."""

    rank: int
    share: float
    sleeps: bool
    writer: int
    writing: float


def sleeps_beside_files(evidence: Evidence) -> Finding | None:
    if (doubt := _doubt(evidence)) is None:
        return None
    rank, writer = doubt.rank, doubt.writer
    outside, asks = "of the run outside MPI and file calls", _asks(evidence)
    if doubt.sleeps:
        who = f"rank {rank} sleeps {percent(doubt.share)} {outside}{asks}"
        whether, advised = f"rank {rank} waits for that", "asks" if asks else ""
    else:
        shares = f"ranks share memory ({_shares_memory(evidence)})"
        who = f"{shares}, rank {rank} is {percent(doubt.share)} {outside}"
        whether, advised = f"rank {rank} looks there until that is done", ""
    what, of_calls = why_of_rank(evidence, writer)
    why = f" ({what})" if what else ""
    about_it = f"; if it waits for these calls: {of_calls}" if of_calls else ""
    return Finding(
        Kind.SLEEPS_BESIDE_FILES,
        f"{who}, and rank {writer} spends {percent(doubt.writing)} of it in file calls{why}: "
        f"whether {whether} is not known",
        "a wait outside MPI counts as useful, and an ideal file system seems to save nothing of it",
        min(doubt.writing, doubt.share),
        advice=f"{advice(Kind.SLEEPS_BESIDE_FILES, advised)}{about_it}",
        ranks=(rank, writer),
    )


def looks_at_memory(evidence: Evidence) -> int | None:
    """The rank that may do nothing else for as long as it seems to compute."""
    doubt = _doubt(evidence)
    return None if doubt is None or doubt.sleeps else doubt.rank


def _doubt(evidence: Evidence) -> Doubt | None:
    """Of who sleeps; else of who may look at memory that ranks share, again and again."""
    spent_ns = evidence.times.io_ns - evidence.waited_by_rank_ns("io")
    writer = int(spent_ns.argmax())
    writing = evidence.share(float(spent_ns[writer]))
    enough = max(NOTABLE_LOSS, KNOWN * evidence.io_share)
    others = np.arange(evidence.ranks) != writer
    looking_ns = evidence.times.useful_ns if _shares_memory(evidence) else None
    for sleeps, times_ns in ((True, slept_ns(evidence)), (False, looking_ns)):
        if times_ns is None or not others.any():
            continue
        rank = int(np.where(others, times_ns, 0).argmax())
        share = evidence.share(float(times_ns[rank]))
        if min(share, writing) >= enough:
            return Doubt(rank, share, sleeps, writer, writing)
    return None


def _shares_memory(evidence: Evidence) -> str:
    """By which function ranks have memory in common, through which no call passes."""
    called = set(map(str, evidence.columns["functions"]["name"]))
    return next((name for name in SHARES if name in called), "")


def _asks(evidence: Evidence) -> str:
    """`, between 118 calls of MPI_Test`: of the function that is called most."""
    table = evidence.columns["functions"]
    rows = zip(table["name"], table["calls"], strict=True)
    calls = {str(name): int(number) for name, number in rows if str(name) in ASKS}
    most = max(calls, key=lambda name: calls[name], default="")
    return f", between {calls[most]:,} calls of {most}" if most and calls[most] >= MANY else ""
