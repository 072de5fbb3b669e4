"""More ranks than cores: they take turns. A rank gets at least its share of the cores, whether the
others compute or poll for messages, and at most a core; so what it computes takes at most as many
times as long as there are ranks for each core, and at least as long as on a core of its own. Where
all compute or poll at once it is the most: all that is to be computed, over the cores. Those that
are in file calls mostly sleep. What runs that shared cores already have waited says where between
the two a program lies; without one, both are open."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, median
from typing import Any, NamedTuple

import numpy as np

from tailrace.predict.asked import Between
from tailrace.units import NANOSECONDS_PER_SECOND
from tailrace.verdict.processors import Processors, processors_of


class Crowd(NamedTuple):
    """A run: its ranks for each core, how long each computes and waits for its turn on average, and
    for which share of the run it is in files."""

    ranks: int
    nodes: int
    ranks_a_core: float
    computing_s: float
    waited_s: float
    in_files: float

    @property
    def times(self) -> float:
        """As long as on a core of its own."""
        alone_s = self.computing_s - self.waited_s
        return self.computing_s / alone_s if alone_s > 0 else 1.0


class Sharing(NamedTuple):
    """Runs of one program, the fewest ranks first."""

    runs: tuple[Crowd, ...]

    def alone_s(self, counts: np.ndarray) -> np.ndarray:
        """What each rank computes on a core of its own, for each of these numbers of ranks."""
        return np.asarray(
            [median(r.computing_s - r.waited_s for r in self.runs if r.ranks == n) for n in counts]
        )

    def ranks_a_core(self, ranks: int) -> float:
        """On as many nodes as these runs, or, where the nodes became more with the ranks, on
        nodes that are as full."""
        most = self.runs[-1]
        grows = len({run.nodes for run in self.runs}) > 1
        return most.ranks_a_core if grows else most.ranks_a_core * ranks / most.ranks

    def times(self, ranks: int) -> Between:
        """How many times as long computing takes as on a core for each rank."""
        most = self.ranks_a_core(ranks)
        if most <= 1:
            return Between(1.0, 1.0, 1.0)
        if self.is_seen:
            parts = [
                min(max((run.times - 1) / (run.ranks_a_core - 1), 0.0), 1.0)
                for run in self.runs
                if run.ranks_a_core > 1
            ]
            return Between(*(1 + part * (most - 1) for part in _three(parts)))
        return Between(1.0, max(most * (1 - self.runs[-1].in_files), 1.0), most)

    @property
    def is_seen(self) -> bool:
        """Whether ranks took turns in any of these runs."""
        return any(run.ranks_a_core > 1 for run in self.runs)


def _three(parts: Sequence[float]) -> tuple[float, float, float]:
    return min(parts), median(parts), max(parts)


def sharing(runs: Sequence[dict[str, Any]]) -> Sharing | None:
    """By runs' columns; None where one does not tell, or how many cores there are."""
    crowds = [_crowd(columns) for columns in runs]
    known = sorted((crowd for crowd in crowds if crowd), key=lambda crowd: crowd.ranks)
    most = max(runs, key=lambda columns: int(columns["ranks"]))
    return Sharing(tuple(known)) if all(crowds) and _tells_cores(most) else None


def _crowd(columns: dict[str, Any]) -> Crowd | None:
    found = processors_of(columns)
    if found is None or not found.known.all() or not found.cores:
        return None
    ranks = columns["rank"]
    return Crowd(
        int(columns["ranks"]),
        len(found.nodes),
        max(node.ranks / node.cores for node in found.nodes),
        _mean_s(ranks["useful_ns"]),
        _mean_s(ranks["waited_useful_ns"]),
        fmean(map(int, ranks["io_ns"])) / int(columns["runtime_ns"]),
    )


def _mean_s(times_ns: Sequence[int]) -> float:
    return fmean(map(int, times_ns)) / NANOSECONDS_PER_SECOND


def _tells_cores(columns: dict[str, Any]) -> bool:
    """Whether there are no more cores than ranks may use: they share them, or none is bound to a
    core. Of ranks that are bound, others would get cores of their own."""
    found = processors_of(columns)
    return found is not None and (_is_shared(found) or not _binds(columns))


def _is_shared(found: Processors) -> bool:
    return all(node.ranks > node.cores for node in found.nodes)


def _binds(columns: dict[str, Any]) -> bool:
    """Whether ranks of one node may use different cores, or one alone."""
    hosts = set(columns["rank"]["host"])
    allowed = set(zip(columns["rank"]["host"], columns["rank"]["cores"], strict=True))
    return len(allowed) > len(hosts) or any(cores.isdecimal() for _, cores in allowed)
