"""The runs of a study as an array: the logarithm of a response, combinations of levels × blocks."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from tailrace.study.analysis import cells, ended_early, first_runs, rounding
from tailrace.study.analysis.factors import StudyFactor
from tailrace.study.analysis.first_runs import FirstRuns, Firsts


@dataclass(frozen=True)
class Layout:
    """`codes`: combinations × factors, the number of each level. `logs`: combinations × blocks, NaN
    where no run finished.

    `runs`: the numbers of these runs, -1 where there is none. `censored`: where the logarithm is
    the least that it can be, of a run that was ended. `known_scatter`: `scatter` of the study
    that this is a part of. `balanced`: a fraction of all combinations, chosen so that the means
    over a factor's levels are comparable. `bands`: of combinations that were simulated, the
    logarithms between which their time lies, NaN of others; they have the same time in every block.
    `thinned`: combinations whose slow runs may be missing, so that their times are the least that
    they can be. `firsts`: which runs are the first of their block, and which the first on their
    target, and nothing went before them that could have warmed up what they use.
    `known_first_runs`: `first_runs` of the study that this is a part of. `step`: that in which a
    program prints its times, where it is coarse. `rounded`: of a quotient of such times, its
    `margins`. `missing`: by how much less and more each logarithm may be for runs that failed.
    """

    factors: tuple[StudyFactor, ...]
    codes: np.ndarray
    logs: np.ndarray
    runs: np.ndarray | None = None
    censored: np.ndarray | None = None
    known_scatter: cells.Spread | None = None
    balanced: bool = False
    bands: np.ndarray | None = None
    thinned: np.ndarray | None = None
    firsts: Firsts = ()
    known_first_runs: tuple[FirstRuns, ...] | None = None
    step: float = 0.0
    rounded: np.ndarray | None = None
    missing: np.ndarray | None = None

    @cached_property
    def first_runs(self) -> tuple[FirstRuns, ...]:
        """How much longer they take for being the first, for each way of `firsts`."""
        if self.known_first_runs is not None:
            return self.known_first_runs
        ran = ~self.simulated
        runs = self.logs[ran], self.spread[ran]
        return tuple(first_runs.estimated(first[ran], *runs) for first in self.firsts)

    @cached_property
    def without_first_runs(self) -> "Layout":
        """What first runs surely take longer is taken out; how well it is known remains."""
        ran = ~self.simulated
        if not any(known.is_sure for known in self.first_runs):
            return self
        firsts, logs = tuple(first[ran] for first in self.firsts), self.logs.copy()
        logs[ran], known = first_runs.all_taken_out(
            self.first_runs, firsts, logs[ran], self.spread[ran]
        )
        return replace(self, logs=logs, known_first_runs=known)

    def of_adaptive(self, least_blocks: int) -> "Layout":
        """With the scatter that runs have where the study ends once they seem to scatter little
        (ended_early.py), and the same margins."""
        ran, logs = ~self.simulated, self.logs.copy()
        times = ended_early.times_larger(logs[ran], least_blocks)
        logs[ran] = ended_early.with_scatter(logs[ran], self.spread[ran], times)
        rounded = self.margins if self.step else self.rounded
        return replace(self, logs=logs, rounded=rounded)

    @cached_property
    def scatter(self) -> cells.Spread:
        """How a run of each combination scatters, relative to others; what was simulated does
        not."""
        if self.known_scatter is not None:
            return self.known_scatter
        ran = ~self.simulated
        found = cells.spread(self.factors, self.codes[ran], self.logs[ran])
        relative, doubt = np.zeros(len(ran)), np.zeros((len(ran), found.doubt.shape[1]))
        relative[ran], doubt[ran] = found
        return cells.Spread(relative, doubt)

    @property
    def spread(self) -> np.ndarray:
        """The variance of a run of each combination, relative to that of others."""
        return self.scatter.relative

    @cached_property
    def deviations(self) -> np.ndarray:
        """How a run of each combination scatters, as a standard deviation; 0 where nothing says
        so."""
        ran, answer = ~self.simulated, np.zeros(len(self.codes))
        found = cells.cells(self.logs[ran], self.spread[ran])
        if found is not None:
            squares = np.nansum(found.residuals**2 / self.spread[ran][:, None])
            answer[ran] = np.sqrt(self.spread[ran] * squares / found.all_freedom)
        return answer

    @cached_property
    def adjusted(self) -> np.ndarray:
        """`logs` without what each block has in common."""
        ran, answer = ~self.simulated, self.logs.copy()
        answer[ran] -= cells.block_effects(self.logs[ran], self.spread[ran])
        return answer

    @cached_property
    def adjusted_firsts(self) -> Firsts:
        """Of each run, by how much of a first run's delay `adjusted` is longer."""
        ran, answers = ~self.simulated, []
        for first in self.firsts:
            answer = first_runs.among(first, self.logs)
            answer[ran] -= cells.block_effects(answer[ran], self.spread[ran])
            answers.append(answer)
        return tuple(answers)

    @cached_property
    def simulated(self) -> np.ndarray:
        """Which combinations were."""
        if self.bands is None:
            return np.zeros(len(self.codes), dtype=bool)
        return np.isfinite(self.bands).all(axis=1)

    @cached_property
    def margins(self) -> np.ndarray:
        """By how much the logarithm of each combination may be less (negative) and more than it is,
        for what its simulation leaves open, the step in which its times are printed, or the runs
        that it lacks."""
        answer = np.zeros((len(self.codes), 2))
        if self.rounded is not None:
            answer = self.rounded.copy()
        elif self.step:
            answer = rounding.margins(self.logs, self.step)
        if self.missing is not None:
            answer += self.missing
        if self.bands is not None:
            some = self.simulated
            means = np.nanmean(self.logs[some], axis=1, keepdims=True)
            answer[some] = self.bands[some] - means
        return answer

    @property
    def run_counts(self) -> np.ndarray:
        """How many runs each combination has; none where it was simulated."""
        return np.where(self.simulated, 0, np.isfinite(self.logs).sum(axis=1))

    @cached_property
    def bounds(self) -> np.ndarray:
        """Which combinations have a run that was ended before it was over, or lack slow ones."""
        ended = np.zeros(len(self.codes), dtype=bool)
        if self.censored is not None:
            ended |= np.any(self.censored, axis=1)
        return ended if self.thinned is None else ended | self.thinned

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
        """The combinations with these levels; a list stands for any of its levels that there
        are."""
        keep = np.ones(len(self.codes), dtype=bool)
        for name, wanted in where.items():
            levels = wanted if isinstance(wanted, list | tuple | set) else [wanted]
            known = self.factor(name).levels
            codes = [known.index(level) for level in levels if level in known]
            keep &= np.isin(self.codes[:, self.position(name)], codes)
        return self.among(keep)

    def among(self, keep: np.ndarray) -> "Layout":
        """Those of the combinations."""
        return Layout(
            self.factors,
            self.codes[keep],
            self.logs[keep],
            None if self.runs is None else self.runs[keep],
            None if self.censored is None else self.censored[keep],
            self.scatter.of(keep),
            self.balanced,
            None if self.bands is None else self.bands[keep],
            None if self.thinned is None else self.thinned[keep],
            tuple(first[keep] for first in self.firsts),
            self.first_runs,
            self.step,
            None if self.rounded is None else self.rounded[keep],
            None if self.missing is None else self.missing[keep],
        )

    def varied(self) -> tuple[StudyFactor, ...]:
        """The factors that have more than one level here."""
        return tuple(
            f
            for f, codes in zip(self.factors, self.codes.T, strict=True)
            if len(np.unique(codes)) > 1
        )


