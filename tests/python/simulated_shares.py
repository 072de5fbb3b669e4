"""Simulated studies in which a column is so much of another that a claim just ends there."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tailrace.study.analysis.expect import Answer, Judgement, evaluate
from tailrace.study.analysis.measured import Measured

from .study_data import study

PLACES = {"ranks": [1, 2, 4, 8], "target": ["a", "b", "c"]}
CLAIM = {
    "claim": "?",
    "response": "write_s",
    "share": {"of": "elapsed_s", "low": 0.9, "high": 1.0},
}


def share_answer(truth: float, blocks: int, seed: int) -> Answer:
    random = np.random.default_rng([seed, 1])
    others = {"write_s": lambda where, elapsed: elapsed * truth * math.exp(random.normal(0, 0.02))}
    measured = study(
        PLACES, lambda where: 10.0, blocks=blocks, seed=seed, others=others, expect=[CLAIM]
    )
    (answer,) = evaluate(measured)
    return answer


def at_its_end(wrong: Judgement, blocks: int) -> Callable[[int], bool]:
    return lambda seed: share_answer(0.9, blocks, seed).answer is wrong


def in_each_place(
    odd: float, wrong: Judgement, blocks: int, scatter: float
) -> Callable[[int], bool]:
    """15 to 25 % everywhere, where it is 20 % but in one place."""
    asked = {"of": "elapsed_s", "low": 0.15, "high": 0.25}
    claim = {"claim": "?", "response": "write_s", "share": asked, "everywhere": True}
    levels = {"tool": ["x", "y"], "target": ["a", "b", "c"]}

    def false(seed: int) -> bool:
        random = np.random.default_rng([seed, 2])

        def write_s(where: Mapping[str, Any], elapsed: float) -> float:
            share = odd if (where["tool"], where["target"]) == ("y", "c") else 0.2
            return elapsed * share * math.exp(random.normal(0, scatter))

        measured = study(
            levels,
            lambda where: 10.0,
            blocks=blocks,
            seed=seed,
            others={"write_s": write_s},
            expect=[claim],
        )
        (answer,) = evaluate(measured)
        return answer.answer is wrong

    return false


SHARES = {
    f"from 0.9 on, and it is 0.9, {blocks} blocks: {wrong}": at_its_end(wrong, blocks)
    for blocks in (3, 5)
    for wrong in (Judgement.HELD, Judgement.NOT_HELD)
} | {
    f"{odd:.0%} in one place, else 20 %, scatter {scatter:.0%}, {blocks} blocks: {wrong}": (
        in_each_place(odd, wrong, blocks, scatter)
    )
    for blocks in (3, 5)
    for scatter in (0.02, 0.1)
    for odd, wrong in ((0.26, Judgement.HELD), (0.24, Judgement.NOT_HELD))
}


def printed(asked: tuple[float, float], wrong: Judgement, blocks: int) -> Callable[[int], bool]:
    """26 % of 3.45 s, printed as 1 of 3 s."""
    share = {"of": "elapsed_s", "low": asked[0], "high": asked[1]}
    claim = {"claim": "?", "response": "write_s", "share": share}

    def false(seed: int) -> bool:
        random = np.random.default_rng([seed, 3])
        measured = study(
            PLACES,
            lambda where: 3.45,
            blocks=blocks,
            scatter=0.003,
            seed=seed,
            others={"write_s": lambda where, elapsed: elapsed * 0.26 * random.normal(1, 0.003)},
            expect=[claim],
        )
        runs = measured.runs.copy()
        runs[["elapsed_s", "write_s"]] = np.round(runs[["elapsed_s", "write_s"]])
        (answer,) = evaluate(Measured(measured.plan, runs))
        return answer.answer is wrong

    return false


SHARES |= {
    f"26 %, printed in whole seconds, {blocks} blocks: {asked[0]:.0%} to {asked[1]:.0%} {wrong}": (
        printed(asked, wrong, blocks)
    )
    for blocks in (3, 5)
    for asked, wrong in (((0.2, 0.3), Judgement.NOT_HELD), ((0.3, 0.4), Judgement.HELD))
}
