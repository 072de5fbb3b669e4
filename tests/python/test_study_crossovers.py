"""Who overtakes whom: crossovers are claimed where there are some, and not where curves merge."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import pytest

from tailrace.study.analysis import crossover
from tailrace.study.analysis.effects import analyse
from tailrace.study.analysis.expect import Judgement, evaluate
from tailrace.study.analysis.findings import Found, find
from tailrace.study.analysis.measured import Measured
from tailrace.study.analysis.summary import Summary

from .simulated_curves import INTERACTION, at_a_limit, ended
from .study_data import study

RANKS = [1, 2, 4, 8, 16, 32]
STUDIES = 60


def merging(gain: Callable[[int], float]) -> Callable[[Any], float]:
    """x takes less time than y by that share."""
    return lambda where: 10.0 * (1 - gain(where["ranks"]) * (where["tool"] == "x"))


SHAPES = {
    "equal from 4 on": merging(lambda ranks: {1: 0.3, 2: 0.2}.get(ranks, 0.0)),
    "equal until 8": merging(lambda ranks: {16: 0.2, 32: 0.3}.get(ranks, 0.0)),
    "never equal": merging(lambda ranks: 0.4 / ranks),
}


def found_in(measured: Measured) -> Found:
    return find(measured, analyse(measured.table(measured.response)))


def of_shape(time_s: Callable[[Any], float], seed: int, blocks: int = 3) -> Measured:
    levels = {"ranks": RANKS, "tool": ["x", "y"]}
    return study(levels, time_s, blocks=blocks, scatter=0.05, seed=seed)


def claims(time_s: Callable[[Any], float], studies: int, blocks: int = 3) -> int:
    return sum(bool(found_in(of_shape(time_s, seed, blocks)).crossovers) for seed in range(studies))


@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize("blocks", [3, 10])
@pytest.mark.parametrize("shape", SHAPES)
def test_no_crossover_is_claimed_where_curves_merge(shape: str, blocks: int) -> None:
    """At most 5 %: of 60 studies no more than 7, which such a rate exceeds once in 85 times."""
    assert claims(SHAPES[shape], STUDIES, blocks) <= 7


@pytest.mark.slow
def test_a_planted_crossover_is_found_where_its_size_allows() -> None:
    def crosses(where: Any) -> float:
        return 10.0 if where["tool"] == "x" else 10.0 * (6 / where["ranks"]) ** 0.4

    assert claims(crosses, STUDIES) >= 56


def sentences(measured: Measured, kind: str) -> list[str]:
    return [finding.text for finding in found_in(measured).findings if finding.kind == kind]


def test_levels_that_are_listed_out_of_order_are_put_in_order() -> None:
    measured = study(
        {"ranks": [8, 1, 32, 4, 2, 16], "tool": ["x", "y"]},
        lambda w: w["ranks"] ** -0.1 * (1.0 if w["tool"] == "x" else (6 / w["ranks"]) ** 0.4),
        scatter=0.02,
        expect=[{"claim": "?", "falls_until": {"factor": "ranks", "level": 32}}],
    )
    (crossing,) = found_in(measured).crossovers
    assert crossing.crossover.low <= 6 <= crossing.crossover.high
    assert {along.curve.levels for along in found_in(measured).trends} == {(1, 2, 4, 8, 16, 32)}
    (answer,) = evaluate(measured)
    assert answer.answer is Judgement.HELD


def test_where_one_side_is_uncertain_that_is_said() -> None:
    """The numbers of the ranks are those of the truth in most studies, and never beyond."""
    assert sentences(of_shape(SHAPES["equal from 4 on"], 1, 10), "lead") == [
        "tool x beats y until 2 ranks; from 4 ranks on they cannot be told apart"
    ]
    assert sentences(of_shape(SHAPES["equal until 8"], 1, 10), "lead") == [
        "tool x beats y from 16 ranks on; until 8 ranks they cannot be told apart"
    ]


# --- a number of the user's program: gflops, of which y has fewer until about 5 nodes


def gflops(better: str | None) -> Measured:
    def value(where: Any, _: float) -> float:
        power = 0.5 if where["tool"] == "x" else 0.9
        return (1.0 if where["tool"] == "x" else 0.53) * where["ranks"] ** power

    measured = study(
        {"ranks": RANKS, "tool": ["x", "y"]},
        lambda where: 10.0,
        blocks=5,
        others={"gflops": lambda where, elapsed: value(where, elapsed) * (elapsed / 10) ** 0.1},
        response="gflops",
    )
    given = {} if better is None else {"gflops": {"words": "speed", "better": better}}
    return Measured(measured.plan | {"study": {"expect": [], "responses": given}}, measured.runs)


@pytest.mark.parametrize(
    ("better", "says"),
    [
        ("more", r"tool x beats y below "),
        ("less", r"tool y beats x below "),
        (None, r"tool y has a lower gflops than x below "),
    ],
)
def test_nobody_beats_anybody_unless_the_study_says_what_is_better(
    better: str | None, says: str
) -> None:
    """0.53 · n^0.9 = n^0.5 at n = (1 / 0.53)^2.5 = 4.9."""
    measured = gflops(better)
    (sentence,) = sentences(measured, "crossover")
    assert sentence.startswith(says)
    assert sentence.endswith(", and a higher one above" if better is None else ", and loses above")
    (crossing,) = found_in(measured).crossovers
    assert crossing.crossover.at == pytest.approx(math.pow(1 / 0.53, 2.5), rel=0.02)
    assert crossing.crossover.where == {}
    text = " ".join(finding.text for finding in found_in(measured).findings)
    assert better is not None or not any(word in text for word in ("beats", "loses", "best"))


@pytest.mark.parametrize(
    ("ratios", "says"),
    [
        (
            (0.7, 0.8, 1.25, 1.25, 0.8, 0.7),
            [
                "tool x beats y below 2.8 ranks, and loses above, until 8 ranks",
                "tool y beats x from 4 to 11.3 ranks, and loses above",
            ],
        ),
        (
            (0.6, 0.8, 1.3, 1.3, 1.0, 1.0),
            [
                "tool x beats y below 2.8 ranks, and loses above, until 8 ranks; from 16 ranks on"
                " they cannot be told apart"
            ],
        ),
    ],
)
def test_it_is_said_how_far_the_one_that_overtakes_stays_ahead(
    ratios: tuple[float, ...], says: list[str]
) -> None:
    by_ranks = dict(zip(RANKS, ratios, strict=True))
    measured = study(
        {"ranks": RANKS, "tool": ["x", "y"]},
        lambda where: 10.0 * (by_ranks[where["ranks"]] if where["tool"] == "x" else 1.0),
        blocks=5,
        scatter=0.005,
    )
    told = [
        re.sub(r" \(95 % interval [^)]*\)", "", text) for text in sentences(measured, "crossover")
    ]
    assert told == says


def test_an_interval_that_ends_at_a_level_ends_there() -> None:
    """Of 16 by logarithm and back is less than 16 by the last digit."""
    assert math.exp(math.log(16)) < 16
    assert crossover._place(math.log(16)) == 16.0


def test_an_average_that_depends_is_no_answer_by_itself() -> None:
    """y takes longer on the average, and less time at 32 ranks."""
    ratios = dict(zip(RANKS, (3.0, 2.5, 2.0, 1.5, 1.1, 0.8), strict=True))
    measured = study(
        {"ranks": RANKS, "tool": ["x", "y"]},
        lambda where: 10.0 * (ratios[where["ranks"]] if where["tool"] == "y" else 1.0),
        scatter=0.01,
    )
    headline = Summary(measured).headline
    assert "averaged" in headline or "the elapsed time of" not in headline
    (effect,) = [text for text in sentences(measured, "effect") if text.startswith("tool y")]
    assert effect.endswith("averaged over everything else, on which it depends")


def test_a_limit_makes_no_interaction_and_hides_no_effect() -> None:
    """Where everything that writes to b is ended, b takes at least so much longer than a."""
    limited = at_a_limit(9, 3, INTERACTION)
    assert not any(limited(seed) for seed in range(3))
    measured = ended(
        study(
            {"ranks": [1, 2, 4], "target": ["a", "b"]},
            lambda where: 2.0 if where["target"] == "a" else 60.0,
            scatter=0.05,
        ),
        10.0,
    )
    found = find(measured, analyse(measured.table(measured.response)))
    (effect,) = [finding for finding in found.findings if finding.kind == "effect"]
    assert effect.text.startswith("writing to b takes") and "(at least 4." in effect.text


def test_trends_of_runs_that_were_ended_have_open_ends() -> None:
    """With one rank all are ended after 20 s; 2 are quickest, whatever the tool."""
    times = {"x": {1: 30.0, 2: 8.0, 4: 11.0}, "y": {1: 30.0, 2: 8.0, 4: 16.0}}
    levels = {"ranks": [1, 2, 4], "tool": ["x", "y"]}
    found = found_in(ended(study(levels, lambda w: times[w["tool"]][w["ranks"]]), 20.0))
    (trend,) = [one for one in found.findings if one.kind == "trend"]
    assert "e+300" not in trend.evidence and "e-300" not in trend.evidence
    assert "2 against 1 rank: " in trend.evidence and " times, at most 0." in trend.evidence, trend
