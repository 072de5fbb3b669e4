"""Records, predicts, measures, and writes the page."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import sys
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

import tailrace
from tailrace.predict.model import Model, load
from tailrace.predict.whatif import Change, Run

from . import machine
from .cases import CASES, Case
from .machine import BASE, Bed, calibrate, record
from .page import page
from .scores import Pair

# A prediction is the median of those from so many base runs.
BASE_RUNS = 3


@dataclass(frozen=True)
class Predicted:
    """What a target adds to a run, s."""

    change: float
    low: float
    high: float
    naive: float


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.predictions", description=__doc__)
    parser.add_argument("-o", "--output", type=Path, help="the page [stdout]")
    parser.add_argument("--only", default="", help="cases whose name has this")
    parser.add_argument("--targets", nargs="+", default=["nfs", "single", "striped"])
    parser.add_argument("--rounds", type=int, default=5, help="two at least")
    parser.add_argument("--budget", default="1m", help="of each calibration")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--models", type=Path, help="keep the models there, or use those that are")
    chosen = parser.parse_args()
    cases = [case for case in CASES if chosen.only in case.name]
    beds = machine.beds(chosen.targets)
    with tempfile.TemporaryDirectory(prefix="predictions-") as place:
        folder = Path(place)
        folder_of_models = chosen.models or folder
        models, held_out = _models(beds, chosen, folder_of_models)
        predicted = {case: _predict(case, beds[BASE], models, folder) for case in cases}
        frozen = _hash(predicted)
        print(f"predictions are fixed: {frozen}", file=sys.stderr)
        pairs = _measured(cases, beds, predicted, chosen.rounds, folder)
    command = "python -m tests.predictions " + " ".join(sys.argv[1:])
    told = {
        "when": f"{datetime.now(UTC):%Y-%m-%d}",
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, Linux {platform.release()}",
        **{bed.name: bed.is_what for bed in beds.values()},
        "links": machine.RATE,
        "rounds": str(chosen.rounds),
    }
    written = page(pairs, frozen, held_out, command, told)
    if chosen.output is None:
        print(written)
    else:
        chosen.output.write_text(written)


def _models(
    beds: dict[str, Bed], chosen: argparse.Namespace, folder: Path
) -> tuple[dict[str, Model], dict[str, dict[str, float]]]:
    models, held_out = {}, {}
    for name in chosen.targets:
        path = folder / f"{name}.toml"
        known = folder / f"{name}.json"
        if not path.exists():
            errors = calibrate(beds[name], chosen.budget, chosen.seed, path)
            known.write_text(json.dumps(errors))
        models[name], held_out[name] = load(path), json.loads(known.read_text())
        print(f"{name}: {held_out[name]}", file=sys.stderr)
    return models, held_out


def _predict(case: Case, base: Bed, models: dict[str, Model], folder: Path) -> dict[str, Predicted]:
    traces = [record(case, base, folder).trace for _ in range(BASE_RUNS)]
    runs = [Run(trace) for trace in traces]
    found = {}
    for name, model in models.items():
        change = Change(target=model, directory=base.directory, cache="cold")
        all_of_them = [(run.measured_s, run.predict(change)) for run in runs]
        found[name] = Predicted(
            median(each.predicted_s - s for s, each in all_of_them),
            min(each.interval_s[0] - s for s, each in all_of_them),
            max(each.interval_s[1] - s for s, each in all_of_them),
            _naive(traces[0], model, base.directory),
        )
    return found


def _naive(trace: Path, model: Model, directory: Path) -> float:
    """Bytes over rate."""
    files = tailrace.open(trace).files
    moved = files[[Path(path).is_relative_to(directory) for path in files["path"]]]
    rates = model.bytes_per_s
    written, read = moved["bytes_written"].sum(), moved["bytes_read"].sum()
    return float(written / rates.write.value + read / rates.read.value)


def _hash(predicted: dict[Case, dict[str, Predicted]]) -> str:
    plain = {
        case.name: {name: vars(prediction) for name, prediction in found.items()}
        for case, found in predicted.items()
    }
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()


def _measured(
    cases: list[Case],
    beds: dict[str, Bed],
    predicted: dict[Case, dict[str, Predicted]],
    rounds: int,
    folder: Path,
) -> list[Pair]:
    pairs = []
    for case in cases:
        taken: dict[str, list[float]] = {}
        for _ in range(rounds):
            for name in (BASE, *predicted[case]):
                taken.setdefault(name, []).append(record(case, beds[name], folder).elapsed_s)
        for name, found in predicted[case].items():
            pair = Pair(
                case.name, name, found.change, found.low, found.high, found.naive,
                tuple(taken[BASE]), tuple(taken[name]),
            )  # fmt: skip
            pairs.append(pair)
            print(
                f"{case.name} on {name}: predicted {pair.predicted:+.2f},"
                f" measured {pair.measured:+.2f} s: {pair.error:+.0%}"
                f" (floor {pair.floor:.0%}, bytes over rate {pair.naive_error:+.0%})",
                file=sys.stderr,
            )
    return pairs


main()
