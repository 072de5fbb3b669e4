"""Changes to a run, and what each would give.

A change keeps what it does not touch as measured: so no change gives back the measured run time to
the nanosecond. What a change assumes stands beside it; its interval holds what the assumption
leaves open, not the noise of the run that was measured.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

from tailrace import engine
from tailrace.names import printable
from tailrace.predict.model import Model
from tailrace.units import byte_count, to_seconds

# Without a change a run that is taken again should take what it took; it may miss that by so much.
IDENTICAL = 0.01
# What file systems for parallel programs take at once.
MERGED_BYTES = 4_000_000
Edge = Literal["value", "low", "high"]
Cache = Literal["cold", "warm"]
EDGES: tuple[Edge, Edge] = ("low", "high")
# Memory that is copied by one core: 10, 3 and 1 GB/s.
COPY_NS_A_BYTE: dict[Edge, float] = {"low": 0.1, "value": 0.33, "high": 1.0}


# Of a model's parameters: what a file system that is faster does in less time.
PER_CALL_OR_BYTE = (
    "cached_read", "scattered_write", "synchronize_clean", "sent_write", "sent_scattered_write",
    "arrival", "copy", "cached", "write", "read",
)  # fmt: skip


@dataclass(frozen=True)
class Change:
    """One change, or several together. Factors say how many times as fast; 1 is as measured."""

    compute: float = 1.0
    network: float = 1.0
    io: float = 1.0
    target: Model | None = None
    # Of the target: only files in it or below it move there; and what its clients know of them
    # when the run begins, if that is known.
    directory: Path | None = None
    cache: Cache | None = None
    # Bytes.
    merge: int | None = None
    overlap: bool = False

    @property
    def words(self) -> str:
        parts = []
        if self.target is not None:
            what = f"{printable(str(self.directory))} " if self.directory is not None else ""
            parts.append(f"{what}on {self.target.name}")
        if self.cache is not None:
            parts.append(f"with a {self.cache} cache")
        for factor, what in (
            (self.io, "file system"),
            (self.network, "network"),
            (self.compute, "processors"),
        ):
            if factor != 1:
                parts.append(f"{what} {_times(factor)} as fast")
        if self.merge is not None:
            parts.append(f"writes gathered up to {byte_count(self.merge)}")
        if self.overlap:
            parts.append("output beside computation")
        return ", ".join(parts) or "no change"

    @property
    def assumes(self) -> list[str]:
        """What the prediction takes for granted."""
        found = []
        if self.target is not None:
            moved = "every file" if self.directory is None else "every file there"
            found.append(f"every call in {moved} costs what the model says; nothing else changes")
            if self.cache is None:
                found.append("what is read lies on the servers; at best the client has it already")
        if self.io != 1:
            found.append("every call in files takes its measured time divided by the factor")
        if self.network != 1:
            found.append("MPI takes what it took beyond waiting, divided by the factor")
        if self.compute != 1:
            found.append("time outside of MPI and files is divided by the factor")
        if self.merge is not None:
            found.append(
                "each rank gathers what it writes one behind the other into a file, until it does"
                " something else with the file, and no other rank reads it earlier"
            )
            if self.target is None:
                found.append(
                    "what a write takes by itself is told from writes of several sizes; at best"
                    " many take as long as one, at worst nothing is saved"
                )
        if self.overlap:
            found.append(
                "each rank has a thread that writes, memory for what it has not written, and"
                " computes no slower beside it"
            )
        return found

    @property
    def arguments(self) -> dict[str, Any]:
        named = {"compute": self.compute, "network": self.network, "io": self.io}
        chosen: dict[str, Any] = {name: factor for name, factor in named.items() if factor != 1}
        if self.target is not None:
            chosen["target"] = self.target.name
        if self.directory is not None:
            chosen["files"] = str(self.directory)
        if self.cache is not None:
            chosen["cache"] = self.cache
        if self.merge is not None:
            chosen["merge_bytes"] = self.merge
        if self.overlap:
            chosen["overlap"] = True
        return chosen


@dataclass(frozen=True)
class Prediction:
    change: Change
    predicted_s: float
    interval_s: tuple[float, float]
    efficiency: dict[str, float]
    next: str

    def moves(self, measured_s: float) -> bool:
        """Whether anything becomes of the change: a run without files cannot overlap them."""
        return any(moment != measured_s for moment in (self.predicted_s, *self.interval_s))

    def as_json(self) -> dict[str, Any]:
        return {
            "change": self.change.words,
            "arguments": self.change.arguments,
            "assumes": self.change.assumes,
            "predicted_s": self.predicted_s,
            "interval_s": list(self.interval_s),
            "efficiency": self.efficiency,
            "next": self.next,
        }


# What is left to gain, by the efficiency that is lowest.
NEXT = {
    "load_balance": "ranks compute unequally",
    "serialization": "ranks wait for each other",
    "io": "time in files",
    "transfer": "time in MPI",
}
GOOD = 0.95
COMPUTATION = "computation"


class Run:
    """A trace that can be changed. `path` is a file that holds one."""

    def __init__(self, path: Path, eager_limit_bytes: int | None = None) -> None:
        self._steps = engine.steps(path, eager_limit_bytes)
        self.measured_s = to_seconds(self._steps.runtime_ns)
        law = self._steps.write_law()
        self._write_ns = 0.0 if law is None else law[0]
        self.again_s = to_seconds(self._replay(Change())["runtime_ns"])

    @property
    def is_identical(self) -> bool:
        """Whether it takes what it took, where nothing changes: predictions are no better."""
        return abs(self.again_s - self.measured_s) <= IDENTICAL * self.measured_s

    def has_files_in(self, directory: Path) -> bool:
        return bool(self._steps.files_below(directory))

    def predict(self, change: Change) -> Prediction:
        """What the run would take."""
        replayed = self._replay(change)
        edges = [to_seconds(self._replay(change, edge)["runtime_ns"]) for edge in EDGES]
        predicted = to_seconds(replayed["runtime_ns"])
        efficiency = self._efficiency(change, replayed)
        return Prediction(
            change,
            predicted,
            (min(predicted, *edges), max(predicted, *edges)),
            efficiency,
            _next(efficiency),
        )

    def ranked(self, changes: Iterable[Change]) -> list[Prediction]:
        """The predictions, the largest gain first."""
        with ThreadPoolExecutor(cores()) as pool:  # the engine replays without Python's lock
            return sorted(pool.map(self.predict, changes), key=lambda found: found.predicted_s)

    def _replay(
        self, change: Change, edge: Edge = "value", network: bool = True, files: bool = True
    ) -> dict[str, Any]:
        """`edge` "low": what the change leaves open is as fast as may be, "high": as slow. Without
        `network` MPI takes no time, without `files` no call in them does."""
        slow = edge == "high"
        io = 1 / change.io if files else 0.0
        taken: dict[str, Any] = {
            "useful": 1 / change.compute,
            "network": 1 / change.network if network else 0.0,
            # a call that waits for nobody may have nothing to do with the network
            "mpi": (1.0 if slow else 1 / change.network) if network else 0.0,
            "bytes": io,
            # a faster file system may open and close no faster
            "others": max(io, 1.0) if slow and files else io,
        }
        if change.target is not None and files:
            taken["model"] = _faster(change.target.parameters(edge), change.io)
            taken["directory"] = change.directory
            taken["warm"] = change.cache == "warm" or (change.cache is None and edge == "low")
        if change.merge is not None and files:
            saved = {"low": inf, "value": self._write_ns, "high": 0.0}[edge]
            taken["merged"] = (change.merge, COPY_NS_A_BYTE[edge], saved)
        if change.overlap and files:
            taken["overlapped"] = COPY_NS_A_BYTE[edge]
        replayed: dict[str, Any] = self._steps.replay(**taken)
        return replayed

    def _efficiency(self, change: Change, replayed: dict[str, Any]) -> dict[str, float]:
        """As of a measured run (docs/reference/report.md), with even I/O left out."""
        useful = replayed["useful_ns"]
        runtime = max(replayed["runtime_ns"], 1)
        network = self._replay(change, network=False)["runtime_ns"]
        ideal = self._replay(change, network=False, files=False)["runtime_ns"]
        most = max(useful, default=0)
        return {
            "parallel": fmean(useful) / runtime,
            "load_balance": fmean(useful) / most if most else 1.0,
            "serialization": most / ideal if ideal else 1.0,
            "io": ideal / network if network else 1.0,
            "transfer": network / runtime,
        }


def cores() -> int:
    return len(os.sched_getaffinity(0))


def _faster(model: dict[str, Any], factor: float) -> dict[str, Any]:
    calls = {kind: cost / factor for kind, cost in model["calls"].items()}
    return {**model, "calls": calls, **{name: model[name] / factor for name in PER_CALL_OR_BYTE}}


def _next(efficiency: dict[str, float]) -> str:
    lowest = min(NEXT, key=lambda name: efficiency[name])
    return COMPUTATION if efficiency[lowest] >= GOOD else NEXT[lowest]


def _times(factor: float) -> str:
    return "twice" if factor == 2 else f"{factor:g} times"


def usual(models: Iterable[Model], moving: dict[str, Any] | None = None) -> list[Change]:
    """What one would ask first of any run. `moving`: `directory` and `cache` of all targets."""
    moved = [Change(target=model, **(moving or {})) for model in models]
    return [
        Change(io=2),
        Change(network=2),
        Change(compute=2),
        Change(merge=MERGED_BYTES),
        Change(overlap=True),
        *moved,
        *(replace(change, overlap=True) for change in moved),
    ]
