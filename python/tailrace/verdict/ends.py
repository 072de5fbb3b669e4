"""How the command ended, and ranks before MPI_Finalize, and what nobody knows because of it.

| sentence                               | is said of               | is not said of            |
|----------------------------------------|--------------------------|---------------------------|
| rank r called MPI_Abort                | a rank that called it    | ranks that it ended       |
| the run was stopped early by SIGNAL    | the command's end        | the end of a rank alone   |
| rank r was killed, or ended at once    | a stream without its end | a rank that reached       |
| (by abort, or a system call of its own)| where neither is known   | MPI_Finalize, or no MPI   |
| rank r ended without MPI_Finalize      | a stream with its end,   | a run that ended with     |
|                                        | beside one without, or   | status 0 and without a    |
|                                        | with an exit status      | killed rank; lost calls   |
| NAME ended with exit status n          | the command, if n is no  | what a signal stopped     |
|                                        | signal's                 |                           |
"""

import numpy as np

from tailrace.names import printable
from tailrace.units import nanoseconds, percent
from tailrace.verdict.evidence import Evidence, Finding, Kind

# Ranks are named up to so many.
NAMED_RANKS = 4
# From such a share of the run on, what a rank did there decides what can be said of the ranks.
NOTABLE_UNKNOWN = 0.05
# The same of the calls that could not be recorded.
NOTABLE_LOST = 0.02


def unknown_ns(evidence: Evidence) -> np.ndarray:
    """Length P: from the last that is known of a rank that was killed to the run's end. Nobody
    knows when it ended; what it did until then counts as MPI."""
    return evidence.of_ranks("unknown_ns")


def many_are_lost(evidence: Evidence) -> bool:
    """Calls that were not recorded are so many that the others do not tell what the run did."""
    return evidence.lost_share >= NOTABLE_LOST


def much_is_unknown(evidence: Evidence) -> bool:
    """Whom others waited for, and for how long they computed, cannot be told then."""
    longest_ns = float(unknown_ns(evidence).max(initial=0))
    absent = bool(evidence.times.missing) or many_are_lost(evidence)
    return absent or evidence.share(longest_ns) >= NOTABLE_UNKNOWN


def computed_at_most_ns(evidence: Evidence, named_ns: np.ndarray | int = 0) -> np.ndarray:
    """Length P: what ranks computed beside `named_ns`, and what is not known of them as far as no
    rank overtakes the longest by it: by how much that one is beyond the others is then the least
    that it can be."""
    computed = np.clip(evidence.computed_ns - named_ns, 0, None)
    return np.minimum(computed + unknown_ns(evidence), computed.max(initial=0))


def stopped_early(evidence: Evidence) -> Finding | None:
    signal = printable(evidence.columns["meta"].get("ended_by", ""))
    aborted, killed = _ended(evidence, "aborted"), _ended(evidence, "unknown")
    parts = [f"{_named(evidence, aborted)} called MPI_Abort"] if aborted else []
    if signal:
        parts.append(f"the run was stopped early by {signal}")
    status = "" if signal else _exit_status(evidence)
    if not parts and (killed or status):
        # a launcher ends the others for it
        left = [] if evidence.lost_share else _ended(evidence, "left")
        parts = [f"{_named(evidence, left)} ended without MPI_Finalize"] if left else []
    if killed and not (signal or aborted):
        were = "was" if len(killed) == 1 else "were"
        parts.append(f"{_named(evidence, killed)} {were} killed, or ended at once")
    if not parts:
        return None
    facts = "the report is about what came before"
    unknown = unknown_ns(evidence)
    rank, share = int(unknown.argmax()), evidence.share(float(unknown.max()))
    if share >= NOTABLE_UNKNOWN:
        last = f"the last {percent(share)} of the run"
        if call := _in_flight(evidence, rank):
            parts.append(f"rank {rank} was in {call} for {last}, and never left it")
        else:
            parts.append(f"what rank {rank} did in {last} is not known")
        facts += f"; the {nanoseconds(unknown[rank])} after rank {rank}'s last call count as MPI"
    if status:
        parts.append(status)
    return Finding(Kind.STOPPED_EARLY, ", and ".join(parts), facts, 0.0)


def _in_flight(evidence: Evidence, rank: int) -> str:
    """The call of MPI that a rank was killed in; empty where it was in none, or has no name."""
    name = evidence.unfinished[rank]
    return name if is_mpi(name) else ""


def is_mpi(function: str) -> bool:
    return function.startswith(("MPI_", "MPIX_", "mpi_"))


def failed(evidence: Evidence) -> Finding | None:
    """The command says by its exit status that something went wrong, and nothing else does."""
    status = _exit_status(evidence)
    if not status or stopped_early(evidence) is not None:
        return None
    facts = "some programs say so that something was not found, or that two files differ"
    return Finding(Kind.EXIT_STATUS, status, facts, 0.0)


def _exit_status(evidence: Evidence) -> str:
    """`mpiexec ended with exit status 3`; empty where it is 0, or not known."""
    meta = evidence.columns["meta"]
    status = exit_status(meta)
    name = printable(meta.get("command_name", "")) or "the command"
    return f"{name} ended with exit status {status}" if status else ""


def exit_status(meta: dict[str, str]) -> int | None:
    """The command's, as a shell has it; None where nobody waited for it."""
    status = meta.get("exit_status", "")
    return int(status) if status.isdecimal() else None


def _ended(evidence: Evidence, how: str) -> list[int]:
    """Which ranks, of a program with MPI."""
    if not evidence.columns["meta"].get("mpi"):
        return []
    ended = evidence.columns["rank"].get("ended", ())
    return [rank for rank, found in enumerate(ended) if found == how]


def _named(evidence: Evidence, ranks: list[int]) -> str:
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    if len(ranks) == evidence.ranks:
        return "both ranks" if len(ranks) == 2 else f"all {len(ranks):,} ranks"
    if len(ranks) > NAMED_RANKS:
        return f"{len(ranks):,} of {evidence.ranks:,} ranks"
    return f"ranks {', '.join(map(str, ranks[:-1]))} and {ranks[-1]}"
