"""Small programs drawn at random, which were no part of the fit: what the model says of them is the
error that a reader should expect."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np

from tailrace import engine
from tailrace.calibration.probe import KIB, Probe, Sizes
from tailrace.calibration.stopwatch import Stopwatch
from tailrace.gathering import EDGES, Edge
from tailrace.predict.model import HeldOut, Model, Quantity
from tailrace.units import to_seconds

Call = tuple[str, int, int, int]
Errors = dict[str, float]
MOST_CALLS = 256


T = TypeVar("T", contravariant=True)


class HeldOutRun(Protocol[T]):
    """What was run, and what it took, s."""

    @property
    def measured_s(self) -> float: ...

    def predicted_s(self, model: T, edge: Edge = "value") -> float: ...


@dataclass(frozen=True)
class Program:
    """What a program did, and what it took, s."""

    calls: list[Call]
    measured_s: float

    def predicted_s(self, model: Model, edge: Edge = "value") -> float:
        times: list[int] = engine.model_times(model.parameters(edge), self.calls)
        return to_seconds(sum(times))


def draw(lot: random.Random, sizes: Sizes) -> list[Call]:
    """Some files that are written in one way or another, and perhaps read again."""
    calls: list[Call] = []
    for file in range(lot.randint(1, 4)):
        size = int(4 * KIB * 2 ** lot.uniform(0, 10))
        total = int(sizes.bulk * lot.uniform(0.1, 1.0))
        writes = max(1, min(total // size, MOST_CALLS))
        stride = size * lot.choice((1, 1, 1, 2))
        calls.append(("create", file, 0, 0))
        calls += [("write", file, place * stride, size) for place in range(writes)]
        if lot.random() < 0.3:
            calls.append(("look_up", file, 0, 0))
        if lot.random() < 0.5:
            calls.append(("synchronize", file, 0, 0))
        if lot.random() < 0.5:
            calls += [("read", file, place * stride, size) for place in range(writes)]
        calls.append(("close", file, 0, 0))
    return calls


def run(probe: Probe, calls: list[Call]) -> Program:
    """Makes the calls, and takes the time of all."""
    paths = {file: probe.new_path() for _, file, _, _ in calls}
    files: dict[int, int] = {}
    data = memoryview(os.urandom(max(size for *_, size in calls)))
    watch = Stopwatch()
    for kind, file, offset, size in calls:
        if kind == "create":
            files[file] = os.open(paths[file], os.O_CREAT | os.O_RDWR, 0o600)
        elif kind == "write":
            os.pwrite(files[file], data[:size], offset)
        elif kind == "read":
            os.pread(files[file], size, offset)
        elif kind == "look_up":
            os.fstat(files[file])
        elif kind == "synchronize":
            os.fsync(files[file])
        else:
            os.close(files[file])
    return Program(calls, watch.elapsed_s())


def judged(held_out: Sequence[HeldOutRun[Model]], model: Model) -> tuple[Model, Errors]:
    """The model, its intervals widened by how far programs are off, and the errors on them."""
    off, errors = off_and_errors(held_out, model)
    return model.model_copy(update={"held_out": HeldOut(measured_over_predicted=off)}), errors


def off_and_errors(held_out: Sequence[HeldOutRun[T]], model: T) -> tuple[Quantity, Errors]:
    """How far runs are off; and of these: how many, the median and the worst error, as shares of
    what they took, and in how many of them the interval held that was widened by all others."""
    measured = np.asarray([run.measured_s for run in held_out])
    value, low, high = (
        np.asarray([run.predicted_s(model, edge) for run in held_out]) for edge in ("value", *EDGES)
    )
    ratios, each = measured / value, np.arange(len(held_out))
    off = [_off(ratios[each != one], measured[each != one]) for one in each]
    within = [
        edges.low * low[one] <= measured[one] <= edges.high * high[one]
        for one, edges in zip(each, off, strict=True)
    ]
    errors = np.abs(value / measured - 1)
    return _off(ratios, measured), {
        "runs": len(held_out),
        "median_error": float(np.median(errors)),
        "worst_error": float(errors.max()),
        "within_interval": float(np.mean(within)),
    }


def _off(ratios: np.ndarray, times: np.ndarray) -> Quantity:
    """Between what nine tenths of the time lie: what takes long counts for more."""
    order = np.argsort(ratios)
    share = np.cumsum(times[order]) / times.sum()
    low, high = ratios[order][np.searchsorted(share, [0.05, 0.95])]
    return Quantity(value=1, low=min(float(low), 1.0), high=max(float(high), 1.0))
