"""What a report is made of: the plan of a study and its table of runs."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pandas as pd

from tailrace.errors import TailraceError
from tailrace.names import elided, printable
from tailrace.study.analysis.layout import RANK_KINDS, Layout, StudyFactor, layout
from tailrace.study.analysis.responses import Given, Response, given_by, present, response
from tailrace.study.definition.columns import RunStatus

LEVEL_WIDTH = 40


@dataclass(frozen=True)
class Measured:
    """`runs`: one row per run, as docs/reference/studies.md describes them.

    `plan` is what plan.json holds: name, description, paper, response, factors, study (with
    its [[expect]]).
    """

    plan: Mapping[str, Any]
    runs: pd.DataFrame
    environment: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def factors(self) -> list[StudyFactor]:
        return [_factor(planned) for planned in self.plan["factors"]]

    @cached_property
    def done(self) -> pd.DataFrame:
        """The finished runs; they have the study's response, be it that nothing was measured of
        it."""
        main = self.plan["response"]
        runs = self.runs[self.runs["status"] == RunStatus.DONE].reset_index(drop=True)
        return runs if main in runs else runs.assign(**{main: math.nan})

    @property
    def planned(self) -> int:
        """How many combinations the design has."""
        every = len(self.runs[[factor.name for factor in self.factors]].drop_duplicates())
        return max(len(self.plan.get("combinations", ())), every)

    @cached_property
    def response(self) -> Response:
        return self.response_of(self.plan["response"])

    @cached_property
    def responses(self) -> list[Response]:
        factors = [factor.name for factor in self.factors]
        return present(self.done, factors, self.response.column, self.given)

    @cached_property
    def given(self) -> Given:
        return given_by(self.plan["study"])

    def response_of(self, column: str) -> Response:
        return response(column, self.given)

    @cached_property
    def varied(self) -> list[StudyFactor]:
        return [factor for factor in self.factors if len(factor.levels) > 1]

    @cached_property
    def alike(self) -> list[str]:
        """The factors at whose levels runs scatter in ways of their own: the file systems."""
        return [factor.name for factor in self.factors if factor.kind in ("target", "read_target")]

    def factor(self, name: str) -> StudyFactor:
        for factor in self.factors:
            if factor.name == name:
                return factor
        names = ", ".join(factor.name for factor in self.factors)
        raise TailraceError(f"the study has no factor {printable(name)}", f"it has {names}")

    def table(self, column: str | Response | pd.Series) -> Layout:
        """Of a column, of which nothing may have been measured, or of numbers for each finished
        run."""
        name = column.column if isinstance(column, Response) else column
        return layout(self.done, self.factors, self.column(name) if isinstance(name, str) else name)

    def column(self, name: str) -> pd.Series:
        """Of the finished runs; NaN where there is no such column."""
        return self.done[name] if name in self.done else pd.Series(math.nan, index=self.done.index)

    @cached_property
    def axis(self) -> StudyFactor | None:
        """What goes along the horizontal axis: ranks or threads, else the numbers with most
        levels."""
        ranks = [factor for factor in self.varied if factor.kind in RANK_KINDS and factor.positive]
        numbers = [factor for factor in self.varied if factor.positive and len(factor.levels) > 2]
        return next(iter(ranks), None) or max(
            numbers, key=lambda factor: len(factor.levels), default=None
        )


def _factor(planned: Mapping[str, Any]) -> StudyFactor:
    levels = tuple(planned["levels"])
    texts = planned.get("labels") or [str(level) for level in levels]
    labels = {
        level: elided(printable(str(text)), LEVEL_WIDTH)
        for level, text in zip(levels, texts, strict=True)
    }
    return StudyFactor(
        planned["name"], planned["kind"], levels, printable(planned.get("unit", "")), labels
    )
