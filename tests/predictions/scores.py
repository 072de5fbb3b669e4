"""How far a prediction is off. It is scored on what changes: the difference that was predicted
against the difference that was measured, so that what is not touched cannot flatter it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from .moves import Kind

# Less of the change than this is bytes at the rate of the link: then calls decide.
BOUND_BY_BYTES = 0.8
# Where less of the longer run changes, its noise is much of what changes.
NOTABLE_CHANGE = 0.1
# … and so it is of a few times what a process may wait for its turn at a processor, s.
LEAST_CHANGE_S = 0.05
# … and where one half of the rounds is off by more from the other half's change, it is most.
MOST_NOISE = 0.5


@dataclass(frozen=True)
class Pair:
    """A case of which one thing changes, s. The rounds are measured in turns."""

    kind: Kind
    case: str
    words: str
    predicted: float
    low: float
    high: float
    # bytes over rate, the least that one could say
    naive: float
    # said to be open: longer or shorter
    is_open: bool
    base_rounds: tuple[float, ...]
    target_rounds: tuple[float, ...]

    @property
    def base_s(self) -> float:
        return float(np.median(self.base_rounds))

    @property
    def changes(self) -> np.ndarray:
        return np.asarray(self.target_rounds) - np.asarray(self.base_rounds)

    @property
    def measured(self) -> float:
        return float(np.median(self.changes))

    @property
    def error(self) -> float:
        """0.1: a tenth of the measured change too much."""
        return self.predicted / self.measured - 1

    @property
    def naive_error(self) -> float:
        return self.naive / self.measured - 1

    @property
    def floor(self) -> float:
        """What the median of one half of the rounds says of the other half's, at the median of all
        ways to halve them: no prediction can be better."""
        return halves(self.changes)

    @property
    def is_within(self) -> bool:
        return self.low <= self.measured <= self.high

    @property
    def is_bound_by_bytes(self) -> bool:
        return self.naive / self.measured >= BOUND_BY_BYTES

    @property
    def is_large(self) -> bool:
        """Enough of the run changes."""
        longer = max(np.median(self.base_rounds), np.median(self.target_rounds))
        return abs(self.measured) >= max(NOTABLE_CHANGE * float(longer), LEAST_CHANGE_S)

    @property
    def is_noise(self) -> bool:
        """Enough changes, but mostly from one round to the next. What was predicted plays no part
        in it."""
        return self.is_large and self.floor > MOST_NOISE

    @property
    def is_notable(self) -> bool:
        return self.is_large and not self.is_noise

    @property
    def error_of_run(self) -> float:
        """The same error as a share of the run on the target."""
        return (self.predicted - self.measured) / float(np.median(self.target_rounds))


def halves(changes: np.ndarray) -> float:
    rounds = range(len(changes))
    found = []
    for half in combinations(rounds, len(changes) // 2):
        rest = [number for number in rounds if number not in half]
        one, other = np.median(changes[list(half)]), np.median(changes[rest])
        found.append(abs(one / other - 1))
    return float(np.median(found))


@dataclass(frozen=True)
class Summary:
    """Of a class of pairs. Errors are shares of the measured change, of pairs that are notable, but
    for `error_of_run`; `within` is of all pairs."""

    pairs: int
    notable: int
    median_error: float
    nine_of_ten: float
    floor: float
    naive_error: float
    error_of_run: float
    within: float

    @property
    def beyond_floor(self) -> float:
        """Of the median error, what noise does not explain."""
        return max(self.median_error - self.floor, 0.0)


def summary(pairs: Sequence[Pair]) -> Summary:
    """Of at least one pair; NaN where none is notable."""
    return scored(pairs, [pair for pair in pairs if pair.is_notable])


def scored(pairs: Sequence[Pair], notable: Sequence[Pair]) -> Summary:
    """The same with others as notable."""
    errors = [abs(pair.error) for pair in notable] or [np.nan]
    return Summary(
        len(pairs),
        len(notable),
        float(np.median(errors)),
        float(np.percentile(errors, 90)),
        float(np.median([pair.floor for pair in notable] or [np.nan])),
        float(np.median([abs(pair.naive_error) for pair in notable] or [np.nan])),
        float(np.median([abs(pair.error_of_run) for pair in pairs])),
        float(np.mean([pair.is_within for pair in pairs])),
    )


def named_better(pairs: Sequence[Pair]) -> float:
    """Of the notable pairs, of how many the faster side was said to be faster."""
    notable = [pair for pair in pairs if pair.is_notable]
    right = [float(pair.predicted * pair.measured > 0) for pair in notable]
    return float(np.mean(right or [np.nan]))
