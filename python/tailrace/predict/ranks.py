"""More ranks, or fewer: what several runs on different numbers say of another. The run time is cut
into what adds up to it (docs/reference/report.md), and each part follows a law of its own."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

import tailrace.library
from tailrace.errors import TailraceError
from tailrace.predict.asked import Asked, Between, asked, forms
from tailrace.predict.cuts import Cut, Shared, new_cut, shared
from tailrace.predict.laws import LEAST_COUNTS, Fitted, Form, fitted
from tailrace.predict.model import Model
from tailrace.predict.sharing import Sharing, sharing
from tailrace.predict.spread import NINE_OF_TEN, PART_NOISE, RUN_NOISE, own
from tailrace.predict.whatif import Prediction, left_to_gain
from tailrace.units import count, percent, to_seconds
from tailrace.verdict.efficiencies import Times
from tailrace.verdict.evidence import Evidence
from tailrace.verdict.file_calls import holds_file_calls
from tailrace.verdict.several import programs_of

# Beyond so many times what was recorded, laws say nothing that can be relied on.
FARTHEST = 16
PARTS = ("computing", "load imbalance", "serialization", "files", "transfers")


class Turns(NamedTuple):
    """`times`: how many times as long each computes as on a core of its own. `is_seen`: in the
    runs."""

    times: Between
    ranks_a_core: float
    is_seen: bool

    def off_s(self, values: dict[str, float]) -> tuple[float, float]:
        """How much less and more that makes of the run. Where no run tells, what is no file call
        may wait for its turn as well: whoever waits for a message polls."""
        low, value, high = self.times
        alone_s = values["computing"] / value
        others_s = sum(values.values()) - values["computing"] - values["files"]
        waits_s = 0.0 if self.is_seen else others_s * (self.ranks_a_core - 1)
        return alone_s * (value - low), alone_s * (high - value) + waits_s

    def described(self, ranks: int) -> str:
        cores = count(max(round(ranks / self.ranks_a_core), 1), "core")
        times = f"each computes {self.times.value:.2f} times as long as on a core of its own"
        known = "as in these runs" if self.is_seen else f"1 to {self.ranks_a_core:.2f} are open"
        return f"{ranks:,} ranks take turns at {cores}: {times} ({known})"


@dataclass(frozen=True)
class MoreRanks:
    """So many ranks, by the laws of what adds up to the run time."""

    ranks: int
    laws: dict[str, Fitted]
    waited: bool
    knows_files: bool
    of_files: float | None = None
    # Where there are more ranks than cores.
    turns: Turns | None = None
    cut: Cut | None = None

    @property
    def words(self) -> str:
        return count(self.ranks, "rank")

    @property
    def assumes(self) -> list[str]:
        found = [
            f"{part}: {fit.best.words} on {self._numbered(fit)}"
            for part, fit in self.laws.items()
            if fit.matters
        ]
        found.append("each part follows its law as far as that, on a machine like this one")
        if not self.knows_files:
            found.insert(
                0,
                "file calls are not in every trace: what the program does with files counts as"
                " computation there",
            )
        if self.of_files is not None:
            found.append(
                f"one run differs from the next in files by up to {percent(self.of_files)}, as"
                " programs did that were run twice to make the model"
            )
        if self.cut is not None:
            found.append(self.cut.described(self.ranks))
        if self.turns is not None:
            found.append(self.turns.described(self.ranks))
        if self.waited and self.turns is None:
            found.append("what ranks waited for a processor belongs to it, and is no less there")
        return found

    def _numbered(self, fit: Fitted) -> str:
        return self.words if fit.best.form.described else "n ranks"

    @property
    def arguments(self) -> dict[str, Any]:
        return {"ranks": self.ranks}

    @property
    def holds_spread(self) -> bool:
        return True


@dataclass(frozen=True)
class Runs:
    """Runs of one program. `measured_s`: of that on the most ranks."""

    counts: np.ndarray
    parts_s: np.ndarray  # a row for each number of ranks, a column for each of PARTS
    waited: bool
    knows_files: bool = True
    # By what share time in files differs from one run to the next, of nine in ten, if it is known.
    of_files: float | None = None
    # What they ask of their file system, if their traces tell.
    asked: Asked | None = None
    # How they took turns at cores, if their traces tell.
    sharing: Sharing | None = None
    # What they write into files of all ranks, if their traces tell.
    shared: Sequence[Shared] = ()

    @property
    def most(self) -> int:
        return int(self.counts[-1])

    @property
    def measured_s(self) -> float:
        return float(self.parts_s[-1].sum())

    @property
    def _noises(self) -> list[float]:
        """The standard deviation between runs of each part."""
        of_files = PART_NOISE if self.of_files is None else self.of_files / NINE_OF_TEN
        return [of_files if part == "files" else PART_NOISE for part in PARTS]

    def _counted(self, ranks: int) -> list[Form]:
        return forms(self.asked, ranks, self._cut(ranks)) if self.asked else []

    def _cut(self, ranks: int) -> Cut | None:
        return new_cut(self.shared, ranks)

    def predict(self, ranks: int) -> Prediction:
        """Raises TailraceError for numbers that are too far from those that were recorded."""
        if ranks > FARTHEST * self.most:
            raise TailraceError(
                f"{ranks:,} ranks are more than {FARTHEST} times the {self.most:,} that were"
                " recorded: what holds there cannot be told from these runs",
                f"record a run on {-(-ranks // FARTHEST):,} ranks or more",
            )
        laws = self._laws(ranks)
        turns = self._turns(ranks)
        values = {part: self._value(part, laws[part], ranks) for part in PARTS}
        predicted_s = sum(values.values())
        less_s, more_s = _apart(laws, values, ranks, self._noises, turns)
        efficiency = _efficiency(values)
        return Prediction(
            MoreRanks(
                ranks, laws, self.waited, self.knows_files, self.of_files, turns, self._cut(ranks)
            ),
            predicted_s,
            (predicted_s - less_s, predicted_s + more_s),
            efficiency,
            left_to_gain(efficiency),
        )

    def _laws(self, ranks: int) -> dict[str, Fitted]:
        """Of computing without what ranks waited for their turn at a core, where that is known."""
        runs_s = self.parts_s.sum(axis=1)
        laws = {}
        for part, noise, measured_s in zip(PARTS, self._noises, self.parts_s.T, strict=True):
            times_s, counted = measured_s, self._counted(ranks) if part == "files" else ()
            if part == "computing" and self.sharing is not None:
                times_s = self.sharing.alone_s(self.counts)
            noise_s = np.hypot(RUN_NOISE * runs_s, noise * times_s)
            laws[part] = fitted(self.counts, times_s, noise_s, counted)
        return laws

    def _turns(self, ranks: int) -> Turns | None:
        """None where a core is there for each rank, or nothing is known of cores."""
        if self.sharing is None or self.sharing.ranks_a_core(ranks) <= 1:
            return None
        return Turns(
            self.sharing.times(ranks), self.sharing.ranks_a_core(ranks), self.sharing.is_seen
        )

    def _value(self, part: str, fit: Fitted, ranks: int) -> float:
        """By its law; what the run on most ranks took beyond that stays, whatever the cause."""
        there = here = 1.0
        if part == "computing" and self.sharing is not None:
            there, here = (self.sharing.times(number).value for number in (ranks, self.most))
        law_s = float(fit.best.at(self.most)) * here
        stays_s = float(self.parts_s[-1, PARTS.index(part)]) - law_s
        return max(float(fit.best.at(ranks)) * there + stays_s, 0.0)


def _apart(
    laws: dict[str, Fitted],
    values: dict[str, float],
    ranks: int,
    noises: Sequence[float],
    turns: Turns | None,
) -> tuple[float, float]:
    """How much less and more the run may take: the parts' laws are off independently, as is how
    ranks take turns, and both the run there and the last that was recorded differ from the next as
    those did that were recorded."""
    told = np.asarray([float(fit.best.at(ranks)) for fit in laws.values()])
    edges = np.asarray([fit.between(ranks) for fit in laws.values()])
    if turns is not None:
        told[0], edges[0] = told[0] * turns.times.value, edges[0] * turns.times.value
    recorded = np.asarray([fit.times_s[-1] for fit in laws.values()])
    there, here = (
        NINE_OF_TEN * np.asarray(noises) * times_s
        for times_s in (np.asarray(list(values.values())), recorded)
    )
    apart = np.column_stack([told - edges[:, 0], edges[:, 1] - told, there, here])
    less_s, more_s, *differ = np.sqrt(np.sum(np.square(np.maximum(apart, 0)), axis=0))
    by_turns = turns.off_s(values) if turns is not None else (0.0, 0.0)
    less_s = math.hypot(less_s, by_turns[0], *differ)
    return min(less_s, sum(values.values())), math.hypot(more_s, by_turns[1], *differ)


def read(
    traces: Sequence[Path], eager_limit_bytes: int | None, models: Sequence[Model] = ()
) -> Runs:
    """Of `models` that of the runs' own file system says by how much their files differ. Raises
    TailraceError where runs are of different programs, or on too few numbers of ranks."""
    runs = [tailrace.library.open(path, eager_limit_bytes=eager_limit_bytes) for path in traces]
    programs = programs_of([run.columns for run in runs])
    if len(programs) > 1:
        raise TailraceError(
            f"these traces are of different programs ({', '.join(programs)})",
            "give runs of one program on several numbers of ranks",
        )
    by_count: dict[int, list[list[float]]] = {}
    for run in runs:
        by_count.setdefault(run.times.ranks, []).append(_parts(run.times))
    if len(by_count) < LEAST_COUNTS:
        told = ", ".join(map(str, sorted(by_count)))
        raise TailraceError(
            f"a law needs runs on {LEAST_COUNTS} numbers of ranks at least, and these are on"
            f" {told}",
            "record the program on more numbers of ranks, such as 1, 2, 4 and 8",
        )
    counts = np.asarray(sorted(by_count), float)
    parts = [[median(part) for part in zip(*by_count[int(n)], strict=True)] for n in counts]
    knows_files = all(holds_file_calls(run.columns) for run in runs)
    return Runs(
        counts,
        np.asarray(parts),
        waited=any(_waited(run.columns) for run in runs),
        knows_files=knows_files,
        of_files=_of_files(runs, models),
        asked=asked([(run.times.ranks, run.columns["files"]) for run in runs])
        if knows_files
        else None,
        sharing=sharing([run.columns for run in runs]),
        shared=[shared(run.times.ranks, run.columns) for run in runs] if knows_files else (),
    )


def _of_files(runs: Sequence[tailrace.library.Run], models: Sequence[Model]) -> float | None:
    """What a model says that was measured where each of the runs has files."""
    paths = [[Path(os.fsdecode(path)) for path in run.columns["files"]["path"]] for run in runs]
    known = own(
        models, lambda where: all(any(p.is_relative_to(where) for p in of_run) for of_run in paths)
    )
    return known and known.of_files


def _waited(columns: dict[str, Any]) -> bool:
    processors = Evidence(columns).processors
    return processors is not None and processors.notable


def _parts(times: Times) -> list[float]:
    mean, most = float(times.useful_mean_ns), float(times.useful_max_ns)
    ends = (0, mean, most, times.ideal_ns, times.ideal_network_ns, times.runtime_ns)
    return [max(to_seconds(part), 0.0) for part in np.diff(np.asarray(ends, float))]


def _efficiency(parts: dict[str, float]) -> dict[str, float]:
    """As of a measured run, with even I/O left out."""
    mean, most, ideal, network, runtime = np.cumsum(list(parts.values()))
    shares = {
        "parallel": (mean, runtime),
        "load_balance": (mean, most),
        "serialization": (most, ideal),
        "io": (ideal, network),
        "transfer": (network, runtime),
    }
    return {name: float(part / whole) if whole else 1.0 for name, (part, whole) in shares.items()}
