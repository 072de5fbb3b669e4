"""Comparisons along one factor, made within blocks: drift between blocks and whatever a block has
in common cancels."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import linalg

from tailrace.study.analysis import first_runs
from tailrace.study.analysis.cells import Spread
from tailrace.study.analysis.first_runs import FirstRuns
from tailrace.study.analysis.intervals import (
    LEVEL,
    UNBOUNDED,
    Estimate,
    Prior,
    exact,
    of_blocks,
    prior_of,
)
from tailrace.study.analysis.layout import Curve

Weights = Mapping[Any, float]


def ratio(of: Any, to: Any) -> Weights:
    """The response at `of` over that at `to`."""
    return {of: 1.0, to: -1.0}


def slope(levels: Sequence[float]) -> Weights:
    """The exponent of a power law through these levels, by least squares on logarithms: the sum of
    weights is 0."""
    places = np.log(np.asarray(levels, dtype=float))
    centred = places - places.mean()
    return dict(zip(levels, centred / np.sum(centred**2), strict=True))


def by_block(curve: Curve, weights: Weights) -> np.ndarray:
    """The weighted sum of logarithms in each block that has all the levels; empty where a level is
    missing."""
    if any(level not in curve.levels for level in weights):
        return np.empty(0)
    values = np.sum([weight * curve.at(level) for level, weight in weights.items()], axis=0)
    return values[np.isfinite(values)]


def expected(curve: Curve, weights: Weights) -> Spread:
    """How such a comparison scatters there, relative to a typical run."""
    squares = [weights.get(level, 0.0) ** 2 for level in curve.levels]
    return curve.scatter.sums(np.array([squares]))


def margin(curve: Curve, weights: Weights) -> tuple[float, float]:
    """By how much less and more the weighted sum may be where levels were simulated: each
    simulation may be off in its own way."""
    ends = [
        [weight * end for end in curve.margin_at(level)][:: 1 if weight > 0 else -1]
        for level, weight in weights.items()
    ]
    return sum(low for low, _ in ends), sum(high for _, high in ends)


def scatter(curve: Curve) -> list[tuple[np.ndarray, float]]:
    """All that the runs of one curve say of the scatter of a typical one: orthonormal comparisons
    of its levels, in each block that is whole, and the scale of each. What a block has in common,
    and any true difference between levels, is not in their variances.
    """
    ran = curve.scatter.relative > 0
    whole = curve.logs[ran]
    whole = whole[:, np.isfinite(whole).all(axis=0)]
    if whole.shape[0] < 2 or whole.shape[1] < 2:
        return []
    rows = linalg.helmert(whole.shape[0])
    scales = curve.scatter.of(ran).sums(rows**2).relative
    return list(zip(rows @ whole, scales.tolist(), strict=True))


class Family:
    """The same factor in all places of a study. Places that share the levels of `alike` (the
    targets: each file system scatters in its own way) lend each other their variances.
    """

    def __init__(self, curves: Sequence[Curve], alike: Sequence[str] = ()) -> None:
        self.curves = list(curves)
        self.alike = [name for name in alike if self.curves and name in self.curves[0].where]
        self._priors: dict[tuple[Any, ...], Prior] = {}

    def compare(self, curve: Curve, weights: Weights, level: float = LEVEL) -> Estimate:
        """The ratio that `weights` say, in one place; of no block where a level is missing."""
        values = by_block(curve, weights)
        if not len(values):
            return exact(values)
        scatter = expected(curve, weights)
        (scale,), (doubt,) = scatter.relative, scatter.doubts
        found = (
            of_blocks(values, self.prior(curve), scale, level, doubt) if scale else exact(values)
        )
        found = _without_first_runs(found, curve, weights)
        return _with_bounds(found.widened(*margin(curve, weights)), curve, weights)

    def prior(self, curve: Curve) -> Prior:
        """Of the variance of a typical run where this curve is."""
        place = tuple(curve.where[name] for name in self.alike)
        if place not in self._priors:
            similar = [
                other
                for other in self.curves
                if tuple(other.where[name] for name in self.alike) == place
            ]
            samples = [sample for other in similar for sample in scatter(other)]
            variances = np.array([np.var(values, ddof=1) / of for values, of in samples])
            self._priors[place] = prior_of(
                variances, np.array([len(values) - 1 for values, _ in samples])
            )
        return self._priors[place]


def _without_first_runs(found: Estimate, curve: Curve, weights: Weights) -> Estimate:
    """Where slower first runs, and nothing else, would look like this, it is told as far as it is
    more; where what they take longer was taken out, as well as that is known."""
    for first, known in zip(curve.firsts, curve.first_runs, strict=True):
        shares = by_block(replace(curve, logs=first), weights)
        found = less_first_runs(found, shares, known)
    return found


def less_first_runs(found: Estimate, shares: np.ndarray, known: FirstRuns) -> Estimate:
    """The same of any comparison within blocks. `shares`: in each, how many more first runs the one
    side has."""
    if not found.known or not len(shares):
        return found
    if known.is_removed:
        return first_runs.with_error(found, float(np.mean(shares)), known)
    if first_runs.alone_say_so(shares):
        return first_runs.allowed_for(found, float(np.mean(shares)), known)
    return found


def _with_bounds(found: Estimate, curve: Curve, weights: Weights) -> Estimate:
    """A run that was ended took at least so long: the ratio is then at least, or at most, what the
    runs say."""
    ended = [weight for level, weight in weights.items() if found.blocks and curve.is_bound(level)]
    if any(weight > 0 for weight in ended):
        found = replace(found, high=UNBOUNDED)
    return replace(found, low=1 / UNBOUNDED) if any(weight < 0 for weight in ended) else found
