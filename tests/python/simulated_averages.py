"""Simulated studies in which one tool is quicker with one rank and slower with more, and of the
best of several speedups."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tailrace.study.analysis.summary import Summary

from .simulated_curves import RANKS, Where, found_in
from .study_data import study

TOOLS = {"ranks": RANKS, "tool": ["x", "y"]}
ENDS = dict(zip(RANKS, (0.8, 1.1, 1.25, 1.3, 1.35, 1.4), strict=True))
NOISES: dict[str, Callable[[np.random.Generator, Where], float]] = {
    "normal": lambda random, where: random.normal(0, 0.1),
    "two modes": lambda random, where: random.normal(0, 0.02) + 0.3 * (random.random() < 0.3),
    "two modes alike": lambda random, where: random.normal(0, 0.01) + 0.5 * (random.random() < 0.5),
}


def crossing_at_the_end(where: Where) -> float:
    return 10.0 * where["ranks"] ** -0.3 * (ENDS[where["ranks"]] if where["tool"] == "x" else 1.0)


def first_line(noise: str, seed: int) -> str:
    return Summary(study(TOOLS, crossing_at_the_end, noise=NOISES[noise], seed=seed)).headline


def reversal_left_out(noise: str) -> Callable[[int], bool]:
    """The first line says that x takes longer, and not that this is an average."""

    def false(seed: int) -> bool:
        told = [line for line in first_line(noise, seed).split(". ") if "ool x takes" in line]
        return any("average" not in line for line in told)

    return false


AVERAGES = {f"{noise} scatter": reversal_left_out(noise) for noise in NOISES}


def best_speedup_missed(seed: int) -> bool:
    """The best of nine curves that all end on a plateau of 3.5: its interval lacks 3.5."""
    measured = study(
        {"ranks": [1, 2, 4, 8, 16], "target": ["a", "b", "c"], "method": ["x", "y", "z"]},
        lambda w: {1: 35.0, 2: 18.0}.get(w["ranks"], 10.0) * (1 + (w["target"] == "b")),
        scatter=0.05,
        seed=seed,
    )
    found = [gained.by_level[gained.best] for gained in found_in(measured).speedups]
    return any(not best.low <= 3.5 <= best.high for best in found)
