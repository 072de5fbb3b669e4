"""Simulated studies in which a column is nine tenths of another, which is where a claim ends."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tailrace.study.analysis.expect import Answer, Judgement, evaluate

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


SHARES = {
    f"from 0.9 on, and it is 0.9, {blocks} blocks: {wrong}": at_its_end(wrong, blocks)
    for blocks in (3, 5)
    for wrong in (Judgement.HELD, Judgement.NOT_HELD)
}
