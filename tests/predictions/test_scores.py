"""The scores, by arithmetic."""

from __future__ import annotations

import numpy as np
import pytest

from .scores import Pair, halves, named_better, summary


def pair(predicted: float, naive: float = 4.0, low: float = 0.0, high: float = 9.0) -> Pair:
    """A run of 1 s that takes 6 s elsewhere: 5 s more, in the median of three rounds."""
    rounds = ((1.0, 1.0, 1.0), (6.0, 5.0, 7.0))
    return Pair("file system", "case", "local to nfs", predicted, low, high, naive, *rounds)


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
    assert found.pairs == found.notable == 4
    assert found.median_error == pytest.approx(0.05)
    assert found.within == 0.5
    assert found.beyond_floor == 0


def test_of_pairs_of_which_little_changes_only_the_run_and_the_interval_are_scored() -> None:
    # 10 s become 10.5 s: less than a tenth; 11 s were said, so half a second of 10.5 too much
    rounds = ((10.0, 10.0, 10.0), (10.5, 10.5, 10.5))
    little = Pair("method", "case", "serial to independent", 1.0, 0.6, 2.0, 0.0, *rounds)
    found = summary([little])
    assert (found.pairs, found.notable, found.within) == (1, 0, 0.0)
    assert np.isnan(found.median_error) and np.isnan(named_better([little]))
    assert found.error_of_run == pytest.approx(0.5 / 10.5)


def test_the_better_one_is_named_where_the_sign_is_right() -> None:
    assert named_better([pair(5.0), pair(0.1), pair(-0.1), pair(9.0)]) == 0.75
