"""What the runs of each combination say by themselves: a mean, and how single runs scatter.

Blocks may lack runs. What a block has in common is estimated from all runs of the study by least
squares (combination + block) and taken out, so that a run that failed costs itself and nothing
else.

How much runs scatter is a property of the place: ten times as many ranks scatter more, one file
system more than another. The logarithm of the variances is fitted by the factors' levels, each
factor's part shrunk towards none by how surely it is there (James and Stein), as voom and limma do
with the intensity of a gene. Source: C. W. Law, Y. Chen, W. Shi, G. K. Smyth, "voom: precision
weights unlock linear model analysis tools for RNA-seq read counts", Genome Biology 15 (2014) R29.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy import special

from tailrace.study.analysis import intervals
from tailrace.study.analysis.factors import StudyFactor

# A variance of exactly zero is the rounding of a clock, not certainty.
LEAST = 1e-5
# Less than so much of a degree of freedom says nothing of a variance.
LEAST_FREEDOM = 0.05
PASSES = 3
TINY = np.finfo(float).tiny


@dataclass(frozen=True)
class Cells:
    """Of combinations that have a run. `means`: mean logarithms; `residuals`: combinations ×
    blocks, NaN where there is no run; `variances`: of a single run, over `freedom` degrees (NaN
    over 0 where there is one run only); `smooth`: the same with what combinations lend each other;
    `all_freedom`: what all of them rest on; `of_blocks`: combinations × blocks and more, whose
    product with itself is what the means' covariances have from the blocks' not being known
    (nothing, where no run is missing), and what first runs take longer."""

    means: np.ndarray
    residuals: np.ndarray
    runs: np.ndarray
    variances: np.ndarray
    smooth: np.ndarray
    freedom: np.ndarray
    all_freedom: float
    of_blocks: np.ndarray

    @property
    def squared_errors(self) -> np.ndarray:
        """The variance of each mean."""
        return self.variances / self.runs

    @property
    def smooth_errors(self) -> np.ndarray:
        """The same from smoothed variances."""
        return self.smooth / self.runs


def block_effects(logs: np.ndarray, spread: np.ndarray | None = None) -> np.ndarray:
    """What each block adds to all its runs, by least squares weighted with the inverse of `spread`;
    their sum is 0."""
    return _block_effects(logs, np.ones(len(logs)) if spread is None else spread)[0]


def _block_effects(logs: np.ndarray, spread: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """With their covariance, in units of the variance that `spread` is relative to."""
    there = np.isfinite(logs)
    if not there.any():
        return np.zeros(logs.shape[1]), np.zeros((logs.shape[1],) * 2)
    weights = there / spread[:, None]
    totals = np.maximum(weights.sum(axis=1), 1e-300)
    known = np.where(there, logs, 0.0)
    centred = weights * (known - ((weights * known).sum(axis=1) / totals)[:, None])
    normal = np.diag(weights.sum(axis=0)) - (weights / totals[:, None]).T @ weights
    covariance = np.linalg.pinv(normal)
    effects = covariance @ centred.sum(axis=0)
    return effects - effects.mean(), covariance


def cells(logs: np.ndarray, spread: np.ndarray | None = None) -> Cells | None:
    """None where no combination has two runs. Every combination must have one. `spread`: how runs
    scatter in each, relative to others."""
    there = np.isfinite(logs)
    runs = there.sum(axis=1)
    if not len(runs) or runs.max(initial=0) < 2:
        return None
    spread = np.ones(len(runs)) if spread is None else spread
    effects, covariance = _block_effects(logs, spread)
    adjusted = logs - effects
    means = np.nanmean(adjusted, axis=1)
    residuals = adjusted - means[:, None]
    freedom = _freedom(there, spread, covariance)
    all_freedom = float(freedom.sum())
    if not all_freedom:
        return None
    squares = np.nansum(residuals**2, axis=1)
    variances = squares / np.where(freedom > 0, freedom, np.nan)
    values, vectors = np.linalg.eigh(covariance * float(np.sum(squares / spread)) / all_freedom)
    of_blocks = (there / runs[:, None]) @ vectors * np.sqrt(np.maximum(values, 0.0))
    return Cells(means, residuals, runs, variances, variances, freedom, all_freedom, of_blocks)


def _freedom(there: np.ndarray, spread: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """What each combination's own mean and its part of the blocks leave of its runs: one that is
    alone in its block says nothing but what that block is. The sum over its runs of 1 less the
    weight that each has in its own fit (leverage). `covariance`: of the blocks."""
    if len(there) < 2:
        return np.maximum(there.sum(axis=1) - 1.0, 0.0)
    runs = there.sum(axis=1, keepdims=True)
    shares = there / runs
    through = shares @ covariance
    own = np.sum(through * shares, axis=1, keepdims=True)
    blocks = (np.diag(covariance) - 2 * through + own) / spread[:, None]
    freedom = np.sum(there * (1 - 1 / runs - blocks), axis=1)
    return np.where(freedom > LEAST_FREEDOM, freedom, 0.0)


def smoothed(found: Cells, relative: np.ndarray) -> Cells:
    """With `smooth`: variances that lend each other what they know, as far as they are alike beside
    what `relative` says of each (`spread`); combinations of one run have no other."""
    known = found.freedom > 0
    own = np.where(known, found.variances / relative, 0.0)
    prior = intervals.prior_of(own[known], found.freedom[known])
    pooled = float(np.sum((own * found.freedom)[known])) / found.all_freedom
    if prior.freedom == 0:
        smooth = np.where(known, own, pooled)
    else:
        pairs = zip(own, found.freedom, strict=True)
        smooth = np.array([intervals.moderated(float(v), float(f), prior)[0] for v, f in pairs])
    smooth = smooth * relative
    variances = np.where(known, found.variances, smooth)
    return replace(found, variances=variances, smooth=smooth)


class Spread(NamedTuple):
    """How single runs of each combination scatter, relative to those of others.

    `relative`: the variance; 1 where nothing is known. `doubt`: combinations × directions, whose
    product with itself is the covariance of the logarithms of `relative`, as far as these were
    fitted to the same runs.
    """

    relative: np.ndarray
    doubt: np.ndarray

    def of(self, kept: np.ndarray) -> "Spread":
        return Spread(self.relative[kept], self.doubt[kept])

    def sums(self, squares: np.ndarray) -> "Spread":
        """Of weighted sums of runs. `squares`: sums × combinations, of the weights."""
        parts = squares * self.relative
        whole = parts.sum(axis=1)
        return Spread(whole, parts @ self.doubt / np.maximum(whole, TINY)[:, None])

    @property
    def doubts(self) -> np.ndarray:
        """The variance of the logarithm of each of `relative`."""
        return np.sum(self.doubt**2, axis=1)


NO_SPREAD = Spread(np.empty(0), np.empty((0, 0)))


def spread(factors: Sequence[StudyFactor], codes: np.ndarray, logs: np.ndarray) -> Spread:
    """What blocks have in common is known the better the better this is known."""
    parts = [_columns(factor, column) for factor, column in zip(factors, codes.T, strict=True)]
    answer = nothing = Spread(np.ones(len(codes)), np.zeros((len(codes), 0)))
    for _ in range(PASSES):
        found = cells(logs, answer.relative)
        if found is None or not np.nanmax(found.variances) > 0:
            return nothing
        answer = _fitted([part for part in parts if part.shape[1]], found)
    return answer


def _fitted(parts: Sequence[np.ndarray], found: Cells) -> Spread:
    known = found.freedom > 0
    freedom = found.freedom[known]
    own = found.variances[known]
    heights = np.log(np.maximum(own, LEAST * np.median(own[own > 0])))
    heights += np.log(freedom / 2) - special.digamma(freedom / 2)
    weights = 1 / special.polygamma(1, freedom / 2)
    left = heights - np.average(heights, weights=weights)
    answer, doubts = np.zeros(len(known)), [np.zeros((len(known), 0))]
    for part in parts:
        fit, doubt = _shrunk(part, known, left, weights)
        answer += fit
        doubts.append(doubt - doubt.mean(axis=0))
    return Spread(np.exp(answer - answer.mean()), np.hstack(doubts))


def _columns(factor: StudyFactor, codes: np.ndarray) -> np.ndarray:
    """A straight line in the logarithm of a number, else one column for each level but one."""
    present = np.unique(codes)
    if len(present) < 2:
        return np.empty((len(codes), 0))
    if factor.positive and len(present) > 2:
        place = np.log(np.array([factor.levels[code] for code in codes], dtype=float))
        return (place - place.mean())[:, None]
    indicator = (codes[:, None] == present[None, :]).astype(float)
    return indicator[:, 1:] - indicator[:, 1:].mean(axis=0)


def _shrunk(
    part: np.ndarray, known: np.ndarray, heights: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """What one factor adds to the logarithm of the variance, in all combinations, and the root of
    its covariance."""
    root = np.sqrt(weights)
    own = part[known] - np.average(part[known], axis=0, weights=weights)
    solution, _, rank, _ = np.linalg.lstsq(own * root[:, None], heights * root, rcond=None)
    # the weights are the inverse variances of the heights, if runs scatter log-normally
    explained = float(np.sum(weights * (own @ solution) ** 2)) / max(rank, 1)
    if explained <= 1:
        return np.zeros(len(part)), np.zeros((len(part), 0))
    kept = 1 - 1 / explained
    values, vectors = np.linalg.eigh(np.linalg.pinv((own.T * weights) @ own))
    return part @ solution * kept, part @ (vectors * np.sqrt(np.maximum(values, 0.0))) * kept
