"""What another method of output would give, beside the findings that advise one: as `tailrace
whatif --target MODEL --files DIRECTORY --method METHOD` predicts it, where MODEL is of the file
system that the run used and DIRECTORY where that was measured.

| finding                                             | what is said                               |
|-----------------------------------------------------|--------------------------------------------|
| serial_writer; few_ranks, few_aggregators,          | what the run would take by the method by   |
| taking_turns, uneven_bytes, amplification of writes | which it would be shortest, and the        |
|                                                     | interval of that; of those by which all    |
|                                                     | ranks write one file, as is advised        |
| the same, where no method is known to change        | nothing                                    |
| anything; findings about reads                      |                                            |
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from tailrace.engine import ReplayOptions
from tailrace.errors import TailraceError
from tailrace.names import printable
from tailrace.predict.change import by_methods
from tailrace.predict.methods import Method
from tailrace.predict.model import Model
from tailrace.predict.whatif import Run
from tailrace.verdict.evidence import Kind, Prediction
from tailrace.verdict.gains import gained

ADVISE_METHODS = frozenset({
    Kind.SERIAL_WRITER, Kind.FEW_RANKS, Kind.FEW_AGGREGATORS, Kind.TAKING_TURNS,
    Kind.UNEVEN_BYTES, Kind.AMPLIFICATION,
})  # fmt: skip
BY_ALL_RANKS: tuple[Method, ...] = ("collective", "independent")
ABOUT_WRITES = re.compile(r"\bwr(ite|ites|iting|itten|ote)\b")


def with_methods(
    document: dict[str, Any],
    trace: Path,
    columns: dict[str, Any],
    model: Model,
    replay: ReplayOptions,
) -> dict[str, Any]:
    """The report of a trace, with what methods would give. Raises TailraceError where the model is
    of no file system that the run used."""
    directory = _of_the_run(model, trace, columns)
    if not any(map(_advises, document["verdict"])):
        return document
    run = Run.of(trace, columns, [model], True, replay.get("eager_limit_bytes"))
    best = _best(run, model, directory)
    if best is None:
        return document
    findings = [_with(each, best, run) if _advises(each) else each for each in document["verdict"]]
    return document | {"verdict": findings}


def _of_the_run(model: Model, trace: Path, columns: dict[str, Any]) -> Path:
    """Where the model was measured."""
    if model.directory is None:
        raise TailraceError(
            f"{model.name} does not say where it was measured, so it is not known of which files"
            " it is",
            "`tailrace calibrate DIR` makes a model of the file system of DIR",
        )
    directory = Path(model.directory)
    paths = (Path(os.fsdecode(path)) for path in columns["files"]["path"])
    if not any(path.is_relative_to(directory) for path in paths):
        raise TailraceError(
            f"no file of {printable(trace.name)} lies in {printable(model.directory)}, where"
            f" {model.name} was measured",
            "--target is the file system that the run used; `tailrace whatif` moves it to another",
        )
    return directory


def _best(run: Run, model: Model, directory: Path) -> Prediction | None:
    """The method by which the run is shortest."""
    all_ways = by_methods([model], {"directory": directory})
    ways = [change for change in all_ways if change.way and change.way.method in BY_ALL_RANKS]
    changes = run.possible(ways)
    if not changes or not run.is_identical:
        return None
    taken = {change.way.words: run.predict(change) for change in changes if change.way}
    words = min(taken, key=lambda way: taken[way].predicted_s)
    return Prediction(f"by {words}", taken[words].predicted_s, taken[words].interval_s)


def _advises(finding: dict[str, Any]) -> bool:
    about_writes = ABOUT_WRITES.search(finding["finding"]) is not None
    return finding["code"] in ADVISE_METHODS and about_writes and finding["prediction"] is None


def _with(finding: dict[str, Any], best: Prediction, run: Run) -> dict[str, Any]:
    gain, gain_s = gained(best, run.measured_s, finding["gain"])
    return finding | {"gain": gain, "gain_s": gain_s, "prediction": best._asdict()}
