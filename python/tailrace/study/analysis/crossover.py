"""Where one level of a factor stops being better than another, along a numeric factor.

A level is below another for sure at a measured place where the interval of their ratio excludes 1,
by Bonferroni's correction over all such comparisons of a report. They cross where each is below
the other for sure somewhere, and it is said how far each is; where only one ever is, from some
place on or up to it, that one has the lead there, and elsewhere the two cannot be told apart.

Between two measured levels the logarithm of the ratio is interpolated linearly in the logarithm of
the factor. The interval holds every place at which the ratio's own interval includes 1: Fieller's
construction, whose coverage is that of the interval it inverts.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import stats

from tailrace.study.analysis.cells import TINY, Spread
from tailrace.study.analysis.contrasts import less_first_runs
from tailrace.study.analysis.first_runs import FirstRuns
from tailrace.study.analysis.intervals import (
    LEVEL,
    NO_PRIOR,
    Estimate,
    Prior,
    from_error,
    moderated,
    prior_of,
)
from tailrace.study.analysis.layout import Curve

# Places looked at between two levels.
STEPS = 200


@dataclass(frozen=True)
class Crossover:
    """Below `at` the response of `first` is the lower one, above it that of `second`.

    `low`, `high`: the interval of `at`. `between`: the measured levels around. `gap`: the largest
    logarithm of their ratio that is certain at a measured level. `since`: from which level on it is
    so for `first`, `until`: up to which for `second`; None where it is as far as was measured.
    `before`, `after`: up to and from which level on they cannot be told apart there, where they
    cannot at any. What was measured is what was measured of both.
    """

    where: dict[str, Any]
    first: Any
    second: Any
    at: float
    low: float
    high: float
    between: tuple[Any, Any]
    blocks: int
    level: float = LEVEL
    gap: float = 0.0
    since: Any = None
    until: Any = None
    before: Any = None
    after: Any = None


@dataclass(frozen=True)
class Lead:
    """The response of `first` is lower than that of `second` for sure up to `until`, or from
    `since` on (the other is None); beyond, from `uncertain` on, the two cannot be told apart.
    `last`: the last level that both have, where one of them has further ones."""

    where: dict[str, Any]
    first: Any
    second: Any
    until: Any
    since: Any
    uncertain: Any
    blocks: int
    gap: float = 0.0
    last: Any = None


def prior(curves: Sequence[tuple[Curve, Curve]]) -> Prior:
    """From the ratios at every level in all these places."""
    found = [_ratios(curve, other) for curve, other in curves]
    rows = [
        (row[np.isfinite(row)], scale)
        for _, ratios, spread in found
        for row, scale in zip(ratios, spread.relative, strict=True)
    ]
    rows = [(row, scale) for row, scale in rows if len(row) > 1]
    if not rows:
        return NO_PRIOR
    return prior_of(
        np.array([np.var(row, ddof=1) / scale for row, scale in rows]),
        np.array([len(row) - 1 for row, _ in rows]),
    )


def overtaking(
    curve: Curve,
    other: Curve,
    names: tuple[Any, Any],
    known: Prior = NO_PRIOR,
    comparisons: int = 0,
) -> tuple[list[Crossover], Lead | None]:
    """All places where the two curves change sides for sure; or, where there is none, which of the
    two has the lead. Their levels must be positive numbers.

    `names`: the levels that the curves belong to. `comparisons`: of how many measured places, of
    all curves, something is to be said; these levels alone where it is not given.
    """
    compared = _Compared(curve, other, known, comparisons)
    crossings = [
        replace(
            _named(found, curve, names, compared.levels, compared.blocks),
            gap=compared.gap,
            **compared.reach(left, right),
        )
        for left, right, found in compared.crossings()
    ]
    if crossings:
        return crossings, None
    ahead = _lead(compared, curve, names)
    return [], None if ahead is None else replace(ahead, gap=compared.gap)


def _lead(compared: "_Compared", curve: Curve, names: tuple[Any, Any]) -> Lead | None:
    """Where one of the two is lower for sure, on one side, and nothing is sure on the other."""
    certain, levels = np.flatnonzero(compared.sides), compared.levels
    if not 0 < len(certain) < len(levels):
        return None
    first, second = names if compared.sides[certain[0]] < 0 else (names[1], names[0])
    where, blocks = dict(curve.where), compared.blocks
    if certain[-1] == len(certain) - 1:
        until, uncertain = levels[certain[-1]], levels[certain[-1] + 1]
        return Lead(where, first, second, until, None, uncertain, blocks)
    if certain[0] == len(levels) - len(certain):
        since, uncertain = levels[certain[0]], levels[certain[0] - 1]
        last = levels[-1] if compared.alone[1] else None
        return Lead(where, first, second, None, since, uncertain, blocks, last=last)
    return None


def _ratios(curve: Curve, other: Curve) -> tuple[list[Any], np.ndarray, Spread]:
    """Logarithms of one over other, levels × blocks, at the levels that both have, and how many
    times the variance of a typical run each has."""
    levels = [level for level in curve.levels if level in other.levels]
    rows = [curve.at(level) - other.at(level) for level in levels]
    both = [
        each.scatter.of(np.array([each.levels.index(level) for level in levels], dtype=int))
        for each in (curve, other)
    ]
    joined = Spread(*(np.concatenate(parts) for parts in zip(*both, strict=True)))
    spread = joined.sums(np.hstack([np.eye(len(levels))] * 2))
    return levels, np.array(rows) if rows else np.empty((0, 0)), spread


@dataclass(frozen=True)
class _Found:
    at: float
    low: float
    high: float
    rising: bool


class _Compared:
    """Two curves against each other: `sides` says at which measured levels the first is the lower
    one for sure (−1), or the other (1)."""

    def __init__(self, curve: Curve, other: Curve, known: Prior, comparisons: int) -> None:
        levels, ratios, spread = _ratios(curve, other)
        whole = np.isfinite(ratios).all(axis=0)
        self.blocks = int(whole.sum())
        enough = len(levels) > 1 and self.blocks > 1
        self.levels = levels if enough else []
        every = [*curve.levels, *other.levels]
        # whether one of the two has further levels, below and above, which the other has not
        self.alone = (min(every) < levels[0], max(every) > levels[-1]) if enough else (False, False)
        self.sides, self.gap = np.zeros(len(self.levels), dtype=int), 0.0
        self.places = np.log(np.array(self.levels, dtype=float))
        if enough:
            removed = _removed(curve, other, levels, whole)
            self.band = _Band(self.places, ratios[:, whole], spread, known, removed)
            wrong = (1 - LEVEL) / max(comparisons, len(levels))
            at = np.searchsorted(self.band.x, self.places)
            self.sides = self.band.sides(1 - wrong)[at]
            self.sides[self._doubtful(curve, other, at, 1 - wrong)] = 0
            self.sides[_hidden(self.levels, curve, self.sides < 0)] = 0
            self.sides[_hidden(self.levels, other, self.sides > 0)] = 0
            surely = self.band.surely(1 - wrong)[at][self.sides != 0]
            self.gap = float(surely.max(initial=0.0))

    def _doubtful(self, curve: Curve, other: Curve, at: np.ndarray, level: float) -> np.ndarray:
        """At which levels what seems certain may be nothing but that first runs of blocks are
        slower, or how times are rounded. `at`: where they are in the band."""
        found = np.zeros(len(self.levels), dtype=bool)
        for place in np.flatnonzero(self.sides):
            name = self.levels[place]
            ahead = self.band.estimate(int(at[place]), level)
            for first, its, known in zip(curve.firsts, other.firsts, curve.first_runs, strict=True):
                rows = first[curve.levels.index(name)], its[other.levels.index(name)]
                if known.is_removed:
                    continue  # its error is in the band
                shares = np.subtract(*rows)
                ahead = less_first_runs(ahead, shares[np.isfinite(shares)], known)
            (below, above), (less, more) = curve.margin_at(name), other.margin_at(name)
            found[place] = not ahead.widened(below - more, above - less).decided
        return found

    def crossings(self) -> list[tuple[int, int, _Found]]:
        """Between each level that is certain and the next that is certain of the opposite."""
        certain = [int(level) for level in np.flatnonzero(self.sides)]
        return [
            (left, right, self.band.crossing(self.places[left : right + 1]))
            for left, right in pairwise(certain)
            if self.sides[left] != self.sides[right]
        ]

    def reach(self, left: int, right: int) -> dict[str, Any]:
        """How far what is certain at these two levels is so at all others on their sides."""
        last, sides = len(self.levels) - 1, self.sides
        begin, end = left, right
        while begin > 0 and sides[begin - 1] == sides[left]:
            begin -= 1
        while end < last and sides[end + 1] == sides[right]:
            end += 1
        found: dict[str, Any] = {}
        if begin > 0 or self.alone[0]:
            found["since"] = self.levels[begin]
        if begin > 0 and not sides[:begin].any():
            found["before"] = self.levels[begin - 1]
        if end < last or self.alone[1]:
            found["until"] = self.levels[end]
        if end < last and not sides[end + 1 :].any():
            found["after"] = self.levels[end + 1]
        return found


def _hidden(levels: list[Any], curve: Curve, lower: np.ndarray) -> np.ndarray:
    """Where a curve that seems to be the lower one has runs that were ended: it may not be."""
    return lower & np.array([curve.is_bound(level) for level in levels])


def _removed(
    curve: Curve, other: Curve, levels: list[Any], whole: np.ndarray
) -> list[tuple[np.ndarray, FirstRuns]]:
    """Of each way of being the first of which what it takes longer was taken out: at each of these
    levels, how many more first runs the one curve has in a block."""
    rows = [each.levels.index(level) for each in (curve, other) for level in levels]
    mine, its = rows[: len(levels)], rows[len(levels) :]
    pairs = zip(curve.firsts, other.firsts, curve.first_runs, strict=True)
    return [
        ((first[mine] - second[its])[:, whole].mean(axis=1), known)
        for first, second, known in pairs
        if known.is_removed
    ]


class _Band:
    """The interpolated ratio with its interval, at many places between the levels. `removed`: what
    was taken out of the runs, as `_removed` has it, of which the error remains."""

    def __init__(
        self,
        places: np.ndarray,
        ratios: np.ndarray,
        spread: Spread,
        known: Prior,
        removed: Sequence[tuple[np.ndarray, FirstRuns]] = (),
    ) -> None:
        between = [np.linspace(a, b, STEPS + 1) for a, b in pairwise(places)]
        self.x = np.unique(np.concatenate([*between, places]))
        weights = np.array([np.interp(self.x, places, row) for row in np.eye(len(places))]).T
        by_block = weights @ ratios
        self.mean = by_block.mean(axis=1)
        scatter, blocks = spread.sums(weights**2), by_block.shape[1]
        self.blocks = blocks
        own = np.var(by_block, axis=1, ddof=1) / scatter.relative
        pairs = np.array(
            [
                moderated(variance, blocks - 1, known, doubt)
                for variance, doubt in zip(own, scatter.doubts, strict=True)
            ]
        )
        square = pairs[:, 0] * scatter.relative / blocks
        wobble = square**2 / pairs[:, 1]
        for shares, of in removed:
            more = (weights @ shares * of.error) ** 2
            square, wobble = square + more, wobble + more**2 / of.freedom
        self.freedom = np.where(wobble > 0, square**2 / np.maximum(wobble, TINY), pairs[:, 1])
        self.error = np.sqrt(square)

    def estimate(self, at: int, level: float) -> Estimate:
        """Of the ratio at one of `x`."""
        return from_error(
            float(self.mean[at]), float(self.error[at]), float(self.freedom[at]), self.blocks, level
        )

    def sides(self, level: float) -> np.ndarray:
        """Where the interval of that level is below 0 (−1) or above it (1)."""
        half = stats.t.ppf(0.5 + level / 2, self.freedom) * self.error
        return np.where(self.mean - half > 0, 1, np.where(self.mean + half < 0, -1, 0))

    def surely(self, level: float) -> np.ndarray:
        """How far from 0 it is at least."""
        half = stats.t.ppf(0.5 + level / 2, self.freedom) * self.error
        return np.maximum(np.abs(self.mean) - half, 0.0)

    def crossing(self, levels: np.ndarray) -> _Found:
        """Where the mean changes sides between the first and the last of these places, of which it
        is sure. The interval reaches from the first place to the last at which the ratio may be 1,
        and over the levels in between, of which nothing is sure."""
        inside = np.flatnonzero((self.x >= levels[0]) & (self.x <= levels[-1]))
        x, mean, sides = self.x[inside], self.mean[inside], self.sides(LEVEL)[inside]
        step = int(np.flatnonzero(np.diff(np.sign(mean)) != 0)[-1])
        a, b = mean[step], mean[step + 1]
        at = x[step] + (x[step + 1] - x[step]) * abs(a) / (abs(a) + abs(b))
        low = x[np.flatnonzero(sides != np.sign(mean[0]))[0] - 1]
        high = x[np.flatnonzero(sides != np.sign(mean[-1]))[-1] + 1]
        unsure = [at, *levels[1:-1]]
        bounds = _place(min(low, *unsure)), _place(max(high, *unsure))
        return _Found(_place(at), *bounds, bool(mean[-1] > 0))


def _place(logarithm: float) -> float:
    """Without what rounding adds: a measured level stays what it is, and e to the power of log 16
    is not below 16."""
    return float(f"{math.exp(logarithm):.12g}")


def _named(
    found: _Found, curve: Curve, names: tuple[Any, Any], levels: list[Any], blocks: int
) -> Crossover:
    """Where the ratio rises through 1, `one` is the lower before it."""
    first, second = names if found.rising else (names[1], names[0])
    below = max((level for level in levels if level <= found.at), default=levels[0])
    above = min((level for level in levels if level >= found.at), default=levels[-1])
    return Crossover(
        dict(curve.where), first, second, found.at, found.low, found.high, (below, above), blocks
    )
