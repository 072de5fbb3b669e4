"""Several traces of one program, POP style: speedup, efficiencies and computation scalability
against a reference run.

Computation scalability = ΣU_ref / ΣU (× P / P_ref where the problem grows with the ranks), split
with hardware counters into instruction (ΣI_ref / ΣI, the same factor for weak scaling) × IPC (IPC /
IPC_ref) × frequency scalability ((Σcycles / ΣU) over the same of the reference). Global efficiency
= parallel efficiency × computation scalability. Source: POP Centre of Excellence, "Standard Metrics
for Pure MPI Applications" and "Computation scalability".
"""

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, get_args

from tailrace.errors import TailraceError
from tailrace.units import NANOSECONDS_PER_SECOND
from tailrace.verdict.efficiencies import as_numbers, efficiencies, times_of

Kind = Literal["auto", "strong", "weak"]


class Work(NamedTuple):
    """What one run computed, in sums over its ranks; instructions and cycles are 0 where not
    counted."""

    ranks: int
    runtime_ns: int
    useful_ns: int
    instructions: int
    cycles: int

    @property
    def counted(self) -> bool:
        return bool(self.instructions and self.cycles)


def work_of(columns: dict[str, Any]) -> Work:
    times, rank = times_of(columns), columns["rank"]
    instructions, cycles = (
        0 if rank[key] is None else int(sum(rank[key])) for key in ("instructions", "cycles")
    )
    return Work(times.ranks, times.runtime_ns, times.useful_total_ns, instructions, cycles)


def reference_index(works: Sequence[Work], ranks: int | None = None) -> int:
    """The run with the fewest ranks, or the first with `ranks`."""
    if ranks is None:
        return min(range(len(works)), key=lambda i: works[i].ranks)
    for index, work in enumerate(works):
        if work.ranks == ranks:
            return index
    have = ", ".join(str(work.ranks) for work in works)
    raise TailraceError(
        f"no trace with {ranks} ranks can be the reference",
        f"choose one of {have} with --reference",
    )


def kind_of_scaling(works: Sequence[Work]) -> str:
    """ "strong" (the same work in all) or "weak" (work grows with the ranks), by what the runs
    computed.

    The growth of the work (instructions where counted, else useful time) from the fewest to the
    most ranks against the growth of the ranks, on a logarithmic scale: nearer to none is strong,
    nearer to proportional is weak. "none" where all have the same ranks.
    """
    smallest, largest = (choose(works, key=lambda work: work.ranks) for choose in (min, max))
    if largest.ranks == smallest.ranks or not (largest.useful_ns and smallest.useful_ns):
        return "none"
    counted = largest.counted and smallest.counted
    growth = (
        largest.instructions / smallest.instructions
        if counted
        else largest.useful_ns / smallest.useful_ns
    )
    return "weak" if math.log(growth) > 0.5 * math.log(largest.ranks / smallest.ranks) else "strong"


def scalabilities(work: Work, reference: Work, kind: str) -> dict[str, float | None]:
    """Computation, instruction, IPC and frequency scalability; the last three None without counters
    in both runs."""
    growth = work.ranks / reference.ranks if kind == "weak" else 1.0
    row: dict[str, float | None] = {
        "computation": _over(reference.useful_ns * growth, work.useful_ns),
        "instruction": None,
        "ipc": None,
        "frequency": None,
    }
    if work.counted and reference.counted:
        row["instruction"] = reference.instructions * growth / work.instructions
        row["ipc"] = (work.instructions / work.cycles) / (reference.instructions / reference.cycles)
        row["frequency"] = _over(
            work.cycles * reference.useful_ns, work.useful_ns * reference.cycles
        )
    return row


def _over(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def scaling_table(
    traces: Sequence[dict[str, Any]], reference_ranks: int | None = None, kind: str = "auto"
) -> dict[str, Any]:
    """The scaling table of several traces: its kind, its reference, and one row per trace in order
    of ranks.

    Raises TailraceError where no trace has `reference_ranks` ranks.
    """
    if kind not in get_args(Kind):
        raise TailraceError(
            f"the kind of scaling cannot be {kind!r}", f"choose one of {', '.join(get_args(Kind))}"
        )
    if not traces:
        raise TailraceError("there is no run to compare", "give at least one")
    order = sorted(range(len(traces)), key=lambda i: int(traces[i]["ranks"]))
    works = [work_of(traces[i]) for i in order]
    index = reference_index(works, reference_ranks)
    reference = works[index]
    kind = kind_of_scaling(works) if kind == "auto" else kind
    rows = [_row(traces[i], work, reference, kind) for i, work in zip(order, works, strict=True)]
    return {
        "kind": kind,
        "reference_ranks": reference.ranks,
        "reference_runtime_s": reference.runtime_ns / NANOSECONDS_PER_SECOND,
        "counters": all(work.counted for work in works),
        "trace_index": order,
        "rows": rows,
    }


def _row(columns: dict[str, Any], work: Work, reference: Work, kind: str) -> dict[str, Any]:
    factors = as_numbers(efficiencies(times_of(columns)))
    scalability = scalabilities(work, reference, kind)
    speedup = _over(reference.runtime_ns, work.runtime_ns)
    if speedup is not None and kind == "weak":
        speedup *= work.ranks / reference.ranks
    parallel, computation = factors["parallel"], scalability["computation"]
    return {
        "ranks": work.ranks,
        "runtime_s": work.runtime_ns / NANOSECONDS_PER_SECOND,
        "speedup": speedup,
        "global": None if parallel is None or computation is None else parallel * computation,
        "efficiency": factors,
        "scalability": scalability,
    }
