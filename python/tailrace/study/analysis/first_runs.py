"""What may be due to a run being the first of its block, or the first of its block that uses a
target: a cold cache, a mount that wakes up, a processor that has slowed down while it waited.

A random order spreads this over all combinations, but not where blocks are few: of two combinations
one goes first in all of three blocks in a quarter of studies, and nothing is left then to tell what
it does from what being first does. So of every difference it is asked whether first runs that are
slower, and nothing else, would have been taken for one. Where they would, the difference is told as
far as it is more than what first runs take longer elsewhere; and not at all where one combination
goes first in every block, unless it is more than any first run is likely to take longer. The two
ways of being the first are asked about one by one.
"""

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy import stats

from tailrace.study.analysis import cells
from tailrace.study.analysis.intervals import LEVEL, Estimate, exponential, of_means, satterthwaite

# So many times as long as later a first run may take where nothing tells how long it does.
AT_MOST = 10
# What first runs take longer is taken out where it is as sure as this, and known as well as this:
# with fewer degrees of freedom, the one that it costs is missed.
SURE, FREEDOM_AT_LEAST = 0.001, 6
# Less than this of a run's weight is rounding.
NOTHING = 1e-9


class FirstRuns(NamedTuple):
    """How much longer the first run of a block takes than it would elsewhere, as a logarithm, its
    standard error, and the degrees of freedom of that; infinite over 0 where nothing tells."""

    value: float
    error: float
    freedom: float

    @property
    def p(self) -> float:
        if not self.known or not self.error:
            return 1.0
        return 2 * float(stats.t.sf(abs(self.value) / self.error, self.freedom))

    @property
    def known(self) -> bool:
        return self.freedom > 0

    @property
    def is_removed(self) -> bool:
        """Whether it was taken out of the runs, in which its error remains."""
        return self.known and self.value == 0.0

    @property
    def is_sure(self) -> bool:
        return self.p <= SURE and self.freedom >= FREEDOM_AT_LEAST

    def ends(self, level: float = LEVEL) -> tuple[float, float]:
        """Of its interval."""
        half = float(stats.t.ppf(0.5 + level / 2, self.freedom)) * self.error
        return self.value - half, self.value + half


UNKNOWN = FirstRuns(0.0, math.inf, 0.0)
# For each way of being the first, which runs are: of combinations × blocks.
Firsts = tuple[np.ndarray, ...]


def among(first: np.ndarray, logs: np.ndarray) -> np.ndarray:
    """Which runs are the first of their block, as numbers: NaN where there is no run."""
    return np.where(np.isfinite(logs), first.astype(float), np.nan)


def estimated(first: np.ndarray, logs: np.ndarray, spread: np.ndarray) -> FirstRuns:
    """From the runs that are the first of their block in one block and not in another, beside what
    their combination and their block have in common."""
    own, found = cells.cells(among(first, logs), spread), cells.cells(logs, spread)
    if own is None or found is None:
        return UNKNOWN
    weights = 1 / spread[:, None]
    square = float(np.nansum(weights * own.residuals**2))
    freedom = found.all_freedom - 1
    if square < NOTHING or freedom < cells.LEAST_FREEDOM:
        return UNKNOWN
    value = float(np.nansum(weights * own.residuals * found.residuals)) / square
    left = float(np.nansum(weights * (found.residuals - value * own.residuals) ** 2)) / freedom
    return FirstRuns(value, math.sqrt(left / square), freedom)


def taken_out(
    known: FirstRuns, first: np.ndarray, logs: np.ndarray, spread: np.ndarray
) -> np.ndarray:
    """The logarithms without what first runs take longer. What is left of scatter is made as much
    larger as the degree of freedom that this has cost makes it smaller."""
    left = logs - known.value * first
    found = cells.cells(left, spread)
    if found is None or found.all_freedom <= 1:
        return left
    return left + found.residuals * (math.sqrt(found.all_freedom / (found.all_freedom - 1)) - 1)


def all_taken_out(
    known: tuple[FirstRuns, ...], firsts: Firsts, logs: np.ndarray, spread: np.ndarray
) -> tuple[np.ndarray, tuple[FirstRuns, ...]]:
    """The same for each way of being the first that surely takes longer, the surest first: what is
    left may say of the other that it does not, as the first of a block is one on its target too.
    With what is then known of each."""
    known = tuple(known)
    for _ in known:
        sure = [at for at, each in enumerate(known) if each.is_sure and each.value]
        if not sure:
            break
        at = max(sure, key=lambda way: abs(known[way].value) / max(known[way].error, 1e-300))
        logs = taken_out(known[at], firsts[at], logs, spread)
        gone = known[at]._replace(value=0.0)
        known = tuple(
            gone if way == at else each if not each.value else estimated(first, logs, spread)
            for way, (each, first) in enumerate(zip(known, firsts, strict=True))
        )
    return logs, told_apart(known, firsts, logs, spread)


def told_apart(
    known: tuple[FirstRuns, ...], firsts: Firsts, logs: np.ndarray, spread: np.ndarray
) -> tuple[FirstRuns, ...]:
    """The same with the errors that each has beside the other (variance inflation): where the same
    runs are the first in both ways, nothing tells which of the two takes the time."""
    found = [cells.cells(among(first, logs), spread) for first in firsts]
    if len(found) < 2 or any(one is None for one in found):
        return known
    roots = 1 / np.sqrt(spread)[:, None]
    one, other = (np.nan_to_num(roots * each.residuals) for each in found if each is not None)
    squares = float(np.sum(one**2)) * float(np.sum(other**2))
    left = 1 - float(np.sum(one * other)) ** 2 / squares if squares > NOTHING else 1.0
    if left < NOTHING:
        return tuple(UNKNOWN for _ in known)
    return tuple(each._replace(error=each.error / math.sqrt(left)) for each in known)


