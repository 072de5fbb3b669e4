"""What a study with `[adaptive]` makes of scatter.

It ends as soon as every combination is known well enough, which is where its runs look as if they
scattered little: on the average they scatter more. Means do not depend on that, but their errors
do: where one combination scatters alone, and two blocks are looked at, 12 % of differences that are
none are certain, not 5 %. So scatter is made larger, by as much as makes it 5 % at most, whatever
the scatter is relative to the interval that was asked for. How much that is follows from simulation
of normal scatter (tests/python/test_study_adaptive.py): the less, the more runs there were at the
first look and the more combinations decided.
"""

import numpy as np

from tailrace.study.analysis import cells

# Of one combination: by so much, over the degrees of freedom of the first look.
OF_ONE = 0.55
# Of several that decide alike it is less, by this power of their number.
POWER = 1.5


def times_larger(logs: np.ndarray, least_blocks: int) -> float:
    """How many times as much runs scatter as they seem to, as a standard deviation. `logs`:
    combinations × blocks; `least_blocks`: how many there were at the first look."""
    there = np.isfinite(logs)
    known = logs[there.sum(axis=1) > 1]
    if not len(known):
        return 1.0
    away = known - np.nanmean(known, axis=1, keepdims=True)
    variances = np.nansum(away**2, axis=1) / (np.isfinite(known).sum(axis=1) - 1)
    squares = float(np.sum(variances**2))
    # as many alike ones as these, the quiet ones counting less
    number = float(np.sum(variances)) ** 2 / squares if squares > 0 else 1.0
    return 1 + OF_ONE / max(least_blocks - 1, 1) / number**POWER


def with_scatter(logs: np.ndarray, spread: np.ndarray, times: float) -> np.ndarray:
    """The same means, with residuals that are so many times as large."""
    found = cells.cells(logs, spread)
    return logs if found is None else logs + (times - 1) * found.residuals
