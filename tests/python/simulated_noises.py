"""Simulated studies of further noise and levels: heavy tails, drift in each block, bursts, unequal
scatter, numbers at irregular distances, curves that merge on several targets, cross more than once
or exist in part. Everything that their reports say is held against what is so."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pandas as pd

from .simulated_curves import RANKS, Where
from .simulated_shapes import CUBE, FOUR, HYPER, RT, RTM, TOOLS, Random, Shape, signs

IRREGULAR = [1, 3, 7, 48, 50, 512]
ALL_TOOLS = {**RT, "tool": TOOLS}
TWO_TOOLS = {"ranks": RANKS, "tool": TOOLS}
STAIRS = {"x": 16, "y": 8, "z": 2}
TWICE = {1: 0.75, 2: 0.85, 4: 1.15, 8: 1.2, 16: 0.9, 32: 0.75}
TOUCHING = {1: 0.7, 2: 0.85, 4: 1.0, 8: 1.0, 16: 0.85, 32: 0.7}


def _students(random: Random, where: Where) -> float:
    return 0.08 * float(random.standard_t(3))


def _pareto(random: Random, where: Where) -> float:
    return math.log1p(0.1 * float(random.pareto(1.5)))


def _one_method_scatters(random: Random, where: Where) -> float:
    return float(random.normal(0, 0.2 if where["method"] == "y" else 0.02))


def _less_with_ranks(random: Random, where: Where) -> float:
    return float(random.normal(0, 0.3 * where["ranks"] ** -0.8))


def _three_modes(random: Random, where: Where) -> float:
    return float(random.normal(0, 0.01) + random.choice([0, 0.2, 0.5], p=[0.5, 0.3, 0.2]))


def _drifting(random: Random, runs: pd.DataFrame) -> np.ndarray:
    """Each block has its own level, and its own drift."""
    away = np.zeros(len(runs))
    for _, rows in runs.groupby("block").groups.items():
        level, slope = random.normal(0, 0.3, 2)
        away[rows] = level + slope * np.arange(len(rows)) / len(rows)
    return away


def _bursts(random: Random, runs: pd.DataFrame) -> np.ndarray:
    """Twice, neighbouring runs take twice as long."""
    away = np.zeros(len(runs))
    for begin in random.integers(0, len(runs), 2):
        away[begin : begin + max(3, len(runs) // 12)] += math.log(2)
    return away


NOISES: dict[str, Shape] = {
    "Student's 3, pairs": Shape(
        RTM, lambda w: 10 * math.exp(0.2 * signs(w, target="a", method="x")), {"noise": _students}
    ),
    "Student's 3, U": Shape(RT, lambda w: 10 / w["ranks"] + w["ranks"] * 0.3, {"noise": _students}),
    "Student's 3, three": Shape(
        CUBE,
        lambda w: 10 * math.exp(0.2 * signs(w, target="a", method="x", chunk="s")),
        {"noise": _students, "blocks": 5},
    ),
    "Pareto's 1.5, falls": Shape(
        RTM, lambda w: 10 * w["ranks"] ** -0.3, {"noise": _pareto, "blocks": 5}
    ),
    "one method scatters, falls": Shape(
        RTM, lambda w: 10 * w["ranks"] ** -0.5, {"noise": _one_method_scatters}
    ),
    "one method scatters, a fifth fails": Shape(
        RTM,
        lambda w: 10 * w["ranks"] ** -0.4,
        {"noise": _one_method_scatters, "failing": 0.2, "blocks": 4},
    ),
    "few ranks scatter, falls": Shape(
        RTM, lambda w: 10 * w["ranks"] ** -0.3, {"noise": _less_with_ranks}
    ),
    "three modes, half as much again": Shape(
        RTM, lambda w: 15.0 if w["method"] == "y" else 10.0, {"noise": _three_modes}
    ),
    "drift in each block, pairs": Shape(
        RTM, lambda w: 10 * math.exp(0.1 * signs(w, target="a", method="x")), after=_drifting
    ),
    "bursts, falls": Shape(RTM, lambda w: 10 * w["ranks"] ** -0.4, after=_bursts),
    "irregular, saturates": Shape(
        {"ranks": IRREGULAR, "tool": TOOLS},
        lambda w: 1 + 10 * (1 - math.exp(-w["ranks"] / 20)) * (1.2 if w["tool"] == "y" else 1),
    ),
    "irregular, crosses late": Shape(
        {"ranks": IRREGULAR, "tool": TOOLS},
        lambda w: 10 * (w["ranks"] / 60) ** (-0.3 if w["tool"] == "x" else -0.1),
    ),
    "merge on both targets, other ways round": Shape(
        ALL_TOOLS,
        lambda w: (
            10 * (1 + 0.4 / w["ranks"] * (w["tool"] == "x") * (-1 if w["target"] == "a" else 1))
        ),
    ),
    "cross twice on both targets": Shape(
        ALL_TOOLS, lambda w: 10 * (TWICE[w["ranks"]] if w["tool"] == "x" else 1)
    ),
    "touch": Shape(
        TWO_TOOLS, lambda w: 10 * (TOUCHING[w["ranks"]] if w["tool"] == "x" else 1), {"blocks": 5}
    ),
    "merge, a quarter fails": Shape(
        TWO_TOOLS,
        lambda w: 10 * (1 - 0.4 / w["ranks"] * (w["tool"] == "x")),
        {"failing": 0.25, "blocks": 4},
    ),
    "one of three crosses": Shape(
        {"ranks": RANKS, "tool": ["x", "y", "z"]},
        lambda w: 10 * {"x": (w["ranks"] / 5) ** 0.35, "y": 1, "z": 1.15}[w["tool"]],
    ),
    "four act together": Shape(
        HYPER,
        lambda w: 10 * math.exp(0.2 * signs(w, target="a", method="x", chunk="s", size="few")),
    ),
    "stairs": Shape(
        {"tool": ["x", "y", "z"], "ranks": [*FOUR, 16], "target": ["a", "b"]},
        lambda w: 10 * w["ranks"] ** -0.3 * (0.8 if w["tool"] == "z" else 1),
        exists=lambda w: w["ranks"] <= STAIRS[w["tool"]],
    ),
    "twelve levels": Shape(
        {"ranks": [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64]},
        lambda w: 10 * w["ranks"] ** -0.1,
        {"scatter": 0.05},
    ),
}

FALSE_OF_NOISES: dict[str, Callable[[int], bool]] = {
    name: (lambda seed, shape=shape: bool(shape.false(seed))) for name, shape in NOISES.items()
}
