"""A study as a Python object: its tables, its plan, where it took place."""

import os
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from tailrace.names import printable
from tailrace.study import plan, tables
from tailrace.study.model import Study as Model
from tailrace.study.results import DONE
from tailrace.study.store import ENVIRONMENT, Store

if TYPE_CHECKING:
    from tailrace.study.summary import Summary


def open_study(directory: str | os.PathLike[str]) -> "Study":
    """Reads the directory of a study, finished or not. Raises TailraceError where it holds none."""
    return Study(Store(Path(directory)))


class Study:
    """One study and what it has measured so far."""

    def __init__(self, store: Store) -> None:
        self.store = store
        stored = plan.stored(store)
        self.plan: dict[str, Any] = stored.values
        self.model: Model = stored.study

    def __repr__(self) -> str:
        return (
            f"<tailrace.Study {printable(self.name)}: {len(self.runs)} runs of {len(self.plan['cells'])} combinations>"
        )

    @property
    def name(self) -> str:
        return self.plan["name"]

    @property
    def directory(self) -> Path:
        return self.store.directory

    @property
    def factors(self) -> dict[str, dict[str, Any]]:
        """By name: kind, unit, levels and the texts that people read for them."""
        return {factor["name"]: factor for factor in self.plan["factors"]}

    @property
    def response(self) -> str:
        """The column that the study is about."""
        return self.plan["response"]

    @cached_property
    def _lines(self) -> list[dict[str, Any]]:
        return list(self.store.runs())

    @cached_property
    def runs(self) -> pd.DataFrame:
        """One row per run, failed ones included (`status`)."""
        return tables.runs(self.model, self._lines)

    @cached_property
    def done(self) -> pd.DataFrame:
        """The rows of the runs that succeeded."""
        return self.runs[self.runs["status"] == DONE]

    @cached_property
    def phases(self) -> pd.DataFrame:
        """One row per run, output step and phase."""
        return tables.phases(self._lines)

    @cached_property
    def environment(self) -> dict[str, Any]:
        """Where it took place (docs/schema/study-environment.json); empty before the first run."""
        return self.store.read_json(ENVIRONMENT) if self.store.has(ENVIRONMENT) else {}

    @cached_property
    def report(self) -> "Summary":
        """What it found so far: `.headline`, `.found.findings`, `.answers` (to its expectations), `.analysis.effects`,
        `.cautions`, and `.as_json()`, which is docs/schema/study-report.json. docs/study-report.md explains them.
        """
        from tailrace.study.report import measured
        from tailrace.study.summary import Summary

        return Summary(measured(self))

    @property
    def complete(self) -> bool:
        """Whether every combination has as many runs as the plan wants at least."""
        return len(self.runs) >= len(self.plan["cells"]) * self.plan["repetitions"]
