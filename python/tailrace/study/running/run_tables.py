"""A study's two tables, from runs.jsonl: one row per run, and one per run, output step and phase.
Units are in the names of the columns; what was not measured is missing (null in Parquet, empty in
CSV).
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from tailrace.study.definition import columns
from tailrace.study.definition.model import StudyDefinition
from tailrace.study.definition.problems import pattern_names
from tailrace.study.running.store import Line, Store, durable_replace

TABLES = ("runs", "phases")
# Types that statistics programs take for numbers: where one may be missing, it is a float.
WHOLE_NUMBERS = ("run", "block", "order")
TEXTS = (*columns.ENDING, "verified", "cache", "placement", "program", "simulated_on")


def runs(study: StudyDefinition, lines: Iterable[Line]) -> pd.DataFrame:
    """One row per run, in the order in which they were made; docs/reference/studies.md lists the
    columns."""
    names = [
        *columns.IDENTITY,
        *study.factor,
        *columns.ENDING,
        *columns.MEASURED,
        *pattern_names(study.run),
        *columns.CIRCUMSTANCES,
    ]
    frame = pd.DataFrame([_row(line) for line in lines], columns=names)
    return frame.astype({name: kind for name in names if (kind := _type(study, name))})


def _row(line: Line) -> dict[str, Any]:
    return {**line, **line["levels"], **line["numbers"]}


def _type(study: StudyDefinition, name: str) -> str:
    """Levels keep the type that the study file gives them."""
    if name in WHOLE_NUMBERS:
        return "int64"
    if name in study.factor:
        return _level_type(study.factor[name].levels)
    return "object" if name in TEXTS else "float64"


def _level_type(levels: list[Any]) -> str:
    for kind, name in ((bool, "bool"), (int, "int64"), (int | float, "float64")):
        if all(
            isinstance(level, kind) and (kind is bool or not isinstance(level, bool))
            for level in levels
        ):
            return name
    return "object"


def phases(lines: Iterable[Line]) -> pd.DataFrame:
    """One row per run, output step and phase that took any time."""
    frame = pd.DataFrame(_phase_rows(lines), columns=list(columns.PHASE_COLUMNS))
    whole = dict.fromkeys(("run", "step", "bytes", "slowest_rank"), "int64")
    words = dict.fromkeys(("output", "direction", "phase"), "string")
    return frame.astype(
        whole | words | dict.fromkeys(("minimum_s", "mean_s", "maximum_s"), "float64")
    )


def _phase_rows(lines: Iterable[Line]) -> Iterator[list[Any]]:
    for line in lines:
        yield from ([line["run"], *phase] for phase in line["phases"])


def write(store: Store, study: StudyDefinition) -> None:
    """Parquet and CSV of both, each under its name when it is whole."""
    lines = list(store.runs())
    for name, frame in zip(TABLES, (runs(study, lines), phases(lines)), strict=True):
        _write(store.directory / f"{name}.parquet", frame.to_parquet)
        _write(store.directory / f"{name}.csv", frame.to_csv)


def _write(path: Path, write: Callable[..., object]) -> None:
    with durable_replace(path) as partial:
        write(partial, index=False)
