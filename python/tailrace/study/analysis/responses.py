"""What a report speaks about: measured columns of the table of runs, and the numbers that a command
printed."""

import re
from dataclasses import dataclass

import pandas as pd

from tailrace import units
from tailrace.study.definition.columns import BY_NAME, COLUMNS

_ROUND = re.compile(r"\.0+(?=\D|$)")
# A column is worth a chart where at least this share of the finished runs has a positive number in
# it.
FILLED_ENOUGH = 0.5


@dataclass(frozen=True)
class Response:
    """A measured column. `more_is_better` of rates and efficiencies; times scale with 1 / ranks at
    best."""

    column: str
    words: str
    unit: str
    more_is_better: bool = False

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
_ENDINGS = (
    ("_mb_per_s", "MB/s", True),
    ("_per_s", "1/s", True),
    ("_bytes", "bytes", False),
    ("_s", "s", False),
)


def response(column: str) -> Response:
    """That of a column; of a number that the user named, what its ending says of its unit."""
    if (known := BY_NAME.get(column)) is not None:
        return Response(column, known.words, known.unit, known.more_is_better)
    for ending, unit, more in _ENDINGS:
        if column.endswith(ending):
            return Response(column, column.removesuffix(ending).replace("_", " "), unit, more)
    return Response(column, column.replace("_", " "), "")


def present(runs: pd.DataFrame, factors: list[str], main: str) -> list[Response]:
    """The responses that these finished runs have something to say of, the main one first."""
    known = [column.name for column in COLUMNS if column.reported]
    others = [name for name in runs.columns if name not in BY_NAME and name not in factors]
    columns = dict.fromkeys([main, *known, *others])
    return [response(name) for name in columns if name == main or _worth(runs, name)]


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
