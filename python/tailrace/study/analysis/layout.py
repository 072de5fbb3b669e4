"""The runs of a study as an array: the logarithm of a response, combinations of levels × blocks."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

RANK_KINDS = ("ranks", "threads")


@dataclass(frozen=True)
class StudyFactor:
    """What is varied: its levels in the study's order, and the texts that the study gives them."""

    name: str
    kind: str
    levels: tuple[Any, ...]
    unit: str = ""
    labels: Mapping[Any, str] = field(default_factory=dict)

    @property
    def numeric(self) -> bool:
        """Whether it makes sense to speak of what lies between two levels."""
        return all(
            isinstance(level, int | float) and not isinstance(level, bool) for level in self.levels
        )

    @property
    def positive(self) -> bool:
        return self.numeric and min(self.levels) > 0


@dataclass(frozen=True)
class Layout:
    """`codes`: combinations × factors, the number of each level. `logs`: combinations × blocks, NaN
    where no run
    finished.

    `runs`: the numbers of these runs, -1 where there is none.
    """

    factors: tuple[StudyFactor, ...]
    codes: np.ndarray
    logs: np.ndarray
    runs: np.ndarray | None = None

    def position(self, name: str) -> int:
        return next(index for index, factor in enumerate(self.factors) if factor.name == name)

    def factor(self, name: str) -> StudyFactor:
        return self.factors[self.position(name)]

    @cached_property
    def where(self) -> list[dict[str, Any]]:
        """The levels of each combination."""
        return [
            {
                factor.name: factor.levels[code]
                for factor, code in zip(self.factors, row, strict=True)
            }
            for row in self.codes
        ]

    def restricted(self, where: Mapping[str, Any]) -> "Layout":
        """The combinations with these levels; a list stands for any of its levels."""
        keep = np.ones(len(self.codes), dtype=bool)
        for name, wanted in where.items():
            levels = wanted if isinstance(wanted, list | tuple | set) else [wanted]
            codes = [self.factor(name).levels.index(level) for level in levels]
            keep &= np.isin(self.codes[:, self.position(name)], codes)
        return Layout(
            self.factors,
            self.codes[keep],
            self.logs[keep],
            None if self.runs is None else self.runs[keep],
        )

    def varied(self) -> tuple[StudyFactor, ...]:
        """The factors that have more than one level here."""
        return tuple(
            f
            for f, codes in zip(self.factors, self.codes.T, strict=True)
            if len(np.unique(codes)) > 1
        )


def layout(runs: pd.DataFrame, factors: Sequence[StudyFactor], values: str | pd.Series) -> Layout:
    """Of the finished runs. `values`: a column, or a series aligned with `runs`; only positive ones
    have logarithms."""
    series = runs[values] if isinstance(values, str) else values
    numbers = pd.to_numeric(series, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    codes = np.column_stack([_codes(runs[factor.name], factor) for factor in factors])
    usable = np.isfinite(numbers) & (numbers > 0) & (codes >= 0).all(axis=1)
    codes, numbers = codes[usable], numbers[usable]
    combinations, row = np.unique(codes, axis=0, return_inverse=True)
    blocks, column = np.unique(runs["block"].to_numpy()[usable], return_inverse=True)
    logs = np.full((len(combinations), len(blocks)), np.nan)
    logs[row.reshape(-1), column] = np.log(numbers)
    numbered = np.full(logs.shape, -1)
    numbered[row.reshape(-1), column] = runs["run"].to_numpy(dtype=np.int64)[usable]
    return Layout(tuple(factors), combinations, logs, numbered)


def _codes(column: pd.Series, factor: StudyFactor) -> np.ndarray:
    numbers = {level: number for number, level in enumerate(factor.levels)}
    return np.array([numbers.get(level, -1) for level in column.tolist()], dtype=np.int64)


@dataclass(frozen=True)
class Curve:
    """Logarithms along one factor in one place: levels × blocks, averaged over some of the other
    factors.

    `where` holds the levels of the factors that are not averaged over, `averaged` the number of
    combinations that were.
    """

    where: Mapping[str, Any]
    levels: tuple[Any, ...]
    logs: np.ndarray
    averaged: int = 1

    def at(self, level: Any) -> np.ndarray:
        return self.logs[self.levels.index(level)]

    def means(self) -> np.ndarray:
        """Mean logarithm of each level over the blocks that have it."""
        counts = np.isfinite(self.logs).sum(axis=1)
        return np.where(counts > 0, np.nansum(self.logs, axis=1) / np.maximum(counts, 1), np.nan)


def curves(table: Layout, name: str, averaged: Iterable[str] = ()) -> list[Curve]:
    """One for each combination of the other factors that are not averaged over; levels in the
    factor's order."""
    along, over = table.position(name), [table.position(other) for other in averaged]
    others = [index for index in range(len(table.factors)) if index != along and index not in over]
    places: dict[tuple[int, ...], list[int]] = {}
    for combination, row in enumerate(table.codes):
        places.setdefault(tuple(row[others]), []).append(combination)
    return [
        _curve(table, along, over, others, combinations)
        for _, combinations in sorted(places.items())
    ]


def _curve(
    table: Layout, along: int, over: list[int], others: list[int], combinations: list[int]
) -> Curve:
    codes = table.codes[combinations]
    present = np.unique(codes[:, along])
    parts = [tuple(part) for part in np.unique(codes[:, over], axis=0)]
    stack = np.full((len(parts), len(present), table.logs.shape[1]), np.nan)
    for combination, row in zip(combinations, codes, strict=True):
        stack[parts.index(tuple(row[over])), np.searchsorted(present, row[along])] = table.logs[
            combination
        ]
    logs, number = _mean(stack)
    where = {
        table.factors[index].name: table.factors[index].levels[codes[0, index]] for index in others
    }
    return Curve(where, tuple(table.factors[along].levels[code] for code in present), logs, number)


def _mean(stack: np.ndarray) -> tuple[np.ndarray, int]:
    """Over the first axis, of the parts that have every level in some block: all levels must mean
    the same parts."""
    whole = [part for part in stack if np.isfinite(part).any(axis=1).all()]
    parts = np.array(whole) if whole else stack
    return np.mean(parts, axis=0), len(parts)
