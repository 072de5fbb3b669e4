"""Several traces of one program, POP style: speedup, efficiencies and computation scalability
against a reference run.

Computation scalability = ΣU_ref / ΣU (× P / P_ref where the problem grows with the ranks), split
with hardware counters into instruction (ΣI_ref / ΣI, the same factor for weak scaling) × IPC (IPC /
IPC_ref) × frequency scalability ((Σcycles / ΣU) over the same of the reference). Global efficiency
= parallel efficiency × computation scalability. Source: POP Centre of Excellence, "Standard Metrics
for Pure MPI Applications" and "Computation scalability".
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, get_args

from tailrace.errors import TailraceError
from tailrace.units import NANOSECONDS_PER_SECOND
from tailrace.verdict.efficiencies import as_numbers, efficiencies, times_of
from tailrace.verdict.processors import computed_ns, processors_of

Kind = Literal["auto", "strong", "weak"]
# What tells whether the problem grows with the ranks.
DecidedBy = Literal["option", "instructions", "bytes_written", "useful_time"]

# Less output than this may be a log.
OUTPUT_BYTES = 1_000_000


class Work(NamedTuple):
    """What one run computed and wrote, in sums over its ranks; instructions and cycles are 0 where
    not counted. `computed_ns`: the useful time less its waits for a processor, where notable."""

    ranks: int
    runtime_ns: int
    useful_ns: int
    computed_ns: int
    instructions: int
    cycles: int
    bytes_written: int

    @property
    def counted(self) -> bool:
        return bool(self.instructions and self.cycles)


def work_of(columns: dict[str, Any]) -> Work:
    times, rank = times_of(columns), columns["rank"]
    instructions, cycles = (
        0 if rank[key] is None else int(sum(rank[key])) for key in ("instructions", "cycles")
    )
    files = zip(columns["files"]["place"], columns["files"]["bytes_written"], strict=True)
    written = sum(int(size) for place, size in files if place == "file_system")
    useful_ns = times.useful_total_ns
    computed = int(computed_ns(times, processors_of(columns)).sum())
    runtime_ns = times.runtime_ns
    return Work(times.ranks, runtime_ns, useful_ns, computed, instructions, cycles, written)


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


def kind_of_scaling(works: Sequence[Work]) -> tuple[str, DecidedBy]:
    """ "strong" (the same problem in all) or "weak" (the problem grows with the ranks), and what
    tells it; "none" where all have the same ranks.

    From the fewest to the most ranks, what grows at least by the square root of the growth in ranks
    grows with them. Instructions tell it where they are counted. Useful time also grows where ranks
    share caches and memory; so the problem is the same where the output is. Where they share cores,
    what they wait for these is no work.
    """
    smallest, largest = (choose(works, key=lambda work: work.ranks) for choose in (min, max))
    if largest.ranks == smallest.ranks or not (largest.computed_ns and smallest.computed_ns):
        return "none", "useful_time"

    def grows(amount: Callable[[Work], int]) -> bool:
        return amount(largest) / amount(smallest) > math.sqrt(largest.ranks / smallest.ranks)

    if largest.counted and smallest.counted:
        return "weak" if grows(lambda work: work.instructions) else "strong", "instructions"
    if not grows(lambda work: work.computed_ns):
        return "strong", "useful_time"
    if min(largest.bytes_written, smallest.bytes_written) < OUTPUT_BYTES:
        return "weak", "useful_time"
    return "weak" if grows(lambda work: work.bytes_written) else "strong", "bytes_written"


def seems_weak(scaling: dict[str, Any]) -> bool:
    """Whether nothing but the useful time says that the problem of a scaling table grows."""
    return scaling["kind"] == "weak" and scaling["decided_by"] == "useful_time"


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
    decided_by: DecidedBy = "option"
    if kind == "auto":
        kind, decided_by = kind_of_scaling(works)
    rows = [_row(traces[i], work, reference, kind) for i, work in zip(order, works, strict=True)]
    return {
        "kind": kind,
        "decided_by": decided_by,
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
