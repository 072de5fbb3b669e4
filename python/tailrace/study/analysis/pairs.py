"""The runs of one combination in two studies, and their ratio by Welch's test."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from tailrace.study.analysis import first_runs
from tailrace.study.analysis.by_chance import BLOCKS_AT_LEAST
from tailrace.study.analysis.first_runs import FirstRuns, Firsts
from tailrace.study.analysis.intervals import UNBOUNDED, Estimate, from_error, of_means
from tailrace.study.analysis.layout import Layout

# Logarithms that differ by no more are the same number, but for how it was averaged.
ALIKE = 1e-12
# The first run of a block, and the first on a target.
WAYS = 2

# Of the first study and of the second, how much longer first runs take in each way.
Known = tuple[tuple[FirstRuns, ...], tuple[FirstRuns, ...]]


class Side(NamedTuple):
    """A combination's runs in one study: logarithms by block, which of them are the first in each
    way, whether the times are the least that they can be, and by how much less and more they may be
    for how they are rounded."""

    logs: np.ndarray
    firsts: Firsts
    bound: bool
    margin: tuple[float, float]

    @classmethod
    def of(cls, table: Layout, row: int, thinned: bool) -> "Side":
        """`thinned`: more of its runs fail than in the other study."""
        logs = table.logs[row]
        firsts = tuple(first_runs.among(first[row], logs) for first in _firsts(table))
        below, above = map(float, table.margins[row])
        return cls(logs, firsts, bool(table.bounds[row]) or thinned, (below, above))


class Pair(NamedTuple):
    """A combination's runs in both studies."""

    where: Mapping[str, Any]
    before: Side
    after: Side

    @property
    def bound(self) -> bool:
        return self.before.bound or self.after.bound

    @property
    def margin(self) -> tuple[float, float]:
        (below, above), (less, more) = self.before.margin, self.after.margin
        return less - above, more - below

    def ratio(self, known: Known) -> Estimate:
        firsts = self.before.firsts, self.after.firsts
        found = without_first_runs(welch(self.before.logs, self.after.logs), *firsts, known)
        wide = found.widened(*self.margin)
        found = replace(wide, p=found.p if wide.decided else 1.0) if wide is not found else found
        low = 1 / UNBOUNDED if self.before.bound else found.low
        high = UNBOUNDED if self.after.bound else found.high
        surely = not self.bound or not low <= 1 <= high
        return replace(found, low=low, high=high, p=found.p if surely else 1.0)


def _firsts(table: Layout) -> Firsts:
    """Which runs are, in each way: none in one that a study of one target has not."""
    none = np.zeros(table.logs.shape, dtype=bool)
    return (*table.firsts, *[none] * (WAYS - len(table.firsts)))


def longer(table: Layout) -> tuple[FirstRuns, ...]:
    """How much longer first runs take in a study, in each way beside the other."""
    ran = ~table.simulated
    firsts = tuple(first[ran] for first in table.firsts)
    found = first_runs.jointly(firsts, table.logs[ran], table.spread[ran])
    return (*found, *[first_runs.UNKNOWN] * (WAYS - len(found)))


def without_first_runs(found: Estimate, before: Firsts, after: Firsts, known: Known) -> Estimate:
    """A ratio less what first runs take longer in each study, in each way: where these, and nothing
    else, would make such a difference, or where that is known well. `before`, `after`: which runs
    are, or which share of a block."""
    for first, second, *of in zip(before, after, *known, strict=True):
        found = _without(found, (first, second), (of[0], of[1]))
    return found


def _without(
    found: Estimate, firsts: tuple[np.ndarray, np.ndarray], known: tuple[FirstRuns, FirstRuns]
) -> Estimate:
    before, after = (float(np.nanmean(first)) for first in firsts)
    if abs(after - before) < first_runs.NOTHING:
        return found
    some = [one for one, share in zip(known, (before, after), strict=True) if share]
    well = all(one.freedom >= first_runs.FREEDOM_AT_LEAST for one in some)
    if not well and not first_runs.alone_part(*firsts):
        return found
    if not all(one.known for one in some):
        return first_runs.allowed_for(found, 1.0, first_runs.UNKNOWN)
    value = sum(share * one.value for one, share in zip(known, (-before, after), strict=True))
    errors = (share * one.error for one, share in zip(known, (before, after), strict=True) if share)
    more = FirstRuns(value, math.hypot(*errors), min(one.freedom for one in some))
    return first_runs.allowed_for(found, 1.0, more)


def welch(first: np.ndarray, second: np.ndarray) -> Estimate:
    """The ratio of the second to the first, from logarithms; NaN is left out. Of two values that
    happen to be alike Welch's test makes too much: beside more of the other study they must also
    pass Student's, which takes both studies to scatter alike."""
    first, second = first[np.isfinite(first)], second[np.isfinite(second)]
    blocks = min(len(first), len(second))
    if not blocks:
        return Estimate(math.nan, math.nan, math.nan, math.nan, 0, 0.0)
    difference = float(second.mean() - first.mean())
    if blocks < 2 or max(np.ptp(first), np.ptp(second)) < ALIKE:
        return Estimate(math.exp(difference), math.nan, math.nan, math.nan, blocks, 0.0)
    tests = [of_means(first, second)]
    if blocks < BLOCKS_AT_LEAST:
        tests.append(_alike(first, second))
    found = [from_error(difference, error, freedom, blocks) for error, freedom in tests]
    return max(found, key=lambda one: one.p)


def _alike(first: np.ndarray, second: np.ndarray) -> tuple[float, float]:
    """The same where both studies scatter alike (Student)."""
    freedom = len(first) + len(second) - 2
    squares = sum(float(np.sum((side - side.mean()) ** 2)) for side in (first, second))
    return math.sqrt(squares / freedom * (1 / len(first) + 1 / len(second))), float(freedom)
