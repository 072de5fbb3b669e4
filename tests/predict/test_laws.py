"""Laws of the number of ranks, by arithmetic."""

from __future__ import annotations

from collections.abc import Callable

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
    """Give or take 0.1 s these may grow with n, with its root or its logarithm, or not at all."""
    found = fitted(RANKS, np.asarray([2.0, 2.1, 2.04, 2.14]), 0.1)
    assert found.best.words == "2.07 s"
    low, high = found.between(128)
    assert 1.8 <= low <= 2.07 and high > 2.3


def test_a_server_is_the_limit_once_it_is_busy() -> None:
    """Each rank asks for 0.1 s of one server, and takes 0.15 s for itself: at two ranks the server
    is the limit. By chance the same three points lie near a square, which says 25 s at 16."""
    found = fitted(RANKS[:3], np.asarray([0.15, 0.2, 0.4]), np.asarray([0.01, 0.015, 0.03]))
    assert found.best.words == "the larger of 150 ms and 100 ms n"
    low, high = found.between(16)
    assert low < 1.6 < high < 2


def test_what_each_further_rank_adds_is_told_by_four_points() -> None:
    """0.1 s, and 0.25 s for each rank but the first: 1.85 s on 8. A time for each rank, within a
    tenth of all four, would say 1.63."""
    ranks = np.asarray([2.0, 3.0, 4.0, 6.0])
    times = 0.1 + 0.25 * (ranks - 1)
    found = fitted(ranks, times, 0.08 * times)
    assert found.best.words == "100 ms + 250 ms (n - 1)"
    assert float(found.best.at(8)) == pytest.approx(1.85)


def test_level_points_show_no_limit() -> None:
    """Nothing says that a server is busy from the next rank on."""
    found = fitted(RANKS[:3], np.asarray([0.15, 0.15, 0.15]), 1e-4)
    assert found.between(64)[1] < 0.2


def test_three_points_do_not_make_a_steep_law() -> None:
    """By 0.2 s log2(n), give or take a tenth; a term of n log2(n) fits them better by chance, and
    would say 4 s or more at 16, where it is 0.8 s."""
    times = 0.2 * np.log2(RANKS[:3]) * np.asarray([1, 0.9, 1.1])
    low, high = fitted(RANKS[:3], times, 0.02 + 0.08 * times).between(16)
    assert low < 0.8 < high < 2


def test_noise_of_the_points_is_in_the_interval() -> None:
    """1 s a rank, known to a tenth at each of three numbers of ranks. By one law alone, that is
    known to 1 / (10 √3) of itself; nine of ten lie within 1.645 times that."""
    found = fitted(RANKS[:3], RANKS[:3], 0.1 * RANKS[:3])
    low, high = found.between(64)
    apart = 64 * 1.645 / (10 * np.sqrt(3))
    assert low <= 64 - apart * 0.99 and high >= 64 + apart * 0.99


@pytest.mark.parametrize(
    "law",
    [
        lambda n: 0.3 + 2 / n,
        lambda n: 0.2 + 0.15 * np.log2(n),
        lambda n: 0.4 + 0.1 * n,
        lambda n: 0.5 * (1 - 1 / n),
        lambda n: np.maximum(0.15, 0.1 * n),
        lambda n: 0 * n + 1.0,
    ],
)
def test_intervals_hold_what_is_true(law: Callable[[np.ndarray], np.ndarray]) -> None:
    """Measured 300 times with noise of 8 %, at 1, 2 and 4 ranks: nine of ten, give or take what
    300 differ by."""
    random = np.random.default_rng(20)
    held = 0
    for _ in range(300):
        times = law(RANKS[:3]) * np.exp(0.08 * random.standard_normal(3))
        low, high = fitted(RANKS[:3], times, 0.08 * times + 1e-3).between(16)
        held += int(low <= law(np.asarray(16.0)) <= high)
    assert held >= 255


def test_no_time_is_negative() -> None:
    """A straight line through these would be below zero at 8 ranks."""
    found = fitted(RANKS[:3], np.asarray([9.0, 1.0, 0.5]), 1e-9)
    assert found.between(64)[0] >= 0
