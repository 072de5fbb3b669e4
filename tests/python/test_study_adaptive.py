"""Studies that end once their runs seem to scatter little are known to scatter more."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from tailrace.study.analysis.effects import analyse
from tailrace.study.analysis.ended_early import times_larger
from tailrace.study.analysis.measured import Measured
from tailrace.study.running.repetitions import LEVEL, half_width

from .simulated_adaptive import until_known
from .study_data import study

# Of the simulation itself, three standard errors.
CHANCE = 0.006


def without_adaptive(measured: Measured) -> Measured:
    given = {key: v for key, v in measured.plan["study"].items() if key != "adaptive"}
    return Measured({**measured.plan, "study": given}, measured.runs)


def test_intervals_allow_for_when_a_study_ended() -> None:
    measured = until_known("2 combinations", 0.03, seed=1)
    times = times_larger(without_adaptive(measured).compared("elapsed_s").logs, 3)
    assert 1 + 0.55 / 2 / 2**1.5 <= times <= 1 + 0.55 / 2
    (wide,), (narrow,) = (
        analyse(one.compared("elapsed_s")).effects for one in (measured, without_adaptive(measured))
    )
    assert wide.size.value == pytest.approx(narrow.size.value)
    width = [math.log(one.size.high / one.size.low) for one in (wide, narrow)]
    assert width[0] / width[1] == pytest.approx(times)


def test_a_study_that_looks_only_when_it_is_over_is_left_alone() -> None:
    measured = study({"tool": ["x", "y"]}, lambda where: 10.0)
    given = {"adaptive": {"interval": 0.05, "at_most": 3}, "repetitions": 3}
    plan = {**measured.plan, "study": given}
    tables = [one.compared("elapsed_s") for one in (measured, Measured(plan, measured.runs))]
    assert np.array_equal(tables[0].logs, tables[1].logs)


# The narrowest logarithms at which the interval is as narrow as asked for, by number of runs.
QUANTILES = {n: float(stats.t.ppf(0.5 + LEVEL / 2, n - 1)) for n in range(2, 11)}
ENDS_AT = {n: math.asinh(0.05) * math.sqrt(n) / t for n, t in QUANTILES.items()}


def blocks_of(logs: np.ndarray, least: int) -> int:
    """When such a study ends, of at most ten blocks."""
    blocks = least
    while blocks < 10 and logs[:, :blocks].std(axis=1, ddof=1).max() > ENDS_AT[blocks]:
        blocks += 1
    return blocks


def test_the_simulation_below_ends_when_studies_do() -> None:
    values = np.exp(np.random.default_rng(1).normal(0, 0.02, 4))
    ends = np.log(values).std(ddof=1) <= ENDS_AT[4]
    assert ends == (half_width(values.tolist()) <= 0.05)


@pytest.mark.parametrize("least", [2, 3, 5])
@pytest.mark.parametrize(("of", "interval"), [((1.0, 0.0), 0.7), ((1.0, 1.0), 1.0)])
def test_what_is_certain_is_false_in_five_of_a_hundred(
    of: tuple[float, float], interval: float, least: int
) -> None:
    """Of the mean difference of two combinations, of which one scatters, or both do: how often
    Student's interval of 95 % lacks that it is none, by the normal distribution of the mean.
    Without allowing for when it ends 12, 9 and 7 in a hundred of one, and 6.5, 6.3 and 5.7 of
    two."""
    random, missed = np.random.default_rng(1), []
    scatter = np.array(of) * math.asinh(0.05) / interval
    for _ in range(2000):
        logs = random.normal(0, 1, (2, 10)) * scatter[:, None]
        logs = logs[:, : (blocks := blocks_of(logs, least))]
        apart = times_larger(logs, least) * float(np.std(logs[1] - logs[0], ddof=1))
        missed.append(math.erfc(QUANTILES[blocks] * apart / math.hypot(*scatter) / math.sqrt(2)))
    assert np.mean(missed) < 0.05 + CHANCE
