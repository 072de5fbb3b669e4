"""Errors and degrees of freedom, by hand and by SciPy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from tailrace.study.analysis.intervals import cochran_cox, of_means, satterthwaite


def test_the_error_of_a_difference_of_means_is_welchs() -> None:
    """Of (1, 3, 5) and (2, 2, 5): variances of the means 4/3 and 3/3, so the error is √(7/3) and
    the degrees of freedom are (7/3)² / ((4/3)²/2 + 1²/2) = 98/25."""
    first, second = np.array([1.0, 3.0, 5.0]), np.array([2.0, 2.0, 5.0])
    assert of_means(first, second) == (pytest.approx(math.sqrt(7 / 3)), pytest.approx(98 / 25))
    found = stats.ttest_ind(first, second, equal_var=False)
    assert of_means(first, second)[1] == pytest.approx(found.df)


def test_of_unlike_numbers_the_quantile_lies_between_those_of_both() -> None:
    """Of (1, 3, 5) and (0, 0, 4, 4): both means have the variance 4/3, and Student's quantiles for
    two and three degrees of freedom are 4.303 and 3.182, in the middle 3.742."""
    error, freedom = of_means(np.array([1.0, 3.0, 5.0]), np.array([0.0, 0.0, 4.0, 4.0]))
    assert error == pytest.approx(math.sqrt(8 / 3))
    assert stats.t.ppf(0.975, freedom) == pytest.approx(3.742, abs=1e-3)
    assert cochran_cox((0.0, 2.0), (1, 7)) == 7
    assert cochran_cox((2.0, 0.0), (1, 7)) == 1


def test_beside_two_values_there_is_one_degree_of_freedom() -> None:
    assert of_means(np.array([1.0, 3.0]), np.array([2.0, 2.0, 5.0]))[1] == 1
    assert of_means(np.array([1.0, 3.0]), np.array([2.0, 2.5]))[1] == 1


@pytest.mark.parametrize(
    ("few", "many", "times"), [(3, 8, 3), (2, 8, 4), (2, 5, 6), (2, 2, 20), (8, 2, 0.25)]
)
def test_the_mean_of_few_that_scatter_more_is_not_too_certain(
    few: int, many: int, times: float
) -> None:
    """Welch's test takes equal means for different ones in 6.8, 10.7, 9.7, 6.6 and 10.7 %, that of
    Cochran and Cox, where there are two, in up to 5.8 %."""
    random, number = np.random.default_rng(5), 1500
    wrong = 0
    for _ in range(number):
        first, second = random.normal(0, times, few), random.normal(0, 1, many)
        error, freedom = of_means(first, second)
        apart = abs(float(first.mean() - second.mean()))
        wrong += apart > stats.t.ppf(0.975, freedom) * error
    assert wrong / number < 0.05 + 3 * math.sqrt(0.05 * 0.95 / number)


def test_variances_that_are_none_leave_all_degrees_of_freedom() -> None:
    assert satterthwaite((0.0, 0.0), (1, 3)) == 4
    assert satterthwaite((2.0, 0.0), (3, 5)) == pytest.approx(3)
