"""Small programs drawn at random, which were no part of the fit: what the model says of them is the
error that a reader should expect."""

from __future__ import annotations

import os
import random
from dataclasses import dataclass
from time import perf_counter_ns

import numpy as np

from tailrace import engine
from tailrace.predict.calibration.probe import KIB, Probe, Sizes
from tailrace.predict.model import Model
from tailrace.units import to_seconds

Call = tuple[str, int, int, int]
MOST_CALLS = 256


@dataclass(frozen=True)
class HeldOut:
    """What a program did, and what it took, s."""

    calls: list[Call]
    measured_s: float

    def error(self, model: Model) -> float:
        """Of the model's prediction: 0.1 is a tenth too long."""
        predicted = to_seconds(sum(engine.model_times(model.parameters(), self.calls)))
        return predicted / self.measured_s - 1

    def is_within(self, model: Model) -> bool:
        """Whether it took what the model's interval says."""
        edges = (model.parameters("low"), model.parameters("high"))
        low, high = (to_seconds(sum(engine.model_times(edge, self.calls))) for edge in edges)
        return low <= self.measured_s <= high


def draw(lot: random.Random, sizes: Sizes) -> list[Call]:
    """Some files that are written in one way or another, and perhaps read again."""
    calls: list[Call] = []
    for file in range(lot.randint(1, 4)):
        size = int(4 * KIB * 2 ** lot.uniform(0, 10))
        total = int(sizes.bulk * lot.uniform(0.1, 1.0))
        writes = max(1, min(total // size, MOST_CALLS))
        stride = size * lot.choice((1, 1, 1, 2))
        calls.append(("open", file, 0, 0))
        calls += [("write", file, place * stride, size) for place in range(writes)]
        if lot.random() < 0.3:
            calls.append(("look_up", file, 0, 0))
        if lot.random() < 0.5:
            calls.append(("synchronize", file, 0, 0))
        if lot.random() < 0.5:
            calls += [("read", file, place * stride, size) for place in range(writes)]
        calls.append(("close", file, 0, 0))
    return calls


def run(probe: Probe, calls: list[Call]) -> HeldOut:
    """Makes the calls, and takes the time of all."""
    paths = {file: probe.new_path() for _, file, _, _ in calls}
    files: dict[int, int] = {}
    data = memoryview(os.urandom(max(size for *_, size in calls)))
    begin = perf_counter_ns()
    for kind, file, offset, size in calls:
        if kind == "open":
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
    return HeldOut(calls, (perf_counter_ns() - begin) * 1e-9)


def errors(held_out: list[HeldOut], model: Model) -> dict[str, float]:
    """Of programs: how many, the median and the worst error, as shares of what they took, and in
    how many of them the interval held."""
    found = np.abs([program.error(model) for program in held_out])
    within = np.mean([program.is_within(model) for program in held_out])
    return {
        "runs": len(held_out),
        "median_error": float(np.median(found)),
        "worst_error": float(found.max()),
        "within_interval": float(within),
    }
