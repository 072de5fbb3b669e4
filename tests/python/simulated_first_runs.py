"""Simulated studies in which the first run of each block takes longer, and nothing else does; and
such in which two blocks are all that there is."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tailrace.study.analysis.expect import Judgement, evaluate
from tailrace.study.analysis.findings import Found
from tailrace.study.analysis.measured import Measured

from .simulated_curves import Where, found_in
from .study_data import study

TOOL = {"tool": ["x", "y"]}
DESIGNS: dict[str, Mapping[str, list[Any]]] = {
    "2 combinations": TOOL,
    "3 combinations": {"tool": ["x", "y", "z"]},
    "4 combinations": {**TOOL, "size": ["s", "l"]},
    "12 combinations": {**TOOL, "ranks": [1, 2, 4, 8, 16, 32]},
}
FASTER = [{"claim": "?", "faster": {"factor": "tool", "level": "x", "than": "y"}}]
QUIET = {"unknown", "no effect", "runs"}


def says_something(found: Found) -> bool:
    return any(str(finding.kind) not in QUIET for finding in found.findings)


def slow_first_runs(measured: Measured, times: float, left: float = 0.0) -> Measured:
    """The first run of each block takes so many times as long; of what is more, each run after it
    keeps the part that is `left` of that before."""
    runs = measured.runs.copy()
    place = runs["order"] - runs.groupby("block")["order"].transform("min")
    runs["elapsed_s"] *= 1 + (times - 1) * np.power(left, place)
    return Measured(measured.plan, runs)


def cold(design: str, blocks: int, seed: int, left: float = 0.0, slower: float = 1.0) -> Measured:
    """y takes `slower` times as long as x."""
    measured = study(
        DESIGNS[design],
        lambda where: 10.0 * (slower if where["tool"] == "y" else 1.0),
        blocks=blocks,
        seed=seed,
        expect=FASTER,
    )
    return slow_first_runs(measured, 1.5, left)


def something(design: str, blocks: int, left: float) -> Callable[[int], bool]:
    return lambda seed: says_something(found_in(cold(design, blocks, seed, left)))


def held(blocks: int) -> Callable[[int], bool]:
    """That x is the faster one, which is as fast as y."""

    def false(seed: int) -> bool:
        (answer,) = evaluate(cold("2 combinations", blocks, seed))
        return answer.answer is Judgement.HELD

    return false


def matters_more(blocks: int) -> Callable[[int], bool]:
    """That y is slower by more with the one target than with the other, where it takes 20 % longer
    with both."""
    more = {"factor": "tool", "with": {"target": "b"}, "than": {"target": "a"}}

    def false(seed: int) -> bool:
        measured = study(
            {**TOOL, "target": ["a", "b"]},
            lambda where: 12.0 if where["tool"] == "y" else 10.0,
            blocks=blocks,
            seed=seed,
            expect=[{"claim": "?", "matters_more": more}],
        )
        (answer,) = evaluate(slow_first_runs(measured, 1.5))
        return answer.answer is Judgement.HELD

    return false


FIRST_RUNS = (
    {
        f"{design}, {blocks} blocks{', and the next ones less' if left else ''}": something(
            design, blocks, left
        )
        for design in DESIGNS
        for blocks in (2, 3, 5, 8)
        for left in (0.0, 0.5)
    }
    | {f"2 combinations, {blocks} blocks: held": held(blocks) for blocks in (2, 3, 5, 8)}
    | {f"matters more, {blocks} blocks": matters_more(blocks) for blocks in (2, 3, 5, 8)}
)


def finds_what_is_slower(seed: int) -> bool:
    """That y takes 20 % longer, in eight blocks."""
    found = found_in(cold("2 combinations", 8, seed, slower=1.2))
    return any("tool y takes" in finding.text for finding in found.findings)


# --- two blocks


def two_modes(random: np.random.Generator, where: Where) -> float:
    return float(random.normal(0, 0.01)) + math.log(1.5) * (random.random() < 0.4)


def of_two_blocks(design: str) -> Callable[[int], bool]:
    def false(seed: int) -> bool:
        levels = DESIGNS[design]
        return says_something(
            found_in(study(levels, lambda where: 10.0, blocks=2, noise=two_modes, seed=seed))
        )

    return false


TWO_BLOCKS = {f"two modes, {design}": of_two_blocks(design) for design in DESIGNS}
