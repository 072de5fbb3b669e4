"""Simulated studies whose runs fail because they would have been slow."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tailrace.study.analysis.effects import analyse
from tailrace.study.analysis.findings import find
from tailrace.study.analysis.measured import Measured
from tailrace.study.analysis.view import View

from .simulated_curves import Where
from .study_data import study

ALONE = {"tool": ["x", "y"]}
TOOLS = {"ranks": [1, 2, 4, 8], "tool": ["x", "y"]}
CLUSTER = {"ranks": [1, 2, 4, 8], "target": ["a", "b"], "method": ["x", "y", "z"]}


def failing(measured: Measured, chance: Callable[[Where], float], seed: int) -> Measured:
    """`chance`: of a run, of its levels and its time."""
    random = np.random.default_rng([seed, 1])
    runs = measured.runs.copy()
    bad = [random.random() < chance(row) for row in runs.to_dict("records")]
    runs.loc[bad, ["status", "elapsed_s"]] = ["failed", math.nan]
    return Measured(measured.plan, runs)


def killed(
    seed: int,
    gain: float = 1.0,
    blocks: int = 5,
    limit_s: float = 11.5,
    levels: Mapping[str, list[Any]] = TOOLS,
) -> Measured:
    """x scatters, takes so many times as long as y, and is ended by somebody when it takes long."""
    measured = study(
        levels,
        lambda w: 10.0 * (gain if w["tool"] == "x" else 1.0),
        blocks=blocks,
        scatter=lambda w: 0.3 if w["tool"] == "x" else 0.05,
        seed=seed,
    )
    return failing(measured, lambda run: run["tool"] == "x" and run["elapsed_s"] > limit_s, seed)


def wrong_winner(
    gain: float, blocks: int, levels: Mapping[str, list[Any]] = TOOLS
) -> Callable[[int], bool]:
    """y is said to take longer than x, or something to happen that does not."""

    def false(seed: int) -> bool:
        measured = killed(seed, gain, blocks, levels=levels)
        analysis = analyse(measured.compared(measured.response))
        view = View(measured, analysis)
        slower = [effect for effect in view.main_effects() if effect.factors == ("tool",)]
        wrong = {"trend", "crossover", "lead", "interaction", "combination"}
        said = {str(finding.kind) for finding in find(measured, analysis).findings}
        return bool(wrong & said) or any(effect.high == (1,) for effect in slower)

    return false


def slow_ones_fail(chance: Callable[[Where], float], power: float):
    """Ranks and targets change the time, each by itself: something is said to matter that does
    not, or a target the wrong way round."""

    def false(seed: int) -> bool:
        measured = study(
            CLUSTER,
            lambda w: 10.0 * w["ranks"] ** power * (1.3 if w["target"] == "b" else 1.0),
            blocks=4,
            scatter=0.1,
            seed=seed,
        )
        measured = failing(measured, chance, seed)
        analysis = analyse(measured.compared(measured.response))
        said = [e for e in View(measured, analysis).main_effects() if e.factors != ("ranks",)]
        others: list[Any] = [effect for effect in said if effect.factors != ("target",)]
        kinds = {str(finding.kind) for finding in find(measured, analysis).findings}
        wrong = any(effect.factors == ("target",) and effect.high == (0,) for effect in said)
        return bool(others) or wrong or bool({"interaction", "combination", "crossover"} & kinds)

    return false


def softly(seed: int) -> Measured:
    """y scatters, nothing else differs, and the slower a run is, the oftener it fails."""
    measured = study(
        TOOLS,
        lambda w: 10.0,
        blocks=5,
        scatter=lambda w: 0.3 if w["tool"] == "y" else 0.05,
        seed=seed,
    )
    return failing(measured, lambda run: 1 / (1 + (13 / run["elapsed_s"]) ** 10), seed)


def wrongly_told(seed: int) -> bool:
    """A tool is said to take longer than the other."""
    measured = softly(seed)
    analysis = analyse(measured.compared(measured.response))
    return bool(View(measured, analysis).main_effects())


FAILING: dict[str, Callable[[int], bool]] = {
    "x takes 10 % longer, 5 blocks": wrong_winner(1.1, 5),
    "x takes 10 % longer, 3 blocks": wrong_winner(1.1, 3),
    "x takes as long, 5 blocks": wrong_winner(1.0, 5),
    **{
        f"x takes as long, {blocks} blocks, nothing else is run": wrong_winner(1.0, blocks, ALONE)
        for blocks in (3, 5, 8)
    },
    "y takes as long, the slower the oftener, 5 blocks": wrongly_told,
    "many ranks run out of memory": slow_ones_fail(lambda run: 0.9 * (run["elapsed_s"] > 22), 0.4),
    "the longer, the oftener": slow_ones_fail(
        lambda run: min(1.0, max(0.0, (run["elapsed_s"] - 11) / 5)), -0.4
    ),
}
