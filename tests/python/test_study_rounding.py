"""Times that programs print in whole seconds are known to half a second, however often they are
repeated."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tailrace.study.analysis import rounding
from tailrace.study.analysis.comparison import compare
from tailrace.study.analysis.expect import Answer, Judgement, evaluate
from tailrace.study.analysis.measured import Measured
from tailrace.study.analysis.summary import Summary

from .simulated_curves import found_in
from .simulated_rounding import of_tools, rounded
from .study_data import study

SECONDS = np.array([3.0, 3, 4, 4, 3, 7])


@pytest.mark.parametrize(
    ("values", "step"),
    [
        (SECONDS, 1.0),
        (SECONDS / 10, 0.1),
        (SECONDS + 0.001, 0.0),
        # half a step is less than what does not matter
        (SECONDS + 30, 0.0),
        (SECONDS * 60, 60.0),
        # few numbers are round by chance
        (SECONDS[:5], 0.0),
        # a clock that is finer than it looks
        (np.array([3.0, 3, 4, 4, 3.25, 7]), 0.0),
    ],
)
def test_steps_are_known_by_their_multiples(values: np.ndarray, step: float) -> None:
    assert rounding.step_of(values) == step


def test_runs_within_a_step_are_known_to_half_of_it() -> None:
    same, over_three = [4.0, 4, 4], [4.0, 5, 6]
    found = rounding.margins(np.log(np.array([same, over_three])), 1.0)
    assert found[0] == pytest.approx([math.log(3.5 / 4), math.log(4.5 / 4)], rel=1e-4)
    assert not found[1].any()


def test_what_lies_on_either_side_of_a_half_is_not_a_third_longer() -> None:
    """3.45 and 3.55 s print 3 and 4."""
    measured = of_tools(3.55 / 3.45, 0.003, 3, seed=1, by=1.1)
    summary = Summary(measured)
    assert "takes" not in summary.headline
    caution = {one.kind: one.text for one in summary.cautions}["coarse clock"]
    assert caution.startswith("elapsed time is printed in steps of 1 s; of 4 combinations all")
    assert [one.answer for one in evaluate(measured)] == [Judgement.UNDECIDED]


def test_what_takes_twice_as_long_does_so() -> None:
    measured = of_tools(2.0, 0.003, 3, seed=1, by=1.1)
    (effect,) = [one for one in found_in(measured).findings if one.kind == "effect"]
    # 7 over 3, of 6.5 to 7.5 over 2.5 to 3.5
    assert effect.estimate is not None
    assert effect.estimate.low == pytest.approx(6.5 / 3.5, rel=1e-3)
    assert effect.estimate.high == pytest.approx(7.5 / 2.5, rel=1e-3)
    assert [one.answer for one in evaluate(measured)] == [Judgement.HELD]


def test_two_studies_differ_by_no_step() -> None:
    levels = {"tool": ["x", "y"], "size": ["s", "l"]}
    first, second = (
        rounded(study(levels, lambda where, t=t: t, scatter=0.01, seed=seed))
        for seed, t in enumerate((3.45, 3.55))
    )
    assert not compare(first, second).overall.decided
    assert not any(one.certain for one in compare(first, second).combinations)


@pytest.mark.filterwarnings("error")
def test_blocks_that_are_alike_but_for_their_average_are_compared_in_silence() -> None:
    levels = {"tool": ["x", "y", "z"], "size": ["s", "l"]}
    first, second = (
        rounded(study(levels, lambda w, t=t: t * (1 + (w["tool"] == "z")), scatter=0.002))
        for t in (3.1, 7.1)
    )
    assert "cannot be told" in compare(first, second).headline


def test_a_lead_of_less_than_a_step_is_none() -> None:
    times = {1: 3.45, 2: 3.45, 4: 9.0, 8: 20.0}
    measured = study(
        {"ranks": [1, 2, 4, 8], "tool": ["x", "y"]},
        lambda w: times[w["ranks"]] + 0.1 * (w["tool"] == "y") * (1 if w["ranks"] < 4 else -50),
        scatter=0.002,
    )
    found = found_in(rounded(measured))
    assert not found.crossovers
    assert all(ahead.lead.first == "y" for ahead in found.leads)


def _share(low: float, high: float, none_at: str = "", everywhere: bool = False) -> Answer:
    """Of x, 26 % of 3.45 s, which print 1 and 3; but nothing at one place."""
    asked = {"of": "elapsed_s", "low": low, "high": high}
    measured = study(
        {"tool": ["x", "y"], "target": ["a", "b", "c"]},
        lambda where: 3.45,
        scatter=0.003,
        others={"write_s": lambda w, elapsed: 0.0 if w["target"] == none_at else 0.26 * elapsed},
        expect=[
            {
                "claim": "?",
                "response": "write_s",
                "share": asked,
                "where": {"tool": "x"},
                "everywhere": everywhere,
            }
        ],
    )
    runs = measured.runs.copy()
    runs[["elapsed_s", "write_s"]] = np.round(runs[["elapsed_s", "write_s"]])
    (answer,) = evaluate(Measured(measured.plan, runs))
    return answer


@pytest.mark.parametrize("everywhere", [False, True])
def test_a_share_is_known_no_better_than_what_it_is_made_of(everywhere: bool) -> None:
    found = _share(0.2, 0.3, everywhere=everywhere)
    assert found.answer is Judgement.UNDECIDED
    assert found.estimate is not None
    assert found.estimate.low == pytest.approx(0.5 / 3.5, rel=1e-3)
    assert found.estimate.high == pytest.approx(1.5 / 2.5, rel=1e-3)
    assert _share(0.1, 0.7, everywhere=everywhere).answer is Judgement.HELD
    assert _share(0.7, 0.9, everywhere=everywhere).answer is Judgement.NOT_HELD


@pytest.mark.parametrize("everywhere", [False, True])
def test_a_share_is_not_held_where_nothing_was_printed_in_some_place(everywhere: bool) -> None:
    found = _share(0.1, 0.7, none_at="c", everywhere=everywhere)
    assert found.answer is Judgement.UNDECIDED
    assert found.evidence.endswith("; without 1 combination of which a run has 0")
    assert _share(0.7, 0.9, none_at="c", everywhere=everywhere).answer is Judgement.NOT_HELD
