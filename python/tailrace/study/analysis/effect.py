"""One effect: what the means of the combinations say of it, its error over runs and from block to
block, and between which levels it is largest."""

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy import linalg, stats

from tailrace.study.analysis import box, first_runs
from tailrace.study.analysis.alike import Contrast
from tailrace.study.analysis.by_chance import BLOCKS_AT_LEAST, dealt_out_in_blocks
from tailrace.study.analysis.cells import Cells
from tailrace.study.analysis.intervals import LEVEL, Estimate, exponential
from tailrace.study.analysis.layout import Layout
from tailrace.study.analysis.model import Term

ERROR_RATE = 0.05
SHOWN_LEVELS, SHOWN_LEVELS_OF_THREE = 60, 10
# For each way of being the first, what the runs would be if nothing else took any time.
OnlyFirsts = tuple[Cells | None, ...]


@dataclass(frozen=True)
class Effect:
    """A factor, or two, or three. `p` is that of F from block to block, `p_runs` that of F over
    runs, `p_holm` the same corrected.

    `high` and `low` are the levels that differ most: of each factor, numbers of levels. `size` is
    the ratio of the response at `high` to that at `low`; of an interaction, that ratio of the first
    factor at the second's `high` over the same at its `low`. `size_said` is `size`, but from block
    to block where runs alone would say that it matters and blocks do not, as `p` is then. `share`
    is that of the variation of the logarithms in the study. `aliases`: interactions that a fraction
    of a design mixes up with it; `may_be_three`: whether three factors that act together would look
    like it. `may_be_first_runs`: whether it may be nothing but that first runs are slower, and
    `on_targets`, those on each target rather than those of blocks. `unlike_p`: that of its changing
    from block to block by more than runs scatter.
    """

    factors: tuple[str, ...]
    freedom: int
    f: float
    error_freedom: float
    p: float
    p_runs: float
    p_holm: float
    size: Estimate
    size_said: Estimate
    high: tuple[int, ...]
    low: tuple[int, ...]
    share: float
    aliases: tuple[tuple[str, ...], ...] = ()
    may_be_three: bool = False
    may_be_first_runs: bool = False
    on_targets: bool = False
    unlike_p: float = 1.0

    @property
    def matters(self) -> bool:
        return self.p_holm <= ERROR_RATE and self.p <= ERROR_RATE

    @property
    def p_said(self) -> float:
        """Of the two that it must pass, the larger."""
        return max(self.p_holm, self.p)

    @property
    def is_clear(self) -> bool:
        """Whether it matters, and more is known than that, or several levels leave open which of
        them differ."""
        return self.matters and (self.size_said.decided or self.freedom > 1)


