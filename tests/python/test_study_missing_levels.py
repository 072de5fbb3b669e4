"""What is said where a level, or a place, has no result: its runs failed, have yet to be made, or
gave 0."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from tailrace.study.analysis.expect import Answer, evaluate
from tailrace.study.analysis.measured import Measured
from tailrace.study.analysis.summary import Summary

from .simulated_curves import Where
from .study_data import study
from .test_study_report import printed_of

LEVELS = {"ranks": [1, 2, 4, 8], "tool": ["x", "y"]}
Some = Callable[[Where], bool]


def printed(measured: Measured) -> str:
    return " ".join(printed_of(Summary(measured)).split())


def falls(where: Where) -> float:
    return 10.0 / where["ranks"]


def failed(measured: Measured, gone: Some) -> Measured:
    runs = measured.runs.copy()
    bad = [gone(run) for run in runs.to_dict("records")]
    runs.loc[bad, ["status", "elapsed_s"]] = ["failed", np.nan]
    return Measured(measured.plan, runs)


def eight(where: Where) -> bool:
    return bool(where["ranks"] == 8)


def answered(expect: Mapping[str, Any], gone: Some, power: float = 1.0) -> Answer:
    given = [{"claim": "So it is.", **expect}]
    made = study(LEVELS, lambda w: 10.0 / w["ranks"] ** power, expect=given, scatter=0.01)
    (answer,) = evaluate(failed(made, gone))
    return answer


EVERY_LEVEL = {
    "falls_until": ({"falls_until": {"factor": "ranks", "level": 8}}, 1.0),
    "rises_beyond": ({"rises_beyond": {"factor": "ranks", "level": 1}}, -1.0),
    "flat_beyond": ({"flat_beyond": {"factor": "ranks", "level": 1}}, 0.0),
    "does_not_matter": ({"does_not_matter": {"factor": "ranks", "within": 0.2}}, 0.0),
    "scales": ({"scales": {"factor": "ranks", "exponent_at_most": -0.8}}, 1.0),
}


@pytest.mark.parametrize("kind", EVERY_LEVEL)
def test_what_all_levels_must_do_is_open_where_one_has_no_result(kind: str) -> None:
    expect, power = EVERY_LEVEL[kind]
    assert answered(expect, lambda w: False, power).answer == "held"
    found = answered(expect, eight, power)
    assert found.answer == "undecided" and "; nothing is known with 8 ranks" in found.evidence


def test_a_level_that_is_not_spoken_of_may_be_missing() -> None:
    expect = {"falls_until": {"factor": "ranks", "level": 4}}
    assert answered(expect, eight).answer == "held"


def test_what_is_surely_so_is_not_undone_by_a_level_without_result() -> None:
    assert answered({"matters": {"factor": "ranks"}}, eight).answer == "held"
    flat = {"flat_beyond": {"factor": "ranks", "level": 1}}
    assert answered(flat, eight).answer == "not held"


@pytest.mark.parametrize(
    "expect",
    [
        {"falls_until": {"factor": "ranks", "level": 8}},
        {"matters": {"factor": "ranks"}},
    ],
)
def test_everywhere_is_where_nothing_is_known_too(expect: Mapping[str, Any]) -> None:
    expect = {**expect, "everywhere": True}
    assert answered(expect, lambda w: False).answer == "held"
    found = answered(expect, lambda w: w["tool"] == "y")
    assert found.answer == "undecided"
    assert found.evidence.endswith("; nothing is known of 1 further place")


def test_the_most_with_a_result_is_not_the_most_that_was_tried() -> None:
    text = printed(failed(study(LEVELS, falls), eight))
    assert "elapsed time falls until 4 ranks, the most with a result" in text
    assert "that was tried" not in text


def test_what_one_tool_does_is_not_said_of_both() -> None:
    text = printed(failed(study(LEVELS, falls), lambda w: w["tool"] == "y"))
    assert "• tool x: elapsed time falls until 8 ranks, the most that was tried" in text


def errors(number: Callable[[Where], int]) -> Measured:
    made = study(LEVELS, falls)
    runs = made.runs.assign(errors=[number(run) for run in made.runs.to_dict("records")])
    given = {**made.plan["study"], "responses": {"errors": {"words": "errors", "better": "less"}}}
    return Measured({**made.plan, "response": "errors", "study": given}, runs)


def test_numbers_that_are_all_0_are_no_runs_that_are_missing() -> None:
    """Of three runs each it was said that with one nothing is certain yet."""
    measured = errors(lambda w: 0)
    assert Summary(measured).headline == (
        "All 24 runs gave 0 or less as errors; that has no ratio, and nothing is concluded of such"
        " combinations."
    )
    text = printed(measured)
    assert "too few runs" not in text and "of each combination" not in text


def test_a_number_that_is_0_is_one() -> None:
    text = printed(errors(lambda w: 0 if w["tool"] == "x" else 7))
    assert "12 runs of 24 gave 0 or less as errors, all of them with tool x;" in text
    assert "too few runs" not in text


def test_a_run_that_was_ended_took_nobody_knows_how_long() -> None:
    """Its interval went from the limit to the limit."""
    made = study(LEVELS, falls, scatter=0.01)
    runs = made.runs.copy()
    runs.loc[runs["ranks"] == 1, ["status", "elapsed_s"]] = ["timeout", np.nan]
    given = {**made.plan["study"], "run": {"time_limit_s": 8.0}}
    measured = Measured({**made.plan, "study": given}, runs)
    assert printed(measured).count("at least 8.00 s") == 2
    (response, *_) = Summary(measured).as_json()["responses"]
    ends = {one["levels"]["ranks"]: (one["low"], one["high"]) for one in response["combinations"]}
    assert ends[1] == (pytest.approx(8.0), None) and None not in ends[2]