def jointly(firsts: Firsts, logs: np.ndarray, spread: np.ndarray) -> tuple[FirstRuns, ...]:
    """`estimated` of each way of being the first beside the others: the first run of a block is one
    on its target, too, and what it takes longer counts once."""
    found = cells.cells(logs, spread)
    ways = [cells.cells(among(first, logs), spread) for first in firsts]
    if found is None or any(way is None for way in ways):
        return tuple(UNKNOWN for _ in firsts)
    roots = 1 / np.sqrt(spread)[:, None]
    columns = np.array([np.nan_to_num(roots * way.residuals).ravel() for way in ways if way]).T
    differs = np.sum(columns**2, axis=0) > NOTHING
    columns, freedom = columns[:, differs], found.all_freedom - int(differs.sum())
    square = columns.T @ columns
    is_apart = np.linalg.matrix_rank(columns, tol=NOTHING) == columns.shape[1] > 0
    if not is_apart or freedom < cells.LEAST_FREEDOM:
        return tuple(UNKNOWN for _ in firsts)
    runs = np.nan_to_num(roots * found.residuals).ravel()
    values = np.linalg.solve(square, columns.T @ runs)
    left = float(np.sum((runs - columns @ values) ** 2)) / freedom
    errors = np.sqrt(left * np.diag(np.linalg.inv(square)))
    known = iter(zip(values.tolist(), errors.tolist(), strict=True))
    return tuple(FirstRuns(*next(known), freedom) if way else UNKNOWN for way in differs)


def beside(basis: np.ndarray, first: np.ndarray, means: np.ndarray) -> FirstRuns:
    """Where a combination goes first in every block: from what the combinations' means have beside
    a model, of which `basis` is an orthonormal basis. `first`: each one's share of first runs."""
    own, found = (values - basis @ (basis.T @ values) for values in (first, means))
    square, freedom = float(own @ own), len(basis) - basis.shape[1] - 1
    if square < NOTHING or freedom < 1:
        return UNKNOWN
    value = float(own @ found) / square
    left = float(np.sum((found - value * own) ** 2)) / freedom
    return FirstRuns(value, math.sqrt(left / square), freedom)


def alone_say_so(shares: np.ndarray) -> bool:
    """Whether first runs that are slower, and nothing else, would make a difference certain.
    `shares`: in each block, how many more first runs one side of it has."""
    mean, blocks = float(np.mean(shares)), len(shares)
    if abs(mean) < NOTHING:
        return False
    error = float(np.std(shares, ddof=1)) / math.sqrt(blocks) if blocks > 1 else 0.0
    return abs(mean) > float(stats.t.ppf(0.5 + LEVEL / 2, max(blocks - 1, 1))) * error


def alone_part(before: np.ndarray, after: np.ndarray) -> bool:
    """The same of two studies, by the shares of first runs in the blocks of each, without NaN."""
    sides = [side[np.isfinite(side)] for side in (before, after)]
    if min(map(len, sides)) < 2:
        return False
    apart = abs(float(sides[1].mean() - sides[0].mean()))
    error, freedom = of_means(*sides)
    if apart < NOTHING or error < NOTHING:
        return apart >= NOTHING
    return apart > float(stats.t.ppf(0.5 + LEVEL / 2, freedom)) * error


def allowed_for(found: Estimate, share: float, known: FirstRuns) -> Estimate:
    """A ratio less what first runs take longer elsewhere. `share`: how many more of them it has."""
    if not found.known:
        return found
    if not known.known:
        reach = abs(share) * math.log(AT_MOST)
        wider = found.widened(-reach, reach)
        return replace(wider, p=found.p if wider.decided else 1.0)
    error = math.hypot(_error(found), share * known.error)
    centre = math.log(found.value) - share * known.value
    return _about(found, centre, error, min(found.freedom, known.freedom))


def with_error(found: Estimate, share: float, known: FirstRuns) -> Estimate:
    """A ratio of runs from which what first runs take longer was taken out, with the error that
    this has."""
    own, more = _error(found), abs(share) * known.error
    if not found.known or more < NOTHING or own < NOTHING:
        return found
    freedom = satterthwaite((own**2, more**2), (found.freedom, known.freedom))
    return _about(found, math.log(found.value), math.hypot(own, more), freedom)


def _error(found: Estimate) -> float:
    """The standard error of its logarithm."""
    if found.freedom <= 0:
        return 0.0
    half = (math.log(found.high) - math.log(found.low)) / 2
    return half / float(stats.t.ppf(0.5 + found.level / 2, found.freedom))


def _about(found: Estimate, centre: float, error: float, freedom: float) -> Estimate:
    """The same about another logarithm, with another error."""
    quantile = float(stats.t.ppf(0.5 + found.level / 2, freedom))
    p = 2 * float(stats.t.sf(abs(centre) / error, freedom)) if error > 0 else float(centre == 0)
    low, high = centre - quantile * error, centre + quantile * error
    value, low, high = (exponential(one) for one in (centre, low, high))
    return replace(found, value=value, low=low, high=high, p=p, freedom=freedom)
