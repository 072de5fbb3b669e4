"""The scores, by arithmetic."""

from __future__ import annotations

import numpy as np
import pytest

from .scores import Pair, halves, summary


def pair(predicted: float, naive: float = 4.0, low: float = 0.0, high: float = 9.0) -> Pair:
    """A run of 1 s that takes 6 s elsewhere: 5 s more, in the median of three rounds."""
    rounds = ((1.0, 1.0, 1.0), (6.0, 5.0, 7.0))
    return Pair("case", "local", "nfs", predicted, low, high, naive, *rounds)


def test_the_error_is_of_the_change_and_not_of_the_run() -> None:
    # predicted 7 s instead of 6 s: 17 % of the run, but 20 % of what changes
    assert pair(6.0).error == pytest.approx(0.2)
    assert pair(4.0).error == pytest.approx(-0.2)
    assert pair(4.0).naive_error == pytest.approx(-0.2)


def test_a_pair_is_bound_by_bytes_where_they_are_most_of_the_change() -> None:
    assert pair(5.0, naive=4.0).is_bound_by_bytes
    assert not pair(5.0, naive=3.9).is_bound_by_bytes


def test_the_floor_is_how_well_one_half_says_the_other() -> None:
    # 1 of 3: 4 against the median of 5 and 6, 5.5; 5 against 5; 6 against 4.5
    assert halves(np.asarray([5.0, 4.0, 6.0])) == pytest.approx(1 - 4 / 5.5)
    assert halves(np.asarray([3.0, 3.0, 3.0])) == 0


def test_a_summary_says_how_often_the_interval_held() -> None:
    pairs = [pair(5.0), pair(5.5), pair(6.0, high=4.9), pair(5.0, low=5.1)]
    found = summary(pairs)
    assert found.pairs == 4
    assert found.median_error == pytest.approx(0.05)
    assert found.within == 0.5
    assert found.beyond_floor == 0
