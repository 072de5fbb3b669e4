"""Brings the file systems up, calibrates, records, predicts, measures, and writes the table."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import permutations
from pathlib import Path
from typing import NamedTuple

import numpy as np

import tailrace
from tailrace import engine
from tailrace.predict.change import Change
from tailrace.predict.model import Model, load
from tailrace.predict.polling import polling
from tailrace.predict.whatif import Run
from tailrace.units import to_seconds
from tailrace.verdict.processors import STATES, processors_of

from ..machine import TAILRACE, calibrated
from ..scores import Pair, summary
from .mounts import KINDS, up
from .programs import PROGRAMS, Program, can_run, environment


def main() -> None:
    chosen = _chosen()
    with tempfile.TemporaryDirectory(prefix="elsewhere-") as place:
        folder = Path(place)
        with up(chosen.names, folder / "beds") as beds:
            models = _models(beds, chosen, chosen.models or folder)
            asked: list[Asked] = []
            for program in PROGRAMS:
                if chosen.programs and program.name not in chosen.programs:
                    continue
                if not can_run(program, folder):
                    print(f"{program.name} is left out: it is not there", file=sys.stderr)
                    continue
                asked += _asked(program, beds, models, chosen, folder)
    _print(asked)


def _chosen() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.predictions.elsewhere", description=__doc__
    )
    parser.add_argument("names", nargs="+", choices=sorted(KINDS), help="file systems")
    parser.add_argument("--programs", nargs="+", help="only these [all]")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--budget", default="15s", help="of each calibration")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--models", type=Path, help="keep the models there, or use those that are")
    parser.add_argument("--traces", type=Path, help="keep the first traces there")
    return parser.parse_args()


def _models(beds: Mapping[str, Path], chosen: argparse.Namespace, folder: Path) -> dict[str, Model]:
    folder.mkdir(exist_ok=True)
    models = {}
    for name, directory in beds.items():
        path = folder / f"{name}.toml"
        if not path.exists():
            told = calibrated(directory, name, chosen.budget, chosen.seed, path)
            print(f"{name}: {told}", file=sys.stderr)
        models[name] = load(path)
    return models


@dataclass(frozen=True)
class Asked:
    """A change of which the run that was recorded, too, is known."""

    pair: Pair
    run_s: float
    between_s: tuple[float, float]

    @property
    def measured_run_s(self) -> float:
        return float(np.median(self.pair.target_rounds))

    @property
    def is_within(self) -> bool:
        low, high = self.between_s
        return low <= self.measured_run_s <= high

    @property
    def row(self) -> str:
        pair = self.pair
        run = _between(self.run_s, self.between_s, ".3f")
        change = _between(pair.predicted, (pair.low, pair.high), "+.3f")
        return (
            f"| {pair.case} | {pair.words} | {run} | {self.measured_run_s:.3f} |"
            f" {_yes(self.is_within)} | {change} | {pair.measured:+.3f} | {_yes(pair.is_within)} |"
        )


class Waits(NamedTuple):
    """What a program of one process waited for a processor, s: beside other work most of a short
    run. What a model says of calls has none of it, so that its run times here are without it. Of
    several ranks one waits while another does, so that theirs are as they are."""

    all_s: float
    beside_files_s: float

    @staticmethod
    def of(trace: Path) -> Waits:
        found = processors_of(tailrace.open(trace).columns)
        if found is None or found.ranks > 1:
            return Waits(0.0, 0.0)
        by_state = [to_seconds(found.waited_in(state)) for state in STATES]
        return Waits(sum(by_state), sum(by_state) - by_state[STATES.index("io")])


def _asked(
    program: Program,
    beds: Mapping[str, Path],
    models: Mapping[str, Model],
    chosen: argparse.Namespace,
    folder: Path,
) -> list[Asked]:
    """Predictions are made before anything is measured; then rounds go in turns."""
    aside = folder / program.name
    aside.mkdir()
    program.before(aside)
    runs, waits, known = {}, {}, list(models.values())
    for name, directory in beds.items():
        with recorded(program, directory, aside) as trace:
            ranks = polling(engine.analyze(trace, critical_paths=False))
            runs[name] = Run(trace, models=known, polling=ranks)
            waits[name] = Waits.of(trace)
            if chosen.traces is not None:
                chosen.traces.mkdir(exist_ok=True)
                shutil.copy(trace, chosen.traces / f"{program.name}-{name}.tailrace")
    told = {
        (base, target): runs[base].predict(
            Change(target=models[target], directory=beds[base], cache="cold")
        )
        for base, target in permutations(beds, 2)
    }
    taken: dict[str, list[float]] = {name: [] for name in beds}
    for _ in range(chosen.rounds):
        for name, directory in beds.items():
            with recorded(program, directory, aside) as trace:
                taken[name].append(to_seconds(tailrace.open(trace).times.runtime_ns))
                taken[name][-1] -= Waits.of(trace).all_s
    found = []
    for (base, target), prediction in told.items():
        beside = waits[base].beside_files_s
        low, high = prediction.edges_s
        prediction = replace(
            prediction,
            predicted_s=prediction.predicted_s - beside,
            edges_s=(low - beside, high - beside),
        )
        measured_s = runs[base].measured_s - waits[base].all_s
        pair = Pair(
            "file system", program.name, f"{base} to {target}",
            prediction.predicted_s - measured_s, *prediction.change_interval_s(measured_s), 0.0,
            prediction.is_open(measured_s), tuple(taken[base]), tuple(taken[target]),
        )  # fmt: skip
        found.append(Asked(pair, prediction.predicted_s, prediction.interval_s))
        print(found[-1].row, file=sys.stderr)
    return found


@contextmanager
def recorded(program: Program, directory: Path, aside: Path) -> Iterator[Path]:
    """The trace of one run in a folder that is new there, and gone afterwards."""
    own = Path(tempfile.mkdtemp(dir=directory))
    traces = Path(tempfile.mkdtemp(dir=aside))
    try:
        program.input(own)
        os.sync()
        done = subprocess.run(
            [TAILRACE, "run", "--no-report", "-o", "trace", "--", *program.command(own, aside)],
            cwd=traces,
            env=environment(),
            capture_output=True,
            text=True,
        )
        found = list(traces.rglob("*.tailrace"))
        if done.returncode or len(found) != 1:
            raise RuntimeError(f"{program.name} in {directory} failed: {done.stderr}")
        yield found[0]
    finally:
        shutil.rmtree(own)
        shutil.rmtree(traces)


def _between(value: float, edges: tuple[float, float], form: str) -> str:
    low, high = (format(edge, form) for edge in edges)
    return f"{value:{form}} ({low} to {high})"


def _yes(held: bool) -> str:
    return "yes" if held else "no"


def _print(asked: list[Asked]) -> None:
    print(
        "| program | from, to | run on it, s (between) | measured | held | change, s (between) |"
        " measured | held |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for each in sorted(asked, key=lambda each: -abs(each.pair.error_of_run)):
        print(each.row)
    found = summary([each.pair for each in asked])
    print(
        f"\n{found.pairs} pairs, {found.notable} notable: of these half are off by at most"
        f" {found.median_error:.0%} of the change, nine of ten by {found.nine_of_ten:.0%}; the"
        f" interval of the change held in {found.within:.0%}, that of the run in"
        f" {np.mean([each.is_within for each in asked]):.0%}"
    )


main()
