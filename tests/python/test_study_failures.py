"""Runs that fail more often where they would have been slow: no winner is named."""

from __future__ import annotations

from tailrace.study.analysis import comparison
from tailrace.study.analysis.measured import Measured
from tailrace.study.analysis.summary import Summary

from .simulated_failures import CLUSTER, failing, killed
from .study_data import study

QUICK_ONES = "of the runs that ended, which may be the quick ones"


def test_who_loses_its_slow_runs_does_not_win() -> None:
    summary = Summary(killed(3, 1.1))
    assert "tool x" in summary.headline and QUICK_ONES in summary.headline
    assert not any(finding.kind == "effect" for finding in summary.found.findings)
    assert "matter" not in summary.headline


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
