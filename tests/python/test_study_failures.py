"""Runs that fail more often where they would have been slow: no winner is named."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tailrace.study.analysis import comparison, failures, words
from tailrace.study.analysis.cells import cells
from tailrace.study.analysis.intervals import of_blocks
from tailrace.study.analysis.measured import Measured
from tailrace.study.analysis.responses import response
from tailrace.study.analysis.summary import Summary

from .simulated_failures import ALONE, CLUSTER, FAILING, failing, killed, softly, wrongly_told
from .simulated_gaps import GAPPY
from .study_data import study

QUICK_ONES = "of the runs that ended, which may be the quick ones"


def test_who_loses_its_slow_runs_does_not_win() -> None:
    summary = Summary(killed(3, 1.1))
    assert "tool x" in summary.headline and QUICK_ONES in summary.headline
    assert not any(finding.kind == "effect" for finding in summary.found.findings)
    assert "cannot tell yet what matters" in summary.headline


def test_who_takes_longer_all_the_same_takes_at_least_so_long() -> None:
    summary = Summary(killed(3, 2.0, limit_s=22))
    (effect,) = [f for f in summary.found.findings if f.kind == "effect"]
    assert effect.text.startswith("tool x takes") and "(at least " in effect.text


def test_few_failures_anywhere_cost_themselves() -> None:
    measured = study(CLUSTER, lambda w: 10.0 * (1.3 if w["target"] == "b" else 1.0), blocks=4)
    summary = Summary(failing(measured, lambda run: 0.1, 1))
    assert QUICK_ONES not in summary.headline
    (effect,) = [f for f in summary.found.findings if f.kind == "effect"]
    assert "at least" not in effect.text


def test_what_fails_in_every_run_thins_nothing() -> None:
    measured = study(CLUSTER, lambda w: 10.0 * (1.3 if w["target"] == "b" else 1.0), blocks=4)
    bad = failing(measured, lambda run: run["target"] == "b" and run["method"] == "z", 1)
    assert not bad.failing("elapsed_s").thinned.any()
    assert QUICK_ONES not in Summary(bad).headline


def test_of_a_rate_nothing_is_concluded_where_runs_fail() -> None:
    base = killed(3, 2.0)
    runs = base.runs.assign(speed=100 / base.runs["elapsed_s"])
    given = {"responses": {"speed": {"better": "more"}}}
    plan = {**base.plan, "response": "speed", "study": {**base.plan["study"], **given}}
    summary = Summary(Measured(plan, runs))
    assert QUICK_ONES in summary.headline and "beats" not in summary.headline
    assert not any(finding.kind == "effect" for finding in summary.found.findings)


def test_two_studies_are_not_told_apart_by_runs_that_failed_in_one() -> None:
    whole = study({"tool": ["x", "y"]}, lambda w: 10.0, blocks=12, scatter=0.3)
    thinned = failing(whole, lambda run: run["tool"] == "x" and run["elapsed_s"] > 9.5, 1)
    found = comparison.compare(whole, thinned)
    assert not any(one.certain for one in found.combinations)
    slower = study({"tool": ["x", "y"]}, lambda w: 40.0, blocks=12, scatter=0.3, seed=2)
    worse = failing(slower, lambda run: run["tool"] == "x" and run["elapsed_s"] > 45, 1)
    x, y = comparison.compare(whole, worse).combinations
    assert x.certain and x.ratio.open and y.certain and not y.ratio.open


def counted(errors: dict[str, list[float]]) -> Summary:
    """So many errors with each tool, in each of four blocks, at each number of ranks."""
    base = study({"ranks": [1, 2, 4, 8], "tool": ["x", "y"]}, lambda w: 10.0, blocks=4)
    faster = {"factor": "tool", "level": "y", "than": "x"}
    given = {
        "responses": {"errors": {"better": "less"}},
        "expect": [{"claim": "?", "faster": faster, "response": "errors"}],
    }
    runs = base.runs.assign(
        errors=[errors[r["tool"]][r["block"]] for r in base.runs.to_dict("records")]
    )
    plan = {**base.plan, "response": "errors", "study": {**base.plan["study"], **given}}
    return Summary(Measured(plan, runs))


def test_what_has_no_ratio_decides_nothing() -> None:
    """y makes no errors in half of its runs, and more in the others."""
    summary = counted({"x": [10.0, 10.2, 9.9, 10.1], "y": [12.0, 0.0, 12.1, 0.0]})
    assert "nothing is concluded of such combinations" in summary.headline
    assert not any(finding.kind == "effect" for finding in summary.found.findings)
    assert [str(answer.answer) for answer in summary.answers] == ["undecided"]


def test_as_fast_is_not_faster() -> None:
    assert [str(a.answer) for a in counted({"x": [5.0] * 4, "y": [5.0] * 4}).answers] == [
        "not held"
    ]


def test_what_a_run_alone_in_its_block_says_is_the_block() -> None:
    """Degrees of freedom by arithmetic: runs less combinations less blocks, and one for both."""
    logs = np.array([[1.0, 2.0, 3.0, 4.0], [1.5, 2.6, math.nan, math.nan]])
    found = cells(logs)
    assert found is not None and found.all_freedom == pytest.approx(6 - 2 - 4 + 1)
    assert cells(np.array([[1.0, 2.0, 3.0], [1.5, math.nan, math.nan]])) is None


def test_unequal_gaps_leave_each_combination_its_degrees() -> None:
    random = np.random.default_rng(1)
    logs = random.normal(0, 1, (5, 4))
    logs[[0, 0, 2, 4], [0, 1, 2, 3]] = math.nan
    there = np.isfinite(logs)
    design = np.array(
        [np.concatenate([np.eye(5)[row], np.eye(4)[column]]) for row, column in np.argwhere(there)]
    )
    hat = design @ np.linalg.pinv(design)
    rows = np.argwhere(there)[:, 0]
    left = [float(np.sum((1 - np.diag(hat))[rows == row])) for row in range(5)]
    found = cells(logs)
    assert found is not None and found.freedom == pytest.approx(left)


def test_few_runs_of_which_some_fail_make_no_effect() -> None:
    happens = GAPPY["2 combinations, 3 blocks, 40%"]
    assert sum(map(happens, range(40))) <= 3


def test_one_lost_run_of_five_may_be_the_slow_one() -> None:
    lost = [killed(seed, levels=ALONE) for seed in range(60)]
    single = [each for each in lost if (each.runs["status"] == "failed").sum() == 1]
    assert single and all(each.failing("elapsed_s").thinned.any() for each in single)
    happens = FAILING["x takes as long, 5 blocks, nothing else is run"]
    assert sum(map(happens, range(60))) <= 3


def test_an_average_without_places_says_that_it_is() -> None:
    """x is quicker with few ranks and slower with many, and loses its slow runs with 8."""
    ratios = {1: 0.6, 2: 0.8, 4: 0.9, 8: 2.5}
    measured = study(
        {"ranks": [1, 2, 4, 8], "tool": ["x", "y"]},
        lambda w: 10.0 * (ratios[w["ranks"]] if w["tool"] == "x" else 1.0),
        blocks=5,
    )
    lost = failing(measured, lambda run: 0.6 if run["elapsed_s"] > 20 else 0.0, 1)
    told = [f.text for f in Summary(lost).found.findings if f.kind == "effect"]
    assert told and all(text.endswith("where no slow run may be missing") for text in told)


def test_what_no_block_has_both_of_is_no_number_of_times() -> None:
    """Of two levels beside a control each may have ended well in another block only."""
    never = of_blocks(np.full(2, np.nan))
    assert words.compared(never) == words.times(never)
    assert words.times(never) == "an unknown number of times (no block has both)"
    becomes = words.becomes(never, response("elapsed_s", {}))
    assert becomes == "cannot be compared (no block has both)"


def test_what_failed_may_have_been_the_slowest() -> None:
    """The lower half of a normal distribution has its mean 0.798 below the whole one's, and 0.603
    times its scatter."""
    found = failures.missing(np.array([0.0, 0.5]), np.array([0.1, 0.1]))
    assert found == pytest.approx([0.0, 0.1 * 0.798 / 0.603], rel=1e-3)


def test_few_failures_may_be_why_one_is_quicker() -> None:
    """4 of 20 runs with y fail and 2 of 20 with x, too few to say that they gather."""
    measured = softly(7)
    assert not measured.failing("elapsed_s").thinned.any()
    assert not wrongly_told(7)
    below, above = measured.compared("elapsed_s").margins.T
    assert not below.any() and above.any()
    # of a rate nobody knows which way it is
    runs = measured.runs.assign(speed=100 / measured.runs["elapsed_s"])
    below, above = Measured(measured.plan, runs).compared("speed").margins.T
    assert list(below) == list(-above)
