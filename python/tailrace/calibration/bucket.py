"""Whether links are token buckets, from what writes of several sizes take after a pause."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tailrace.calibration.experiments import AFTER_A_PAUSE
from tailrace.calibration.probe import SMALL, Samples
from tailrace.calibration.quantities import quantity
from tailrace.predict.model import Quantity

# A bucket holds more than a small write, in three rounds of four.
LEAST = 4 * SMALL
QUARTER = 25
# What it was found to hold by two sizes is as much, by this factor.
SAME = 2.0


def bucket(rounds: Sequence[Samples], write_rate: float, copy_rate: float) -> Quantity | None:
    """Bytes that go at once after a pause: those that did not take their time, as many of one size
    as of the other; where a size is faster by itself they are not. Rates are bytes a second: to
    the servers, and into the client's cache."""

    def at_once(size: int) -> np.ndarray:
        took_s = np.asarray(
            [each[f"after_pause_{size}"] - each[f"after_pause_{SMALL}"] for each in rounds]
        )
        return np.clip(size - write_rate * (took_s - size / copy_rate), 0, size)

    less, more = map(at_once, AFTER_A_PAUSE)
    found = quantity(less)
    if np.percentile(less, QUARTER) < LEAST:
        return None
    is_one = 1 / SAME < np.median(more) / found.value < SAME
    return found if is_one else None
