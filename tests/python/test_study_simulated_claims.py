"""Claims that rest on simulated times, by arithmetic: intervals that are known, no runs needed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from tailrace.study.analysis import comparison
from tailrace.study.analysis.expect import Answer, evaluate
from tailrace.study.analysis.measured import Measured
from tailrace.study.analysis.summary import Summary

from . import study_data

METHOD = {"method": ["a", "b"]}
BOTH = {**METHOD, "target": ["real", "model"]}
Times = Mapping[tuple[Any, ...], Any]


def study(
    levels: Mapping[str, Sequence[Any]], times: Times, expect: Sequence[Mapping[str, Any]] = ()
) -> Measured:
    """`times` by levels: three numbers (value, low, high) of a simulation, or a list of what was
    measured in each block."""
    rows = []
    for place, found in times.items():
        where = dict(zip(levels, place, strict=True))
        if isinstance(found, list):
            rows += [
                where | {"block": block, "status": "done", "elapsed_s": value}
                for block, value in enumerate(found)
            ]
        else:
            names = ("elapsed_s", "simulated_low_s", "simulated_high_s")
            marks = {"block": 0, "status": "simulated", "simulated_on": "paper"}
            rows.append(where | marks | dict(zip(names, found, strict=True)))
    runs = pd.DataFrame(rows).assign(reason="")
    runs["run"] = runs["order"] = range(len(runs))
    plan = study_data.plan(levels, expect, "elapsed_s")
    plan["study"]["run"] = {"step_seconds": 0.0}
    return Measured(plan, runs)


def answer(levels: Mapping[str, Sequence[Any]], times: Times, **asked: Any) -> Answer:
    (found,) = evaluate(study(levels, times, [{"claim": "So it is.", **asked}]))
    return found


FASTER = {"factor": "method", "level": "a", "than": "b"}


@pytest.mark.parametrize(
    ("b", "said"),
    [
        ((4.0, 3.1, 5.0), "held"),  # b takes at least 3.1, a at most 3
        ((4.0, 2.9, 5.0), "undecided"),
        ((0.5, 0.4, 0.9), "not held"),  # b takes at most 0.9, a at least 1
    ],
)
def test_only_intervals_that_lie_apart_decide(b: tuple[float, ...], said: str) -> None:
    found = answer(METHOD, {("a",): (2.0, 1.0, 3.0), ("b",): b}, faster=FASTER)
    assert (str(found.answer), str(found.simulated), found.runs) == (said, "all", 0)
    assert found.estimate is not None
    assert found.estimate.low == pytest.approx(b[1] / 3)
    assert found.estimate.high == pytest.approx(b[2] / 1)
    assert found.evidence.endswith("; simulated, on paper")


def test_an_average_is_off_by_the_average() -> None:
    """Of the logarithms: each may be off by a factor of 2 in one place and of 8 in the other, 4 on
    the average, and so their ratio by 16."""
    levels = {**METHOD, "ranks": [1, 2]}
    times = {
        ("a", 1): (1.0, 0.5, 2.0),
        ("b", 1): (10.0, 5.0, 20.0),
        ("a", 2): (1.0, 0.125, 8.0),
        ("b", 2): (10.0, 1.25, 80.0),
    }
    found = answer(levels, times, faster=FASTER).estimate
    assert found is not None
    assert (found.value, found.low, found.high) == (
        pytest.approx(10),
        pytest.approx(10 / 16),
        pytest.approx(160),
    )


def test_every_step_must_surely_go_that_way() -> None:
    levels = {"ranks": [1, 2, 4]}
    times = {(1,): (4.0, 3.5, 4.5), (2,): (2.0, 1.8, 2.2), (4,): (1.0, 0.9, 1.1)}
    asked = {"factor": "ranks", "level": 4}
    assert str(answer(levels, times, falls_until=asked).answer) == "held"
    touching = {**times, (4,): (1.0, 0.9, 1.9)}
    assert str(answer(levels, touching, falls_until=asked).answer) == "undecided"
    exponent = answer(levels, times, scales={"factor": "ranks", "exponent_at_most": 0.0})
    assert str(exponent.answer) == "held"


def test_what_matters_more() -> None:
    levels = {**METHOD, "ranks": [1, 2]}
    more = {"factor": "method", "with": {"ranks": 2}, "than": {"ranks": 1}}
    times = {
        ("a", 1): (1.0, 0.9, 1.1),
        ("b", 1): (2.0, 1.9, 2.1),
        ("a", 2): (1.0, 0.9, 1.1),
        ("b", 2): (20.0, 19.0, 21.0),
    }
    found = answer(levels, times, matters_more=more)
    assert (str(found.answer), str(found.simulated)) == ("held", "all")
    wide = {**times, ("b", 2): (20.0, 1.0, 21.0)}
    assert str(answer(levels, wide, matters_more=more).answer) == "undecided"


def test_what_was_measured_scatters_beside() -> None:
    """Student's interval of the measured side, widened by the simulation's."""
    measured = [2.0, 2.2, 2.1]
    times = {("a", "real"): measured, ("a", "model"): (1.0, 0.8, 1.5)}
    levels = {"method": ["a"], "target": ["real", "model"]}
    asked = {"factor": "target", "level": "model", "than": "real"}
    found = answer(levels, times, faster=asked)
    assert (str(found.simulated), found.runs, found.estimate is not None) == ("part", 3, True)
    assert found.estimate is not None and math.isnan(found.estimate.p)
    logs = [math.log(one) for one in measured]
    mean = sum(logs) / 3
    error = math.sqrt(sum((one - mean) ** 2 for one in logs) / 2 / 3)
    # without what blocks have in common, which these three cannot tell from scatter
    assert found.estimate.value == pytest.approx(math.exp(mean))
    assert found.estimate.low <= math.exp(mean) / 1.5
    assert found.estimate.high >= math.exp(mean) / 0.8
    assert found.estimate.low >= math.exp(mean - 4.303 * error) / 1.5 * 0.999
    assert found.evidence.endswith("; partly simulated, on paper")


def test_measurements_are_what_they_are_without_simulations() -> None:
    """A simulated target beside it moves no number of the one that was run."""
    run = {("a", "real"): [2.0, 2.2, 2.1], ("b", "real"): [3.0, 3.4, 3.1]}
    beside = {("a", "model"): (1.0, 0.8, 1.5), ("b", "model"): (9.0, 8.0, 9.5)}
    asked = {"claim": "So.", "where": {"target": "real"}, "faster": FASTER}
    alone, both = study(BOTH, run, [asked]), study(BOTH, {**run, **beside}, [asked])
    (first,), (second,) = evaluate(alone), evaluate(both)
    assert first == second and str(second.simulated) == "nothing"
    effects = [Summary(one).analysis.effects for one in (alone, both)]
    assert effects[0] == effects[1] and effects[0]
    said = {f"of what was run: {finding.text}" for finding in Summary(alone).found.findings}
    more = {finding.text for finding in Summary(both).found.findings} - said
    assert more == {"writing to model: a would take the least time (simulated on paper)"}
    kinds = {caution.kind for caution in Summary(both).cautions}
    assert kinds == {caution.kind for caution in Summary(alone).cautions} | {"simulated"}


def test_a_level_without_any_run_decides_nothing() -> None:
    found = answer(METHOD, {("a",): [1.0, 1.1, 1.2]}, faster=FASTER)
    assert str(found.answer) == "undecided" and "no finished runs" in found.evidence


def test_coarse_simulations_are_told() -> None:
    found = study(METHOD, {("a",): (2.0, 1.0, 3.0), ("b",): (2.0, 1.0, 3.0)})
    (plain,) = Summary(found).cautions
    assert "coarse" not in plain.text
    (coarse,) = Summary(replace(found, runs=found.runs.assign(simulated_together=[1, 7]))).cautions
    assert coarse.text.endswith("1 of them is coarse: up to 7 calls of a rank are taken as one")


def test_two_studies_are_compared_by_their_runs() -> None:
    run = {("a", "real"): [2.0, 2.2, 2.1], ("b", "real"): [3.0, 3.4, 3.1]}
    simulated = {("a", "model"): (1.0, 0.8, 1.5), ("b", "model"): (9.0, 8.0, 9.5)}
    found = comparison.compare(study(BOTH, {**run, **simulated}), study(BOTH, run))
    assert len(found.combinations) == 2 and found.only_first == 0