def layout(
    runs: pd.DataFrame,
    factors: Sequence[StudyFactor],
    values: str | pd.Series,
    censored: pd.Series | None = None,
    bands: pd.DataFrame | None = None,
    firsts: Sequence[frozenset[int]] = (),
) -> Layout:
    """Of the finished runs. `values`: a column, or a series aligned with `runs`; only positive ones
    have logarithms. `censored`: which values are the least that they can be. `bands`: between what
    values each simulated one lies. `firsts`: the numbers of the runs that are the first of their
    block, and of those that are the first on their target."""
    series = runs[values] if isinstance(values, str) else values
    numbers = pd.to_numeric(series, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    codes = np.column_stack([codes_of(runs[factor.name], factor) for factor in factors])
    usable = np.isfinite(numbers) & (numbers > 0) & (codes >= 0).all(axis=1)
    codes, numbers = codes[usable], numbers[usable]
    combinations, row = np.unique(codes, axis=0, return_inverse=True)
    blocks, column = np.unique(runs["block"].to_numpy()[usable], return_inverse=True)
    at = row.reshape(-1), column
    logs = np.full((len(combinations), len(blocks)), np.nan)
    logs[at] = np.log(numbers)
    numbered = np.full(logs.shape, -1)
    numbered[at] = runs["run"].to_numpy(dtype=np.int64)[usable]
    ended = np.zeros(logs.shape, dtype=bool)
    if censored is not None:
        ended[at] = censored.to_numpy(dtype=bool)[usable]
    found = Layout(tuple(factors), combinations, logs, numbered, ended)
    found = replace(found, firsts=tuple(np.isin(numbered, list(some)) for some in firsts if some))
    return found if bands is None else _with_bands(found, bands.to_numpy(dtype=float)[usable], at)


def _with_bands(found: Layout, bands: np.ndarray, at: tuple[np.ndarray, np.ndarray]) -> Layout:
    """`bands`: of each usable run, which is `at` a combination and a block."""
    some = np.isfinite(bands).all(axis=1)
    answer = np.full((len(found.codes), 2), np.nan)
    rows = at[0][some]
    answer[rows] = np.log(np.maximum(bands[some], np.finfo(float).tiny))
    logs = found.logs.copy()
    logs[rows] = np.nanmean(logs[rows], axis=1, keepdims=True)
    return replace(found, logs=logs, bands=answer)


def codes_of(column: pd.Series, factor: StudyFactor) -> np.ndarray:
    numbers = {level: number for number, level in enumerate(factor.levels)}
    return np.array([numbers.get(level, -1) for level in column.tolist()], dtype=np.int64)


@dataclass(frozen=True)
class Curve:
    """Logarithms along one factor in one place: levels × blocks, averaged over some of the other
    factors.

    `where` holds the levels of the factors that are not averaged over, `averaged` the number of
    combinations that were. `scatter`: how the values at each level do, relative to a run elsewhere.
    `bounds`: at which levels the values are the least that they can be. `margins`: by how much less
    and more they may be where they were simulated. `firsts`: which share of what was averaged are
    first runs, of their block or on their target, which take `first_runs` longer.
    """

    where: Mapping[str, Any]
    levels: tuple[Any, ...]
    logs: np.ndarray
    averaged: int = 1
    scatter: cells.Spread = cells.NO_SPREAD
    bounds: tuple[bool, ...] = ()
    margins: np.ndarray | None = None
    firsts: Firsts = ()
    first_runs: tuple[FirstRuns, ...] = ()

    def at(self, level: Any) -> np.ndarray:
        return self.logs[self.levels.index(level)]

    def margin_at(self, level: Any) -> tuple[float, float]:
        if self.margins is None:
            return 0.0, 0.0
        below, above = self.margins[self.levels.index(level)]
        return float(below), float(above)

    def is_bound(self, level: Any) -> bool:
        return bool(self.bounds) and self.bounds[self.levels.index(level)]

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
    rows = np.array([parts.index(tuple(row)) for row in codes[:, over]])
    columns = np.searchsorted(present, codes[:, along])
    stack = np.full((len(parts), len(present), table.logs.shape[1]), np.nan)
    bounds = np.zeros(stack.shape[:2], dtype=bool)
    margins = np.full((*stack.shape[:2], 2), np.nan)
    stack[rows, columns] = table.adjusted[combinations]
    bounds[rows, columns] = table.bounds[combinations]
    margins[rows, columns] = table.margins[combinations]
    firsts = []
    for adjusted in table.adjusted_firsts:
        firsts.append(np.full(stack.shape, np.nan))
        firsts[-1][rows, columns] = adjusted[combinations]
    kept = _with_all_levels(stack)
    averaged = np.isin(rows, kept)
    there = columns[averaged] == np.arange(len(present))[:, None]
    means = there / np.maximum(there.sum(axis=1, keepdims=True), 1)
    where = {
        table.factors[index].name: table.factors[index].levels[codes[0, index]] for index in others
    }
    number = len(kept)
    return Curve(
        where,
        tuple(table.factors[along].levels[code] for code in present),
        _mean(stack[kept], table.balanced),
        number,
        table.scatter.of(np.array(combinations)[averaged]).sums(means**2),
        tuple(bounds[kept].any(axis=0).tolist()),
        np.nanmean(margins[kept], axis=0),
        tuple(_mean(first[kept], table.balanced) for first in firsts),
        table.first_runs,
    )


def _with_all_levels(stack: np.ndarray) -> np.ndarray:
    """The parts that have every level in some block: all levels must mean the same parts. All of
    them where none has."""
    whole = np.isfinite(stack).any(axis=2).all(axis=1)
    return np.flatnonzero(whole) if whole.any() else np.arange(len(stack))


def _mean(stack: np.ndarray, balanced: bool) -> np.ndarray:
    """Over the first axis. Where a part lacks a run, the others say how the block differs from the
    mean: a run that failed costs itself."""
    counts = np.isfinite(stack).sum(axis=2)
    means = np.where(counts > 0, np.nansum(stack, axis=2) / np.maximum(counts, 1), np.nan)
    if balanced:
        known = np.maximum(np.isfinite(means).sum(axis=0), 1)
        means = np.where(np.isfinite(means), means, np.nansum(means, axis=0) / known)
    away = stack - means[:, :, None]
    there = np.isfinite(away).sum(axis=0)
    return np.where(
        there > 0,
        means.mean(axis=0)[:, None] + np.nansum(away, axis=0) / np.maximum(there, 1),
        np.nan,
    )
