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

import tailrace
from tailrace.predict.model import Model, load
from tailrace.predict.whatif import Change, Run

from . import machine
from .cases import CASES, Case
from .machine import Bed, calibrate, record
from .page import page
from .scores import Pair

# From where to where.
Move = tuple[str, str]


@dataclass(frozen=True)
class Predicted:
    """What a move adds to a run, s."""

    change: float
    low: float
    high: float
    naive: float


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.predictions", description=__doc__)
    parser.add_argument("-o", "--output", type=Path, help="the page [stdout]")
    parser.add_argument("--only", default="", help="cases whose name has this")
    parser.add_argument("--beds", nargs="+", default=["local", "nfs", "single", "striped"])
    parser.add_argument("--rounds", type=int, default=5, help="two at least")
    parser.add_argument("--budget", default="1m", help="of each calibration")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--models", type=Path, help="keep the models there, or use those that are")
    chosen = parser.parse_args()
    cases = [case for case in CASES if chosen.only in case.name]
    beds = machine.beds(chosen.beds)
    with tempfile.TemporaryDirectory(prefix="predictions-") as place:
        folder = Path(place)
        models, held_out = _models(beds, chosen, chosen.models or folder)
        predicted = {case: _predict(case, beds, models, folder) for case in cases}
        frozen = _hash(predicted)
        print(f"predictions are fixed: {frozen}", file=sys.stderr)
        command = "python -m tests.predictions " + " ".join(sys.argv[1:])
        told = {
            "when": f"{datetime.now(UTC):%Y-%m-%d}",
            "machine": f"{os.cpu_count()} cores, {platform.machine()}, Linux {platform.release()}",
            **{bed.name: bed.is_what for bed in beds.values()},
            "links": machine.RATE,
            "rounds": str(chosen.rounds),
        }
        pairs: list[Pair] = []
        # case by case, so that a run that is interrupted leaves a page of what it measured
        for case in cases:
            pairs += _measured(case, beds, predicted[case], chosen.rounds, folder)
            written = page(pairs, frozen, held_out, command, told)
            if chosen.output is not None:
                chosen.output.write_text(written)
    if chosen.output is None:
        print(written)


def _models(
    beds: dict[str, Bed], chosen: argparse.Namespace, folder: Path
) -> tuple[dict[str, Model], dict[str, dict[str, float]]]:
    models, held_out = {}, {}
    folder.mkdir(exist_ok=True)
    for name in beds:
        path = folder / f"{name}.toml"
        known = folder / f"{name}.json"
        if not path.exists():
            errors = calibrate(beds[name], chosen.budget, chosen.seed, path)
            known.write_text(json.dumps(errors))
        models[name], held_out[name] = load(path), json.loads(known.read_text())
        print(f"{name}: {held_out[name]}", file=sys.stderr)
    return models, held_out


def _predict(
    case: Case, beds: dict[str, Bed], models: dict[str, Model], folder: Path
) -> dict[Move, Predicted]:
    """Of each file system for each of the others, from one trace, as users have one."""
    found = {}
    for base in beds.values():
        trace = record(case, base, folder).trace
        run = Run(trace)
        for target in models.values():
            if target.name == base.name:
                continue
            change = Change(target=target, directory=base.directory, cache="cold")
            told = run.predict(change)
            found[base.name, target.name] = Predicted(
                told.predicted_s - run.measured_s,
                told.interval_s[0] - run.measured_s,
                told.interval_s[1] - run.measured_s,
                _naive(trace, target, base.directory)
                - _naive(trace, models[base.name], base.directory),
            )
    return found


def _naive(trace: Path, model: Model, directory: Path) -> float:
    """Bytes over rate."""
    files = tailrace.open(trace).files
    moved = files[[Path(path).is_relative_to(directory) for path in files["path"]]]
    rates = model.bytes_per_s
    written, read = moved["bytes_written"].sum(), moved["bytes_read"].sum()
    return float(written / rates.write.value + read / rates.read.value)


def _hash(predicted: dict[Case, dict[Move, Predicted]]) -> str:
    plain = {
        case.name: {" to ".join(move): vars(prediction) for move, prediction in found.items()}
        for case, found in predicted.items()
    }
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()


def _measured(
    case: Case, beds: dict[str, Bed], predicted: dict[Move, Predicted], rounds: int, folder: Path
) -> list[Pair]:
    taken: dict[str, list[float]] = {name: [] for name in beds}
    for _ in range(rounds):
        for name, bed in beds.items():
            taken[name].append(record(case, bed, folder).elapsed_s)
    pairs = []
    for (base, target), found in predicted.items():
        pair = Pair(
            case.name, base, target, found.change, found.low, found.high, found.naive,
            tuple(taken[base]), tuple(taken[target]),
        )  # fmt: skip
        pairs.append(pair)
        print(
            f"{case.name} from {base} to {target}: predicted {pair.predicted:+.2f},"
            f" measured {pair.measured:+.2f} s: {pair.error:+.0%}"
            f" (floor {pair.floor:.0%}, bytes over rate {pair.naive_error:+.0%})",
            file=sys.stderr,
        )
    return pairs


main()
