"""Errors and degrees of freedom, by hand and by SciPy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from tailrace.study.analysis.intervals import of_means, satterthwaite


def test_the_error_of_a_difference_of_means_is_welchs() -> None:
    """Of (1, 3) and (2, 2, 5): variances of the means 2/2 = 1 and 3/3 = 1, so the error is √2 and
    the degrees of freedom are 2² / (1²/1 + 1²/2) = 8/3."""
    first, second = np.array([1.0, 3.0]), np.array([2.0, 2.0, 5.0])
    assert of_means(first, second) == (pytest.approx(math.sqrt(2)), pytest.approx(8 / 3))
    found = stats.ttest_ind(first, second, equal_var=False)
    assert of_means(first, second)[1] == pytest.approx(found.df)


def test_variances_that_are_none_leave_all_degrees_of_freedom() -> None:
    assert satterthwaite((0.0, 0.0), (1, 3)) == 4
    assert satterthwaite((2.0, 0.0), (3, 5)) == pytest.approx(3)
