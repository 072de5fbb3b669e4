"""Where one level of a factor stops being better than another, along a numeric factor.

Between two measured levels the logarithm of the ratio is interpolated linearly in the logarithm of
the factor. The interval holds every place at which the ratio's own interval includes 1: Fieller's
construction, whose coverage is that of the interval it inverts. It may be open to a side: then the
measured levels do not bound the crossover there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import stats

from tailrace.study.analysis.intervals import LEVEL, NO_PRIOR, Prior, moderated, prior_of
from tailrace.study.analysis.layout import Curve

# Places looked at between two levels.
STEPS = 200


@dataclass(frozen=True)
class Crossover:
    """Below `at` the response of `first` is the lower one, above it that of `second`.

    `low`, `high`: the interval of `at`, None where the levels do not bound it. `between`: the
    measured levels around.
    """

    where: dict[str, Any]
    first: Any
    second: Any
    at: float
    low: float | None
    high: float | None
    between: tuple[Any, Any]
    blocks: int
    level: float = LEVEL


def prior(curves: Sequence[tuple[Curve, Curve]]) -> Prior:
    """From the ratios at every level in all these places."""
    rows = [row[np.isfinite(row)] for curve, other in curves for row in _ratios(curve, other)[1]]
    rows = [row for row in rows if len(row) > 1]
    if not rows:
        return NO_PRIOR
    return prior_of(
        np.array([np.var(row, ddof=1) for row in rows]), np.array([len(row) - 1 for row in rows])
    )


def crossovers(
    curve: Curve, other: Curve, names: tuple[Any, Any], known: Prior = NO_PRIOR
) -> list[Crossover]:
    """All places where the two curves change sides; their levels must be positive numbers.

    `names`: the levels that the curves belong to. Only such crossings are given of which both sides
    are certain somewhere: on each side there is a measured level at which the interval of the ratio
    excludes 1.
    """
    levels, ratios = _ratios(curve, other)
    whole = np.isfinite(ratios).all(axis=0)
    if len(levels) < 2 or whole.sum() < 2:
        return []
    band = _Band(np.log(np.array(levels, dtype=float)), ratios[:, whole], known)
    steps = np.flatnonzero(np.diff(np.sign(band.mean)) != 0)
    found = [band.crossing(int(step)) for step in steps]
    return [
        _named(crossing, curve, names, levels, int(whole.sum()))
        for crossing in found
        if crossing is not None
    ]


def _ratios(curve: Curve, other: Curve) -> tuple[list[Any], np.ndarray]:
    """Logarithms of one over other, levels × blocks, at the levels that both have."""
    levels = [level for level in curve.levels if level in other.levels]
    rows = [curve.at(level) - other.at(level) for level in levels]
    return levels, np.array(rows) if rows else np.empty((0, 0))


@dataclass(frozen=True)
class _Found:
    at: float
    low: float | None
    high: float | None
    rising: bool


class _Band:
    """The interpolated ratio with its interval, at many places between the levels."""

    def __init__(self, places: np.ndarray, ratios: np.ndarray, known: Prior) -> None:
        self.x = np.unique(
            np.concatenate([np.linspace(a, b, STEPS + 1) for a, b in pairwise(places)])
        )
        weights = np.array([np.interp(self.x, places, row) for row in np.eye(len(places))]).T
        by_block = weights @ ratios
        self.mean = by_block.mean(axis=1)
        self.half = self._half(by_block, np.sum(weights**2, axis=1), known)
        self.sides = np.where(
            self.mean - self.half > 0, 1, np.where(self.mean + self.half < 0, -1, 0)
        )

    @staticmethod
    def _half(by_block: np.ndarray, scale: np.ndarray, known: Prior) -> np.ndarray:
        blocks = by_block.shape[1]
        own = np.var(by_block, axis=1, ddof=1) / scale
        pairs = np.array([moderated(variance, blocks - 1, known) for variance in own])
        return stats.t.ppf(0.5 + LEVEL / 2, pairs[:, 1]) * np.sqrt(pairs[:, 0] * scale / blocks)

    def crossing(self, step: int) -> _Found | None:
        """That between place `step` and the next; None where a side is not certain anywhere."""
        a, b = self.mean[step], self.mean[step + 1]
        at = self.x[step] + (self.x[step + 1] - self.x[step]) * (
            abs(a) / (abs(a) + abs(b)) if a != b else 0.5
        )
        before, after = self.sides[: step + 1], self.sides[step + 1 :]
        left, right = np.flatnonzero(before != 0), np.flatnonzero(after != 0)
        sign = np.sign(b - a)
        low = None if not len(left) else float(np.exp(self.x[left[-1]]))
        high = None if not len(right) else float(np.exp(self.x[step + 1 + right[0]]))
        certain_before = len(left) and before[left[-1]] == -sign
        certain_after = len(right) and after[right[0]] == sign
        if not (certain_before or certain_after):
            return None
        if (len(left) and not certain_before) or (len(right) and not certain_after):
            return None
        return _Found(float(np.exp(at)), low, high, sign > 0)


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
