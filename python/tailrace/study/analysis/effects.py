"""Which factors and which interactions matter, and by how much.

A linear model of logarithms (main effects and interactions of two) is fitted to the means of the
combinations; F allows for runs that scatter differently in each (box.py). What the combinations say
beyond that model is tested too: only where there is something, interactions of three are looked
for, and the combinations that still do not follow are named.

p values are Holm's over all effects of the response and the lack of fit: the chance that a study
without any effect is said to have one is at most 5 %. An effect must also pass an F whose error is
how it differs from block to block, uncorrected: a file system that was slow during one block only
differs within that block, and not in general. Where that error is surely larger than the scatter of
runs, it is the error.

Sizes are ratios between the levels that differ most, with Scheffé's interval, which allows for
having chosen them; of two levels it is Student's. Of an interaction it is the ratio of two such
ratios, of three factors the ratio of those. Where combinations are missing they are over the places
that have all levels in question (alike.py), and of levels that no place shares nothing is said.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from scipy import linalg, stats

from tailrace.study.analysis import alike, box, first_runs
from tailrace.study.analysis.alike import Contrast
from tailrace.study.analysis.by_chance import BLOCKS_AT_LEAST, dealt_out_in_blocks
from tailrace.study.analysis.cells import Cells, cells, smoothed
from tailrace.study.analysis.intervals import LEVEL, UNBOUNDED, Estimate, exponential, holm
from tailrace.study.analysis.layout import Layout
from tailrace.study.analysis.model import Model, Term, model, of_three, triples

ERROR_RATE = 0.05
SHOWN_LEVELS, SHOWN_LEVELS_OF_THREE = 60, 10
# So many combinations that do not follow the model are named.
STRANGE_AT_MOST = 3


@dataclass(frozen=True)
class Effect:
    """A factor, or two, or three. `p` is that of F from block to block, `p_runs` that of F over
    runs, `p_holm` the same corrected.

    `high` and `low` are the levels that differ most: of each factor, numbers of levels. `size` is
    the ratio of the response at `high` to that at `low`; of an interaction, that ratio of the first
    factor at the second's `high` over the same at its `low`. `share` is that of the variation of
    the logarithms in the study. `aliases`: interactions that a fraction of a design mixes up with
    it; `may_be_three`: whether three factors that act together would look like it.
    `may_be_first_runs`: whether it may be nothing but that first runs of blocks are slower.
    """

    factors: tuple[str, ...]
    freedom: int
    f: float
    error_freedom: float
    p: float
    p_runs: float
    p_holm: float
    size: Estimate
    high: tuple[int, ...]
    low: tuple[int, ...]
    share: float
    aliases: tuple[tuple[str, ...], ...] = ()
    may_be_three: bool = False
    may_be_first_runs: bool = False

    @property
    def matters(self) -> bool:
        return self.p_holm <= ERROR_RATE and self.p <= ERROR_RATE


@dataclass(frozen=True)
class Strange:
    """A combination that does not follow the model: the response over what the model says."""

    where: dict[str, object]
    ratio: float


@dataclass(frozen=True)
class LackOfFit:
    """What the combinations say beyond factors and interactions of two. `strange`: those that do
    not follow, where interactions of three do not explain it."""

    p_holm: float
    strange: tuple[Strange, ...] = ()

    @property
    def certain(self) -> bool:
        return self.p_holm <= ERROR_RATE


@dataclass(frozen=True)
class Analysis:
    """All effects of one response, the largest share first, and of how much of the study they
    are."""

    effects: tuple[Effect, ...]
    combinations: int
    combinations_all: int
    blocks: int
    not_estimable: tuple[tuple[str, ...], ...] = ()
    lack_of_fit: LackOfFit | None = None

    def find(self, *names: str) -> Effect | None:
        return next((effect for effect in self.effects if set(effect.factors) == set(names)), None)

    def act_together(self, *names: str) -> list[Effect]:
        """The interactions that matter and have all these factors."""
        return [
            effect
            for effect in self.effects
            if effect.matters
            and any(
                len(factors) > 1 and set(names) <= set(factors)
                for factors in (effect.factors, *effect.aliases)
            )
        ]

    @property
    def fits(self) -> bool:
        """Whether nothing is known that the effects do not say."""
        return self.lack_of_fit is None or not self.lack_of_fit.strange


def analyse(table: Layout, interactions: bool = True) -> Analysis:
    """Main effects, interactions of two, and of three where the first two do not suffice; without
    `interactions` the factors alone.

    Needs two runs of some combination; without, there are no effects.
    """
    if table.bounds.any():
        return _with_bounds(table, interactions)
    return _analyse(table, interactions)


def _with_bounds(table: Layout, interactions: bool) -> Analysis:
    """Where runs were ended before they were over, or slow ones are missing: a ceiling changes
    every effect and makes interactions where there are none. So the combinations that have no such
    run are analysed; of a level that has no others it is said that it takes so much longer at
    least, where the runs that it is compared with have all ended.
    """
    free = table.among(~table.bounds)
    found = _analyse(free, interactions)
    whole = _analyse(replace(table, censored=None, thinned=None), interactions)
    lost = {
        factor.name
        for factor, all_, left in zip(table.factors, table.codes.T, free.codes.T, strict=True)
        if len(np.unique(all_)) > len(np.unique(left))
    }
    at_least = [
        replace(effect, size=replace(effect.size, high=UNBOUNDED), aliases=())
        for effect in whole.effects
        if len(effect.factors) == 1
        and effect.factors[0] in lost
        and effect.matters
        and effect.size.low > 1
        and not _any_bound(table, effect.factors[0], effect.low[0])
    ]
    names = {effect.factors for effect in at_least}
    effects = [*at_least, *(effect for effect in found.effects if effect.factors not in names)]
    estimated = {effect.factors for effect in found.effects}
    missing = [each.factors for each in whole.effects if len(each.factors) == 2]
    return replace(
        found,
        effects=tuple(sorted(effects, key=lambda effect: -effect.share)),
        combinations_all=len(table.codes),
        not_estimable=tuple(
            dict.fromkeys([*found.not_estimable, *(f for f in missing if f not in estimated)])
        ),
    )


def _any_bound(table: Layout, name: str, code: int) -> bool:
    return bool(table.bounds[table.codes[:, table.position(name)] == code].any())


def _analyse(table: Layout, interactions: bool) -> Analysis:
    combinations_all, blocks = table.logs.shape
    known = np.isfinite(table.logs).any(axis=1)
    table = Layout(
        table.factors,
        table.codes[known],
        table.logs[known],
        balanced=table.balanced,
        first=None if table.first is None else table.first[known],
        step=table.step,
    )
    enough = blocks > 1 and len(table.codes) > 1
    found = cells(table.logs, table.spread) if enough else None
    if found is None:
        return Analysis((), len(table.codes), combinations_all, blocks)
    found = smoothed(found, table.spread)
    first = _first_runs(table)
    fitted = model(table.codes, interactions=interactions)
    if first is not None and not table.first_runs.known:
        known = first_runs.beside(fitted.basis, first.means, found.means)
        table = replace(table, known_first_runs=known)
    told, apart = _comparable(fitted, table, found)
    effects = [_Fit(table, found, first, *each).effect() for each in told]
    lack = _lack_of_fit(fitted, found)
    if lack is not None and lack <= ERROR_RATE and first is not None:
        lack = _lack_without_first_runs(fitted, table, first, lack)
    raw = [effect.p_runs for effect in effects] + ([] if lack is None else [lack])
    corrected = [float(p) for p in holm(raw)]
    effects = _corrected(effects, corrected[: len(effects)])
    misfit = None
    if lack is not None:
        misfit, more = _explained(table, found, first, corrected[-1], interactions)
        effects += more
    if table.balanced:
        effects = [_with_aliases(effect, fitted, table) for effect in effects]
    return Analysis(
        tuple(sorted(effects, key=lambda effect: -effect.share)),
        len(table.codes),
        combinations_all,
        blocks,
        tuple(tuple(table.factors[i].name for i in term) for term in (*apart, *fitted.left_out)),
        misfit,
    )


def _corrected(effects: Sequence[Effect], p: Sequence[float]) -> list[Effect]:
    return [replace(effect, p_holm=one) for effect, one in zip(effects, p, strict=True)]


def _pairs(fitted: Model) -> list[tuple[Term, np.ndarray]]:
    return list(zip(fitted.terms, fitted.rows, strict=True))


def _comparable(
    fitted: Model, table: Layout, found: Cells
) -> tuple[list[tuple[Term, np.ndarray, Contrast | None]], list[tuple[int, ...]]]:
    """The terms of which something can be said, with the levels that differ most where these have
    to be compared place by place; and those whose levels were nowhere run with everything else
    alike."""
    told, apart = [], []
    for term, rows in _pairs(fitted):
        is_gappy = _is_gappy(table, term)
        contrast = alike.widest(table.codes, term.positions, found.means) if is_gappy else None
        if is_gappy and contrast is None:
            apart.append(term.positions)
        else:
            told.append((term, rows, contrast))
    return told, apart


def _is_gappy(table: Layout, term: Term) -> bool:
    """Whether its levels have to be compared place by place, as combinations are missing."""
    if table.balanced or alike.is_whole(table.codes):
        return False
    return term.partial or len(term.positions) == 1


def _lack_of_fit(fitted: Model, found: Cells) -> float | None:
    """p; None where the model says all that there is to say."""
    if len(fitted.basis) <= fitted.basis.shape[1]:
        return None
    return box.beyond(fitted.basis, found).p


def _first_runs(table: Layout) -> Cells | None:
    """What the runs would be if nothing but being the first of a block took any time."""
    if table.first is None:
        return None
    found = cells(first_runs.among(table.first, table.logs), table.spread)
    return None if found is None else smoothed(found, table.spread)


def _lack_without_first_runs(fitted: Model, table: Layout, first: Cells, lack: float) -> float:
    """p, where slower first runs alone would make it small: of what is left without them, as far as
    that is known."""
    only, known = _lack_of_fit(fitted, first), table.first_runs
    if table.first is None or only is None or only > ERROR_RATE:
        return lack
    left = cells(table.logs - known.value * table.first, table.spread) if known.known else None
    without = None if left is None else _lack_of_fit(fitted, smoothed(left, table.spread))
    return 1.0 if without is None else max(lack, without)


def _with_aliases(effect: Effect, fitted: Model, table: Layout) -> Effect:
    names = [factor.name for factor in table.factors]
    for term in fitted.terms:
        if tuple(names[i] for i in term.positions) == effect.factors:
            mixed = fitted.aliases(term, table.codes)
            return replace(
                effect,
                aliases=tuple(tuple(names[i] for i in one) for one in mixed),
                may_be_three=of_three(table.codes, term.columns),
            )
    return effect


def _explained(
    table: Layout, found: Cells, first: Cells | None, p: float, interactions: bool
) -> tuple[LackOfFit, list[Effect]]:
    """Which interactions of three explain the lack of fit, and what remains then. They are looked
    for only where there is one for certain, so that p is Holm's over them alone."""
    if p > ERROR_RATE:
        return LackOfFit(p), []
    if not interactions:
        return LackOfFit(p, _strange(table, found, model(table.codes, (), False).basis)), []
    whole = model(table.codes, () if table.balanced else triples(table.codes))
    of_three = [pair for pair in _pairs(whole) if len(pair[0].positions) == 3]
    effects = [_Fit(table, found, first, *pair).effect() for pair in of_three]
    effects = _corrected(effects, [float(one) for one in holm([e.p_runs for e in effects])])
    certain = tuple(
        pair[0].positions for pair, effect in zip(of_three, effects, strict=True) if effect.matters
    )
    with_them = model(table.codes, certain)
    left = _lack_of_fit(with_them, found)
    if left is None or (certain and left > ERROR_RATE):
        return LackOfFit(p), effects
    return LackOfFit(p, _strange(table, found, with_them.basis)), effects


