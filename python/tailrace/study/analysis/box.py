"""F tests that do not assume that all runs scatter alike.

The square of what a hypothesis says is nothing is compared with what it would be if it were
nothing: a sum of squares of unequal weights, which is approximated by a scaled χ² (Box), as is the
estimate of its scale. Source: E. Brunner, H. Dette, A. Munk, "Box-type approximations in
nonparametric factorial designs", Journal of the American Statistical Association 92 (1997).
"""

from dataclasses import dataclass

import numpy as np
from scipy import stats

from tailrace.study.analysis.cells import Cells


@dataclass(frozen=True)
class Test:
    """F over `freedom` and `error_freedom` degrees; `scale`: the expected square of one direction
    without an effect."""

    f: float
    freedom: float
    error_freedom: float
    scale: float

    @property
    def p(self) -> float:
        return float(stats.f.sf(self.f, self.freedom, self.error_freedom))


def within(directions: np.ndarray, found: Cells) -> Test:
    """That the means have nothing in these orthonormal directions (combinations × directions)."""
    blocks = directions.T @ found.of_blocks
    cross = directions.T @ (found.smooth_errors[:, None] * directions) + blocks @ blocks.T
    square = float(np.sum((directions.T @ found.means) ** 2))
    diagonal = np.sum(directions**2, axis=1)
    sums = float(np.sum(cross**2)), float(np.sum(blocks**2))
    return _test(square, diagonal, *sums, directions.shape[1], found)


def beyond(basis: np.ndarray, found: Cells) -> Test:
    """That the means have nothing outside the span of this orthonormal basis: lack of fit."""
    errors = found.smooth_errors
    inside = np.sum(basis**2, axis=1)
    cross = basis.T @ (errors[:, None] * basis)
    blocks = float(np.sum(found.of_blocks**2) - np.sum((basis.T @ found.of_blocks) ** 2))
    squares = float(np.sum(errors**2 * (1 - 2 * inside)) + np.sum(cross**2)) + blocks**2
    left = found.means - basis @ (basis.T @ found.means)
    directions = len(basis) - basis.shape[1]
    diagonal = np.maximum(1 - inside, 0)
    return _test(float(left @ left), diagonal, squares, blocks, directions, found)


def of_contrast(weights: np.ndarray, found: Cells) -> tuple[float, float]:
    """The standard error of a weighted sum of means, and its degrees of freedom."""
    blocks = float(np.sum((weights @ found.of_blocks) ** 2))
    total = float(weights**2 @ found.squared_errors) + blocks
    return total**0.5, _freedom(weights**2, blocks, found)


def _freedom(weights: np.ndarray, blocks: float, found: Cells) -> float:
    """Of a weighted sum of the means' variances (Satterthwaite). Smoothed variances say how much
    each contributes: where one is small by chance it must not make the others count more."""
    parts = weights * found.smooth_errors
    wobble = float(np.sum(parts**2 / np.maximum(found.freedom, 1.0)))
    wobble += blocks**2 / found.all_freedom
    if wobble <= 0:
        return found.all_freedom
    return min(max((float(parts.sum()) + blocks) ** 2 / wobble, 1.0), found.all_freedom)


def _test(
    square: float,
    diagonal: np.ndarray,
    squares: float,
    blocks: float,
    directions: int,
    found: Cells,
) -> Test:
    """`squares`: the sum of squares of the directions' expected covariances; `blocks`: what their
    variances have from the blocks."""
    trace = float(diagonal @ found.squared_errors) + blocks
    smooth = float(diagonal @ found.smooth_errors) + blocks
    if trace <= 0 or squares <= 0:
        nothing = square <= 1e-20
        return Test(0.0 if nothing else np.inf, float(directions), found.all_freedom, 0.0)
    freedom = min(max(smooth**2 / squares, 1.0), float(directions))
    return Test(square / trace, freedom, _freedom(diagonal, blocks, found), trace / directions)
