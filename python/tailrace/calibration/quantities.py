"""From values of rounds to a number of the model: their median, and what nine rounds in ten lie
in."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tailrace.predict.model import Quantity, Rate

LOW, HIGH = 5, 95
# Of a limit that never was reached nothing is known but that.
ENDLESS = 1e15

Values = Sequence[float] | np.ndarray


def quantity(values: Values) -> Quantity:
    low, value, high = (float(number) for number in np.percentile(values, [LOW, 50, HIGH]))
    return Quantity(value=value, low=low, high=high)


def at_least(found: Quantity, least: Quantity) -> Quantity:
    return Quantity(
        value=max(found.value, least.value),
        low=max(found.low, least.low),
        high=max(found.high, least.high),
    )


def rate(values: Values) -> Rate:
    found = quantity(values)
    return Rate(value=found.value, low=found.low, high=found.high)
