"""Small programs drawn at random, which were no part of the fit: what the model says of them is the
error that a reader should expect."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Protocol, TypeVar

import numpy as np

from tailrace import engine
from tailrace.calibration.probe import KIB, Probe, Sizes
from tailrace.calibration.stopwatch import Stopwatch
from tailrace.gathering import EDGES, Edge
from tailrace.predict.model import HeldOut, Model, Quantity
from tailrace.predict.spread import NINE_OF_TEN
from tailrace.units import to_seconds

Call = tuple[str, int, int, int]
Errors = dict[str, float]
MOST_CALLS = 256
PAIR = 2


T = TypeVar("T", contravariant=True)


class HeldOutRun(Protocol[T]):
    """What was run, and what it took, s."""

    @property
    def measured_s(self) -> float: ...

    def predicted_s(self, model: T, edge: Edge = "value") -> float: ...


@dataclass(frozen=True)
class Program:
    """What a program did, and what each of its runs took, s."""

    calls: list[Call]
    times_s: tuple[float, ...]

    @property
    def measured_s(self) -> float:
        return fmean(self.times_s)

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


@dataclass
class Programs:
    """Those that are held out: each is run in one round, and again in the next."""

    lot: random.Random
    sizes: Sizes
    done: list[Program] = field(default_factory=list)
    _waiting: list[int] = field(default_factory=list)

    def begin_round(self) -> None:
        self._waiting = [at for at, each in enumerate(self.done) if len(each.times_s) == 1]

    def run(self, probe: Probe) -> None:
        """One that waits to be run again, or another."""
        if not self._waiting:
            calls = draw(self.lot, self.sizes)
            self.done.append(Program(calls, (run(probe, calls),)))
            return
        at = self._waiting.pop(0)
        calls, before = self.done[at].calls, self.done[at].times_s
        self.done[at] = Program(calls, (*before, run(probe, calls)))


def run(probe: Probe, calls: list[Call]) -> float:
    """Makes the calls, and takes the time of all, s."""
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
    return watch.elapsed_s()


def judged(held_out: Sequence[HeldOutRun[Model]], model: Model) -> tuple[Model, Errors]:
    """The model, its intervals widened by how far programs are off, and the errors on them."""
    off, errors = off_and_errors(held_out, model)
    twice = [each.times_s for each in held_out if isinstance(each, Program)]
    known = HeldOut(measured_over_predicted=off, run_to_run=run_to_run(twice))
    return model.model_copy(update={"held_out": known}), errors


def run_to_run(programs: Sequence[Sequence[float]]) -> float | None:
    """By what share one run differs from the next, of nine in ten, from what both runs of programs
    took, s; None where none was run twice. What takes long counts for more."""
    pairs = np.asarray([times for times in programs if len(times) == PAIR])
    if not len(pairs):
        return None
    # the difference of two is spread by the root of two of what each is
    variances = np.square(np.log(pairs[:, 1] / pairs[:, 0])) / PAIR
    return NINE_OF_TEN * float(np.sqrt(np.average(variances, weights=pairs.sum(axis=1))))


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
