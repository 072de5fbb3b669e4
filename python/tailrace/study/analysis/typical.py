"""What each combination typically takes."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from tailrace.study.analysis.intervals import LEVEL
from tailrace.study.analysis.layout import Layout


@dataclass(frozen=True)
class TypicalValues:
    """Each combination's typical value and interval; arrays of one row per combination, NaN where
    there is none. `simulated`: they are a simulation's. `high` is infinite where a run was ended
    before it was over: nobody knows how long it would have taken."""

    where: list[dict[str, Any]]
    runs: np.ndarray
    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    simulated: np.ndarray


def typical_values(table: Layout) -> TypicalValues:
    """Geometric mean and Student's interval of each combination, as `intervals.typical` has it, all
    at once."""
    runs = np.isfinite(table.logs).sum(axis=1)
    mean = np.nansum(table.logs, axis=1) / np.maximum(runs, 1)
    squares = np.nansum((table.logs - mean[:, None]) ** 2, axis=1)
    freedom = np.where(runs > 1, runs - 1, np.nan)
    half = stats.t.ppf(0.5 + LEVEL / 2, freedom) * np.sqrt(squares / freedom / np.maximum(runs, 1))
    below, above = table.margins.T
    half = np.where(table.simulated, 0.0, half)
    low, high = mean - half + below, mean + half + above
    if table.censored is not None:
        ended = np.any(table.censored, axis=1)
        low, high = np.where(ended & (runs < 2), mean, low), np.where(ended, np.inf, high)
    ends = np.exp(low), np.exp(high)
    return TypicalValues(table.where, table.run_counts, np.exp(mean), *ends, table.simulated)