class Fit:
    """One effect: what the means say of it, and its error, over runs and from block to block."""

    def __init__(
        self,
        table: Layout,
        found: Cells,
        firsts: OnlyFirsts,
        term: Term,
        rows: np.ndarray,
        contrast: Contrast | None = None,
    ) -> None:
        """`firsts`: what runs would be if being the first took time and nothing else did.
        `contrast`: between which levels its size is, where combinations are missing."""
        self.table, self.found, self.term, self.rows = table, found, term, rows
        self.firsts, self.contrast = firsts, contrast
        self.columns = len(rows)
        self.coefficients = rows @ found.means
        directions, _ = linalg.qr(rows.T, mode="economic")
        self.directions = directions
        self.runs = box.within(directions, found)
        self._between_blocks()

    def _between_blocks(self) -> None:
        """How the coefficients differ from block to block: gaps are filled by what the model of
        combinations and blocks says, and cost degrees of freedom (Yates), of which each direction
        has its part."""
        there = np.isfinite(self.found.residuals)
        blocks = there.shape[1]
        away = self.rows @ np.where(there, self.found.residuals, 0.0)
        factor = linalg.cholesky(self.rows @ self.rows.T, lower=True)
        white = linalg.solve_triangular(factor, away, lower=True)
        centre = linalg.solve_triangular(factor, self.coefficients, lower=True)
        directions = len(there) - 1
        self.blocks_freedom = max(self.columns * self.found.all_freedom / directions, 1.0)
        self.variance = float(np.sum(white**2)) / self.blocks_freedom
        between = blocks * float(np.sum(centre**2)) / self.columns
        self.blocks_f = _over(between, self.variance)
        self.blocks_p = float(stats.f.sf(self.blocks_f, self.columns, self.blocks_freedom))
        ratio = _over(self.variance / blocks, self.runs.scale)
        self.unlike_p = float(stats.f.sf(ratio, self.blocks_freedom, self.runs.error_freedom))
        self.of_blocks = self.unlike_p <= ERROR_RATE

    def effect(self) -> Effect:
        table, term = self.table, self.term
        weights, high, low = self._largest()
        doubted = self._may_be_first_runs()
        size, p = self._size(weights, doubted, self.of_blocks)
        differs = self.runs.p <= ERROR_RATE < self.blocks_p
        said = self._size(weights, doubted, True)[0] if differs else size
        if p <= ERROR_RATE and table.logs.shape[1] < BLOCKS_AT_LEAST:
            p = max(p, self._by_chance())
        by_runs = (self.runs.f, self.runs.error_freedom, self.runs.p)
        by_blocks = (self.blocks_f, self.blocks_freedom, max(self.blocks_p, self.runs.p))
        f, error_freedom, p_runs = by_blocks if self.of_blocks else by_runs
        return Effect(
            factors=tuple(table.factors[position].name for position in term.positions),
            freedom=self.columns,
            f=f,
            error_freedom=error_freedom,
            p=p,
            p_runs=p_runs,
            p_holm=math.nan,
            size=size,
            size_said=said,
            high=tuple(int(of[at]) for of, at in zip(term.levels, high, strict=True)),
            low=tuple(int(of[at]) for of, at in zip(term.levels, low, strict=True)),
            share=self._share(),
            may_be_first_runs=bool(doubted) and p > ERROR_RATE,
            on_targets=bool(doubted) and doubted[0][0] > 0,
            unlike_p=self.unlike_p,
        )

    def _may_be_first_runs(self) -> list[tuple[int, Cells]]:
        """The ways of being the first of which slower runs, and nothing else, would be taken for
        this effect."""
        if not self._passes:
            return []
        return [
            (way, first)
            for way, first in enumerate(self.firsts)
            if first is not None
            and Fit(self.table, first, (), self.term, self.rows, self.contrast)._passes
        ]

    def _by_chance(self) -> float:
        """Of two blocks: the runs of few combinations are alike in both, and differ within each, by
        chance, where a run takes longer now and then."""
        logs = self.found.means[:, None] + np.nan_to_num(self.found.residuals)
        return dealt_out_in_blocks(self.directions, logs)

    @property
    def _passes(self) -> bool:
        return max(self.runs.p, self.blocks_p) <= ERROR_RATE

    def _share(self) -> float:
        logs = self.table.logs
        runs = self.found.runs
        total = float(np.nansum((logs - np.nanmean(logs)) ** 2))
        fitted = self.term.columns @ self.coefficients
        noise = self.columns * self.runs.scale * float(runs.mean())
        share = _over(float(np.sum(runs * fitted**2)) - noise, total) if total else 0.0
        # where combinations are missing, the shares of effects overlap
        return min(max(share, 0.0), 1.0)

    def _largest(self) -> tuple[np.ndarray, tuple[int, ...], tuple[int, ...]]:
        """Of the combinations' means, what is the logarithm of the ratio between the levels that
        differ most; and these levels."""
        if self.contrast is not None:
            return self.contrast.weights, self.contrast.high, self.contrast.low
        high, low = _extremes(self.term, self.coefficients)
        weights = np.ones(1)
        for coding, i, j in zip(self.term.codings, high, low, strict=True):
            weights = np.outer(weights, coding[i] - coding[j]).reshape(-1)
        return weights @ self.rows, high, low

    def _size(
        self, weights: np.ndarray, doubted: list[tuple[int, Cells]], from_blocks: bool
    ) -> tuple[Estimate, float]:
        """Of a weighted sum of the combinations' means, with Scheffé's interval and what first runs
        leave open; and the p with which it remains, with these."""
        value = float(weights @ self.found.means)
        error, freedom = self._error(weights, from_blocks)
        scheffe = math.sqrt(self.columns * float(stats.f.ppf(LEVEL, self.columns, freedom)))
        size = Estimate(
            exponential(value),
            exponential(value - scheffe * error),
            exponential(value + scheffe * error),
            self.runs.p,
            self.table.logs.shape[1],
            freedom,
        )
        p = self.blocks_p
        for way, first in doubted:
            share = float(weights @ first.means)
            size = first_runs.allowed_for(size, share, self.table.first_runs[way])
            p = max(p, size.p)
        return size.widened(*_margin(weights, self.table.margins)), p

    def _error(self, weights: np.ndarray, from_blocks: bool) -> tuple[float, float]:
        """The standard error of this sum, and its degrees of freedom."""
        if not from_blocks:
            return box.of_contrast(weights, self.found)
        square = float(np.sum(weights**2)) * self.variance / self.table.logs.shape[1]
        return math.sqrt(square), self.blocks_freedom


def _margin(weights: np.ndarray, margins: np.ndarray) -> tuple[float, float]:
    """By how much a weighted sum of the combinations' means may be less and more than it is."""
    ends = weights[:, None] * margins
    return float(ends.min(axis=1).sum()), float(ends.max(axis=1).sum())


def _extremes(term: Term, coefficients: np.ndarray) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Places of the levels between which the fitted effect is largest; the ratio is above 1."""
    grid = coefficients.reshape([coding.shape[1] for coding in term.codings])
    for axis, coding in enumerate(term.codings):
        grid = np.moveaxis(np.tensordot(coding, grid, axes=(1, axis)), 0, axis)
    if grid.ndim == 1:
        return (int(grid.argmax()),), (int(grid.argmin()),)
    if grid.ndim == 2:
        return _widest(grid)[1:]
    grid = grid[(slice(None, SHOWN_LEVELS_OF_THREE),) * 3]
    pairs = combinations(range(grid.shape[2]), 2)
    found = [(_widest(grid[:, :, i] - grid[:, :, j]), i, j) for i, j in pairs]
    (_, high, low), i, j = max(found, key=lambda one: one[0][0])
    return (*high, i), (*low, j)


def _widest(grid: np.ndarray) -> tuple[float, tuple[int, ...], tuple[int, ...]]:
    """The two rows and columns between which the difference of the rows changes most."""
    best: tuple[float, tuple[int, ...], tuple[int, ...]] = (-1.0, (0, 0), (0, 0))
    for j, i in combinations(range(min(len(grid), SHOWN_LEVELS)), 2):
        difference = grid[i] - grid[j]
        a, b = int(difference.argmax()), int(difference.argmin())
        change = float(difference[a] - difference[b])
        best = max(best, (change, (i, a), (j, b)), key=lambda one: one[0])
    return best


def _over(part: float, whole: float) -> float:
    return part / whole if whole > 0 else math.inf if part > 0 else 0.0
