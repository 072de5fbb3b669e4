"""Times that programs print in whole seconds, or tenths of one.

Where runs scatter less than such a step, all of a combination print the same number, or one of two
neighbours, however often they are repeated: 3.45 and 3.55 s become 3 and 4, 1.33 times, for
certain. Such a combination is known to half a step and no better. Where runs scatter more, their
mean is as good as if nothing had been rounded.
"""

import numpy as np

STEPS = (60.0, 1.0, 0.1, 0.01)
# Half a step on either side of a ratio is then no more than what does not matter.
FINE = 0.04
# So few numbers may be round by chance.
VALUES_AT_LEAST = 6
ROUNDING = 1e-6


def step_of(values: np.ndarray) -> float:
    """The step of which all values are multiples, where it is not fine for the least of them;
    otherwise 0."""
    known = values[np.isfinite(values) & (values > 0)]
    if len(known) < VALUES_AT_LEAST:
        return 0.0
    for step in STEPS:
        steps = known / step
        if np.all(np.abs(steps - np.round(steps)) < ROUNDING * steps):
            return step if step > FINE * known.min() else 0.0
    return 0.0


def margins(logs: np.ndarray, step: float) -> np.ndarray:
    """By how much the mean logarithm of each combination may be less (negative) and more than it
    is. `logs`: combinations × blocks."""
    answer = np.zeros((len(logs), 2))
    values, half = np.exp(logs), step / 2 * (1 + ROUNDING)
    for row, own in enumerate(values):
        own = own[np.isfinite(own)]
        if len(own) and np.ptp(own) <= step * (1 + ROUNDING):
            mean = float(own.mean())
            ends = max(mean - half, np.finfo(float).tiny), mean + half
            answer[row] = np.log(np.array(ends) / mean)
    return answer
