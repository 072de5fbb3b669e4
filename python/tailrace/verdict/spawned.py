"""Ranks that are started while the run goes on (MPI_Comm_spawn). Those that spawn them wait until
they have begun, which is nobody's computation.

| sentence                                       | said when                                      |
|------------------------------------------------|------------------------------------------------|
| ranks wait until the n that MPI_Comm_spawn     | that is half of what ranks wait for each       |
| starts have begun                              | other's computation for, and 5 % of the run    |
"""

from tailrace.units import nanoseconds, to_seconds
from tailrace.verdict.advice import advice
from tailrace.verdict.evidence import NOTABLE_LOSS, Evidence, Finding, Kind


def awaited_ns(evidence: Evidence) -> int:
    """How long the run with an ideal network and file system waits until the rank begins with
    which its critical path does; 0 where all ranks are there from the start."""
    return int(evidence.critical_path("ideal").get("start_ns", 0)) if _spawned(evidence) else 0


def _spawned(evidence: Evidence) -> int:
    """Beyond those of rank 0's MPI_COMM_WORLD."""
    world = evidence.columns["meta"].get("ranks", "")
    return max(evidence.ranks - int(world), 0) if world.isdigit() else 0


def waits_for_spawned(evidence: Evidence, loss_ns: int) -> Finding | None:
    """Where that is most of a loss."""
    late_ns, number = min(awaited_ns(evidence), loss_ns), _spawned(evidence)
    if evidence.share(late_ns) < NOTABLE_LOSS or 2 * late_ns < loss_ns:
        return None
    who = f"the {number:,} that MPI_Comm_spawn starts have"
    if number == 1:
        who = "the one that MPI_Comm_spawn starts has"
    return Finding(
        Kind.SERIALIZATION,
        f"ranks wait until {who} begun",
        "even with an ideal network and file system the run takes "
        f"{nanoseconds(evidence.times.ideal_ns)}, {nanoseconds(awaited_ns(evidence))} of which "
        "pass before that",
        evidence.share(late_ns),
        f"with ranks that are there from the start the run would be up to {nanoseconds(late_ns)} "
        "shorter",
        to_seconds(late_ns),
        advice(Kind.SERIALIZATION, "spawned"),
    )


def is_of_spawned(finding: Finding) -> bool:
    return finding.advice == advice(Kind.SERIALIZATION, "spawned")
