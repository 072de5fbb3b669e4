"""What a report speaks about: measured columns of the table of runs, and the numbers that a command
printed."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from tailrace import units
from tailrace.study.analysis.grammar import agreeing, is_plural
from tailrace.study.definition.columns import BY_NAME, COLUMNS
from tailrace.study.definition.model import ResponseDefinition

_ROUND = re.compile(r"\.0+(?=\D|$)")
# A column is worth a chart where at least this share of the finished runs has a positive number in
# it.
FILLED_ENOUGH = 0.5


@dataclass(frozen=True)
class Response:
    """A measured column. `more_is_better` of rates and efficiencies; None where nobody said which
    is better: then nothing beats anything. Times scale with 1 / ranks at best."""

    column: str
    words: str
    unit: str
    more_is_better: bool | None = None

    def verb(self, verb: str) -> str:
        """As its words ask for: `speed rises`, `requests rise`."""
        return agreeing(verb, is_plural(self.words))

    @property
    def pronoun(self) -> str:
        return "they" if is_plural(self.words) else "it"

    @property
    def is_share(self) -> bool:
        return self.unit == "share"

    @property
    def is_time(self) -> bool:
        return self.unit == "s"

    def text(self, value: float) -> str:
        """A value as people read it."""
        if self.unit == "s":
            return units.seconds(value)
        if self.unit == "share":
            return units.percent(value)
        if self.unit == "bytes":
            return units.byte_count(value)
        return f"{units.digits(value)} {self.unit}".strip()

    def tick(self, value: float) -> str:
        """The same on an axis, where values are round."""
        return _ROUND.sub("", self.text(value)) if value else "0"


SCALING = frozenset(column.name for column in COLUMNS if column.scales)
# Of a number that the user named the ending says the unit, but not which is better.
_ENDINGS = (("_mb_per_s", "MB/s"), ("_per_s", "1/s"), ("_bytes", "bytes"), ("_s", "s"))

# What a study file says of its program's numbers.
Given = Mapping[str, ResponseDefinition]


def response(column: str, given: Given) -> Response:
    """That of a column; of a number of the user's program, what the study file says of it."""
    if (known := BY_NAME.get(column)) is not None:
        return Response(column, known.words, known.unit, known.more_is_better)
    ending, unit = next((e for e in _ENDINGS if column.endswith(e[0])), ("", ""))
    words = column.removesuffix(ending).replace("_", " ")
    if (said := given.get(column)) is None:
        return Response(column, words, unit)
    more = None if said.better is None else said.better == "more"
    return Response(column, said.words or words, unit if said.unit is None else said.unit, more)


def given_by(study: Mapping[str, Any]) -> Given:
    """`study`: as in a plan."""
    tables = study.get("responses", {})
    return {name: ResponseDefinition.model_validate(table) for name, table in tables.items()}


def present(runs: pd.DataFrame, factors: list[str], main: str, given: Given) -> list[Response]:
    """The responses that these finished runs have something to say of, the main one first."""
    known = [column.name for column in COLUMNS if column.reported]
    others = [name for name in runs.columns if name not in BY_NAME and name not in factors]
    columns = dict.fromkeys([main, *known, *others])
    return [response(name, given) for name in columns if name == main or _worth(runs, name)]


def _worth(runs: pd.DataFrame, name: str) -> bool:
    if (
        name not in runs
        or not pd.api.types.is_numeric_dtype(runs[name])
        or pd.api.types.is_bool_dtype(runs[name])
    ):
        return False
    positive = runs[name].dropna()
    positive = positive[positive > 0]
    return len(positive) >= FILLED_ENOUGH * max(len(runs), 1) and positive.nunique() > 1
