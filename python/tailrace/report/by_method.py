"""What another method of output, or node-local storage, would give, beside the findings that
advise it: as `tailrace whatif --target MODEL --files DIRECTORY --method METHOD` predicts it, where
MODEL is of the file system that the run used and DIRECTORY where that was measured, and as
`tailrace whatif --target node-local-ssd --files DIRECTORY` does.

| finding                                             | what is said                               |
|-----------------------------------------------------|--------------------------------------------|
| serial_writer; few_ranks, few_aggregators,          | what the run would take by the method by   |
| taking_turns, uneven_bytes, amplification of writes | which it would be shortest, and the        |
|                                                     | interval of that; of those by which all    |
|                                                     | ranks write one file, as is advised        |
| slow_file_system that advises node-local storage    | what the run would take on the model of    |
|                                                     | one that comes with Tailrace, likewise     |
| the same, where no method is known to change        | nothing                                    |
| anything; other findings about reads                |                                            |
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from tailrace.engine import ReplayOptions
from tailrace.errors import TailraceError
from tailrace.names import printable
from tailrace.predict.change import Change, by_methods
from tailrace.predict.methods import Method
from tailrace.predict.model import Model, named
from tailrace.predict.whatif import Run
from tailrace.verdict.evidence import Kind, Prediction
from tailrace.verdict.gains import gained

ADVISE_METHODS = frozenset({
    Kind.SERIAL_WRITER, Kind.FEW_RANKS, Kind.FEW_AGGREGATORS, Kind.TAKING_TURNS,
    Kind.UNEVEN_BYTES, Kind.AMPLIFICATION,
})  # fmt: skip
NODE_LOCAL = "node-local-ssd"
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
    directory, findings = _of_the_run(model, trace, columns), document["verdict"]
    if not any(_advises_method(each) or _advises_node_local(each) for each in findings):
        return document
    run = Run.of(trace, columns, [model], True, replay.get("eager_limit_bytes"))
    if not run.is_identical:
        return document
    best = _best(run, model, directory) if any(map(_advises_method, findings)) else None
    near = _node_local(run, directory) if any(map(_advises_node_local, findings)) else None

    def told(finding: dict[str, Any]) -> dict[str, Any]:
        by_method = best if _advises_method(finding) else None
        advised = near if _advises_node_local(finding) else by_method
        return finding if advised is None else _with(finding, advised, run)

    return document | {"verdict": [told(each) for each in findings]}


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
    if not changes:
        return None
    taken = {change.way.words: run.predict(change) for change in changes if change.way}
    words = min(taken, key=lambda way: taken[way].predicted_s)
    return Prediction(f"by {words}", taken[words].predicted_s, taken[words].interval_s)


def _node_local(run: Run, directory: Path) -> Prediction:
    taken = run.predict(Change(target=named(NODE_LOCAL), directory=directory))
    return Prediction(f"on {NODE_LOCAL}", taken.predicted_s, taken.interval_s)


def _advises_node_local(finding: dict[str, Any]) -> bool:
    is_slow = finding["code"] == Kind.SLOW_FILE_SYSTEM and finding["prediction"] is None
    return is_slow and "node-local storage" in finding["advice"]


def _advises_method(finding: dict[str, Any]) -> bool:
    about_writes = ABOUT_WRITES.search(finding["finding"]) is not None
    return finding["code"] in ADVISE_METHODS and about_writes and finding["prediction"] is None


def _with(finding: dict[str, Any], best: Prediction, run: Run) -> dict[str, Any]:
    gain, gain_s = gained(best, run.measured_s, finding["gain"])
    return finding | {"gain": gain, "gain_s": gain_s, "prediction": best._asdict()}
