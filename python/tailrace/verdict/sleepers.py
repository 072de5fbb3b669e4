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
SHARED = "ranks share memory"
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
    """Which rank may wait for the one in file calls, for what share of the run, and why that is not
    known."""

    rank: int
    share: float
    who: str
    whether: str
    advised: str


def sleeps_beside_files(evidence: Evidence) -> Finding | None:
    if evidence.ranks < 2:
        return None
    spent_ns = evidence.times.io_ns - evidence.waited_by_rank_ns("io")
    writer = int(spent_ns.argmax())
    share = evidence.share(float(spent_ns[writer]))
    enough = max(NOTABLE_LOSS, KNOWN * evidence.io_share)
    doubt = _sleeps(evidence, writer, enough) or _looks(evidence, writer, enough)
    if share < enough or doubt is None:
        return None
    what, of_calls = why_of_rank(evidence, writer)
    why = f" ({what})" if what else ""
    about_it = f"; if it waits for these calls: {of_calls}" if of_calls else ""
    return Finding(
        Kind.SLEEPS_BESIDE_FILES,
        f"{doubt.who}, and rank {writer} spends {percent(share)} of it in file calls{why}: whether "
        f"{doubt.whether} is not known",
        "a wait outside MPI counts as useful, and an ideal file system seems to save nothing of it",
        min(share, doubt.share),
        advice=f"{advice(Kind.SLEEPS_BESIDE_FILES, doubt.advised)}{about_it}",
        ranks=(doubt.rank, writer),
    )


def looks_at_memory(evidence: Evidence) -> int | None:
    """The rank that may do nothing else for as long as it seems to compute."""
    found = sleeps_beside_files(evidence)
    looks = found is not None and found.finding.startswith(SHARED)
    return found.ranks[0] if found is not None and looks else None


def _sleeps(evidence: Evidence, writer: int, enough: float) -> Doubt | None:
    rank, share = _longest_but(writer, slept_ns(evidence), evidence)
    if share < enough:
        return None
    asks = _asks(evidence)
    who = f"rank {rank} sleeps {percent(share)} of the run outside MPI and file calls{asks}"
    return Doubt(rank, share, who, f"rank {rank} waits for that", "asks" if asks else "")


def _looks(evidence: Evidence, writer: int, enough: float) -> Doubt | None:
    """Who looks at memory that ranks share, again and again, seems to compute."""
    rank, share = _longest_but(writer, evidence.times.useful_ns, evidence)
    shares = _shares_memory(evidence)
    if share < enough or not shares:
        return None
    outside = f"rank {rank} is {percent(share)} of the run outside MPI and file calls"
    who = f"{SHARED} ({shares}), {outside}"
    return Doubt(rank, share, who, f"rank {rank} looks there until that is done", "")


def _longest_but(writer: int, spent_ns: np.ndarray | None, evidence: Evidence) -> tuple[int, float]:
    """Which other rank spends most time so, and what share of the run."""
    if spent_ns is None:
        return 0, 0.0
    others = spent_ns.copy()
    others[writer] = 0
    rank = int(others.argmax())
    return rank, evidence.share(float(others[rank]))


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