def _strange(table: Layout, found: Cells, basis: np.ndarray) -> tuple[Strange, ...]:
    """The combinations that lie farthest from the model, in units of their errors."""
    away = found.means - basis @ (basis.T @ found.means)
    # what a single odd combination does to its own residual
    freedom = np.maximum(1 - np.sum(basis**2, axis=1), 1e-9)
    least = max(float(np.median(found.squared_errors)), np.finfo(float).tiny)
    surely = np.abs(away) / np.sqrt(np.maximum(found.squared_errors, least) * freedom)
    chosen = np.argsort(-surely)[:STRANGE_AT_MOST]
    return tuple(Strange(table.where[at], math.exp(away[at] / freedom[at])) for at in chosen)


class _Fit:
    """One effect: what the means say of it, and its error, over runs and from block to block."""

    def __init__(
        self,
        table: Layout,
        found: Cells,
        first: Cells | None,
        term: Term,
        rows: np.ndarray,
        contrast: Contrast | None = None,
    ) -> None:
        """`first`: what runs would be if being the first of a block took time and nothing else did.
        `contrast`: between which levels its size is, where combinations are missing."""
        self.table, self.found, self.term, self.rows = table, found, term, rows
        self.first, self.contrast = first, contrast
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
        self.of_blocks = bool(
            stats.f.sf(ratio, self.blocks_freedom, self.runs.error_freedom) <= ERROR_RATE
        )

    def effect(self) -> Effect:
        table, term = self.table, self.term
        weights, high, low = self._largest()
        size, p, doubted = self._size(weights), self.blocks_p, self._may_be_first_runs()
        if doubted and self.first is not None:
            size = first_runs.allowed_for(size, float(weights @ self.first.means), table.first_runs)
            p = max(p, size.p)
        size = size.widened(*_margin(weights, table.margins))
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
            high=tuple(int(of[at]) for of, at in zip(term.levels, high, strict=True)),
            low=tuple(int(of[at]) for of, at in zip(term.levels, low, strict=True)),
            share=self._share(),
            may_be_first_runs=doubted and p > ERROR_RATE,
        )

    def _may_be_first_runs(self) -> bool:
        """Whether first runs that are slower, and nothing else, would be taken for this effect."""
        if self.first is None or not self._passes:
            return False
        return _Fit(self.table, self.first, None, self.term, self.rows, self.contrast)._passes

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
        return max(0.0, _over(float(np.sum(runs * fitted**2)) - noise, total)) if total else 0.0

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

    def _size(self, weights: np.ndarray) -> Estimate:
        """Of a weighted sum of the combinations' means, with Scheffé's interval."""
        value, (error, freedom) = float(weights @ self.found.means), self._error(weights)
        scheffe = math.sqrt(self.columns * float(stats.f.ppf(LEVEL, self.columns, freedom)))
        return Estimate(
            exponential(value),
            exponential(value - scheffe * error),
            exponential(value + scheffe * error),
            self.runs.p,
            self.table.logs.shape[1],
            freedom,
        )

    def _error(self, weights: np.ndarray) -> tuple[float, float]:
        """The standard error of this sum, and its degrees of freedom."""
        if not self.of_blocks:
            return box.of_contrast(weights, self.found)
        blocks = self.table.logs.shape[1]
        square = float(np.sum(weights**2)) * self.variance / blocks
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
