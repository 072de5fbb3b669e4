"""Waiting for a processor: how long, by state, on which cores, and what is left of each loss
without it.

A rank that is ready and does not run waits for no network, no file system and no other rank. What
an ideal network would save is therefore stated after taking out the time in which some rank waited
for a processor in MPI, because the others poll meanwhile: at most so much of the loss is the
processors'. File calls are shorter by their own waits, and so is what an ideal file system saves.
"""

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from tailrace.units import count, percent
from tailrace.verdict.efficiencies import Losses, Times, losses, times_of

STATES = ("useful", "io", "mpi")
# About what two runs of one program differ by.
NOTABLE_WAIT = 0.02


class Node(NamedTuple):
    """A host, its ranks, and the cores that they might use together (0 where not known)."""

    host: str
    ranks: int
    cores: int


class Processors(NamedTuple):
    """`waited_ns`: by rank and state. `known`: the ranks of which it is known.
    `any_waited_ns`: by state, for how long some rank waited, at most."""

    waited_ns: np.ndarray
    known: np.ndarray
    any_waited_ns: dict[str, int]
    share: float
    nodes: tuple[Node, ...]

    @property
    def notable(self) -> bool:
        return self.share >= NOTABLE_WAIT

    @property
    def ranks(self) -> int:
        return sum(node.ranks for node in self.nodes)

    @property
    def cores(self) -> int:
        """Of all nodes; 0 where those of one are not known."""
        cores = [node.cores for node in self.nodes]
        return sum(cores) if all(cores) else 0

    def waited_in(self, state: str) -> int:
        """Nanoseconds, summed over ranks."""
        return int(self.waited_ns[:, STATES.index(state)].sum())

    def described(self) -> str:
        """The sentence for the first line, without its full stop."""
        share = percent(self.share)
        if not self.cores or self.ranks == 1:
            who = "the program" if self.ranks == 1 else count(self.ranks, "rank")
            return f"{who} waited for a processor {share} of the time"
        cores = count(self.cores, "core")
        if len(self.nodes) > 1:
            cores += f" of {len(self.nodes)} nodes"
        if self.ranks > self.cores:
            shared = f"{self.ranks} ranks shared {cores}"
            return f"{shared}: they waited for a processor {share} of the time"
        ranks = count(self.ranks, "rank")
        return f"{ranks} waited for a processor {share} of the time, though they may use {cores}"


def processors_of(columns: dict[str, Any]) -> Processors | None:
    """None where the trace does not tell, as those of other tools and of earlier versions."""
    rank, runtime_ns = columns["rank"], int(columns["runtime_ns"])
    if "any_waited" not in columns or not runtime_ns:
        return None
    waited = list(zip(*(rank[f"waited_{state}_ns"] for state in STATES), strict=True))
    known = np.array([each[0] is not None for each in waited], dtype=bool)
    if not known.any():
        return None
    numbers = [each if each[0] is not None else (0, 0, 0) for each in waited]
    waited_ns = np.array(numbers, dtype=np.int64)
    return Processors(
        waited_ns,
        known,
        {state: int(columns["any_waited"][f"{state}_ns"]) for state in STATES},
        float(waited_ns.sum() / (known.sum() * runtime_ns)),
        _nodes(rank),
    )


def _nodes(rank: dict[str, Any]) -> tuple[Node, ...]:
    allowed: dict[str, set[int]] = {}
    ranks: dict[str, int] = {}
    for host, cores in zip(rank["host"], rank["cores"], strict=True):
        ranks[host] = ranks.get(host, 0) + 1
        allowed.setdefault(host, set()).update(_numbers(cores))
    return tuple(Node(host, ranks[host], len(allowed[host])) for host in ranks if host)


def _numbers(cores: str) -> set[int]:
    """The numbers in "0-3,8"; none where the text is something else."""
    numbers: set[int] = set()
    for part in filter(None, cores.split(",")):
        first, _, last = part.partition("-")
        if not (first.isdecimal() and (last or first).isdecimal()):
            return set()
        numbers.update(range(int(first), min(int(last or first), 1 << 20) + 1))
    return numbers


def without_waiting(times: Times, processors: Processors | None) -> Losses:
    """The losses, less what is the processors' at most where ranks waited notably."""
    lost = losses(times)
    if processors is None or not processors.notable:
        return lost
    waited = processors.any_waited_ns
    useful_ns = computed_ns(times, processors)
    uneven_ns = int(useful_ns.max(initial=0)) - times.mean_ns(useful_ns)
    ran = _share_run(int(times.io_ns.sum()), processors.waited_in("io"))
    left = lost._replace(
        imbalance_ns=min(Fraction(lost.imbalance_ns), uneven_ns),
        serialization_ns=max(lost.serialization_ns - waited["useful"], 0),
        io_transfer_ns=int(lost.io_transfer_ns * ran),
        io_balance_ns=int(lost.io_balance_ns * ran),
        transfer_ns=max(lost.transfer_ns - waited["mpi"], 0),
    )
    explained = left.imbalance_ns + left.serialization_ns + left.io_ns + left.transfer_ns
    rest_ns = times.runtime_ns - times.mean_ns(useful_ns) - explained
    return left._replace(processors_ns=rest_ns)


def _share_run(time_ns: int, waited_ns: int) -> Fraction:
    """Of the time in file calls, that in which their ranks did not wait for a processor. Nobody
    polls there: without the waits each call is shorter by its own, and so is what they cost."""
    return Fraction(max(time_ns - waited_ns, 0), time_ns) if time_ns else Fraction(1)


def losses_of(columns: dict[str, Any]) -> Losses:
    """Where the run time goes, waits for a processor apart where they are notable."""
    return without_waiting(times_of(columns), processors_of(columns))


def computed_ns(times: Times, processors: Processors | None) -> np.ndarray:
    """Each rank's useful time, less its waits where those are notable."""
    if processors is None or not processors.notable:
        return times.useful_ns
    return np.clip(times.useful_ns - processors.waited_ns[:, STATES.index("useful")], 0, None)
