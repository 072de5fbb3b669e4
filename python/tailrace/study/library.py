"""A study as a Python object: its tables, its plan, where it took place."""

import os
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from tailrace import extras
from tailrace.errors import TailraceError
from tailrace.names import printable
from tailrace.study.definition.columns import ANSWERED, NOT_RUN
from tailrace.study.definition.model import StudyDefinition
from tailrace.study.running import plan, run_tables
from tailrace.study.running.store import ENVIRONMENT, Store

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailrace.study.analysis.measured import Measured
    from tailrace.study.analysis.summary import Summary


def open_study(directory: str | os.PathLike[str]) -> "Study":
    """Reads the directory of a study, finished or not. Raises TailraceError where it holds none."""
    return Study(Store(Path(directory)))


class Study:
    """One study and what it has measured so far."""

    def __init__(self, store: Store) -> None:
        self.store = store
        stored = plan.stored(store)
        self.plan: dict[str, Any] = stored.values
        self.model: StudyDefinition = stored.study

    def __repr__(self) -> str:
        combinations = len(self.plan["combinations"])
        size = f"{len(self.runs)} runs of {combinations} combinations"
        return f"<tailrace.Study {printable(self.name)}: {size}>"

    def _repr_html_(self) -> str:
        from tailrace.study.report.notebook import study_html

        return study_html(self.report)

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
        return run_tables.runs(self.model, self._lines)

    @cached_property
    def done(self) -> pd.DataFrame:
        """The rows of the runs that succeeded, and of what was simulated instead."""
        return self.runs[self.runs["status"].isin(ANSWERED)]

    @cached_property
    def phases(self) -> pd.DataFrame:
        """One row per run, output step and phase."""
        return run_tables.phases(self._lines)

    @cached_property
    def environment(self) -> dict[str, Any]:
        """Where it took place (docs/schema/study-environment.json); empty before the first run."""
        return self.store.read_json(ENVIRONMENT) if self.store.has(ENVIRONMENT) else {}

    @cached_property
    def report(self) -> "Summary":
        """What it found so far: `.headline`, `.found.findings`, `.answers` (to its expectations),
        `.analysis.effects`, `.cautions`, and `.as_json()`, which is docs/schema/study-report.json.
        docs/reference/study-report.md explains them.
        """
        from tailrace.study.analysis.summary import Summary

        return Summary(self.measured())

    @property
    def headline(self) -> str:
        """What it found, in one line."""
        return self.report.headline

    def plot(self, response: str = "") -> "Figure":
        """The chart of a column of `runs` [default: the study's response], as the page has it: a
        facet per size, a line per target or method."""
        extras.need("data", "plots")
        from tailrace.study.report.plots import plot_response

        if self.done.empty:
            raise TailraceError(f"{printable(self.name)} has no finished run to plot")
        column = response or self.response
        if column not in self.done or not pd.api.types.is_numeric_dtype(self.done[column]):
            raise TailraceError(
                f"{printable(self.name)} has no numbers named {printable(column)!r}",
                "Study.runs lists the columns",
            )
        return plot_response(self.report, self.measured().response_of(column))

    def measured(self, name: str = "") -> "Measured":
        """What a report is made of. `name`: what the study is called in it, if not its
        directory's name."""
        from tailrace.study.analysis.measured import Measured

        plan = self.plan | {"directory": name or self.directory.name}
        return Measured(plan, self.runs, self.environment)

    @property
    def complete(self) -> bool:
        """Whether every combination has as many runs as the plan wants at least."""
        once = int(self.runs["status"].isin(NOT_RUN).sum())
        every, times = len(self.plan["combinations"]), self.plan["repetitions"]
        return len(self.runs) - once >= (every - once) * times
