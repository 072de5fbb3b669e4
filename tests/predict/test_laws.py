"""Laws of the number of ranks, by arithmetic."""

from __future__ import annotations

import numpy as np
import pytest

from tailrace.predict.laws import fitted

RANKS = np.asarray([1.0, 2.0, 4.0, 8.0])


@pytest.mark.parametrize(
    ("times", "words", "at_32"),
    [
        (8 / RANKS, "8.00 s / n", 0.25),
        (1 + 8 / RANKS, "1.00 s + 8.00 s / n", 1.25),
        (0.5 * RANKS, "500 ms n", 16.0),
        (2 + 0 * RANKS, "2.00 s", 2.0),
        # log2 of 32 is 5
        (3 + 0.2 * np.log2(RANKS), "3.00 s + 200 ms log₂ n", 4.0),
        # the root of 32 is 5.657
        (np.sqrt(RANKS), "1.00 s n⁰·⁵", 5.657),
        (0 * RANKS, "nothing", 0.0),
    ],
)
def test_a_law_that_holds_is_found(times: np.ndarray, words: str, at_32: float) -> None:
    found = fitted(RANKS, times, 1e-9)
    assert found.best.words == words
    assert float(found.best.at(32)) == pytest.approx(at_32, abs=1e-3)
    low, high = found.between(32)
    assert low == pytest.approx(at_32, abs=1e-3) and high == pytest.approx(at_32, abs=1e-3)


def test_what_noise_does_not_tell_apart_is_left_open() -> None:
    """Within 0.2 s these may grow with n, with its root or its logarithm, or not at all."""
    found = fitted(RANKS, np.asarray([2.0, 2.1, 2.04, 2.14]), 0.2)
    assert found.best.words == "2.07 s"
    low, high = found.between(128)
    assert 2.0 <= low <= 2.07 and high > 2.3


def test_no_time_is_negative() -> None:
    """A straight line through these would be below zero at 8 ranks."""
    found = fitted(RANKS[:3], np.asarray([9.0, 1.0, 0.5]), 1e-9)
    assert found.between(64)[0] >= 0
