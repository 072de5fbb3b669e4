"""Simulated studies of shapes that no other test has: ceilings, bottoms, factors that act together
with other signs here and there, combinations that are missing, ties, rates, and odd scatter.
Everything that their reports say is held against what is so (simulated_truth.py)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from tailrace.study.analysis.measured import Measured

from .simulated_curves import RANKS, Where
from .simulated_truth import Claims
from .study_data import study

AB, TOOLS, FOUR = ["a", "b"], ["x", "y"], [1, 2, 4, 8]
Random = np.random.Generator


@dataclass(frozen=True)
class Shape:
    """`time_s`: what each combination takes; `options`: of study_data.study; `after`: what else
    happens to the runs, as logarithms; `exists`: which combinations there are."""

    levels: Mapping[str, list[Any]]
    time_s: Callable[[Where], float]
    options: Mapping[str, Any] = field(default_factory=dict)
    after: Callable[[Random, pd.DataFrame], np.ndarray] | None = None
    exists: Callable[[Where], bool] = lambda where: True
    step_s: float = 0.0
    rate: bool = False

    def measured(self, seed: int) -> Measured:
        others = {"speed": lambda where, elapsed: 100 / elapsed} if self.rate else None
        response = "speed" if self.rate else "elapsed_s"
        made = study(
            self.levels,
            self.time_s,
            seed=seed,
            others=others,
            response=response,
            **{"scatter": 0.04, **self.options},
        )
        runs = made.runs
        if self.after is not None:
            away = self.after(np.random.default_rng([seed, 5]), runs)
            runs = runs.assign(elapsed_s=runs["elapsed_s"] * np.exp(away))
        if self.step_s:
            runs = runs.assign(elapsed_s=(runs["elapsed_s"] / self.step_s).round() * self.step_s)
        names = list(self.levels)
        kept = [self.exists(where) for where in runs[names].to_dict("records")]
        plan = made.plan
        if self.rate:
            given = {"speed": {"words": "speed", "better": "more"}}
            plan = {**plan, "study": {**plan["study"], "responses": given}}
        return Measured(plan, runs[kept].reset_index(drop=True))

    def true(self, where: Where) -> float:
        return 100 / self.time_s(where) if self.rate else self.time_s(where)

    def false(self, seed: int) -> list[str]:
        return Claims(self.measured(seed), self.true).false


def signs(where: Where, **high: Any) -> float:
    """The product of 1 where a factor has that level, and of −1 where it has another."""
    return float(math.prod(1 if where[name] == level else -1 for name, level in high.items()))


def _in_blocks(random: Random, runs: pd.DataFrame) -> np.ndarray:
    """Each target is slower in some block, by a fifth in the middle."""
    slow = {key: random.normal(0, 0.2) for key in runs.groupby(["block", "target"]).groups}
    return np.array([slow[key] for key in zip(runs["block"], runs["target"], strict=True)])


def _wandering(random: Random, runs: pd.DataFrame) -> np.ndarray:
    return np.cumsum(random.normal(0, 0.03, len(runs)))


def _weibull(random: Random, where: Where) -> float:
    return math.log(max(float(random.weibull(1.5)), 0.05))


def _cauchy(random: Random, where: Where) -> float:
    return float(np.clip(0.03 * random.standard_cauchy(), -3, 3))


def _gamma(random: Random, where: Where) -> float:
    return math.log(float(random.gamma(4, 0.25)))


def _one_in_ten(random: Random, where: Where) -> float:
    return float(random.normal(0, 0.03)) + math.log(3) * (random.random() < 0.1)


def _skewed(random: Random, where: Where) -> float:
    """Waits, the longer the more ranks there are, less what their logarithm is on the average."""
    longest = 0.02 * where["ranks"]
    mean = math.exp(1 / longest) * float(special.exp1(1 / longest))
    return math.log1p(longest * float(random.exponential())) - mean


RT = {"ranks": RANKS, "target": AB}
RTM = {"ranks": FOUR, "target": AB, "method": TOOLS}
CUBE = {"target": AB, "method": TOOLS, "chunk": ["s", "l"]}
HYPER = {**CUBE, "size": ["few", "many"]}
OUT = {"s", "e"}

SHAPES: dict[str, Shape] = {
    "a floor": Shape(RT, lambda w: max(10 / w["ranks"], 2.0) * (1.3 if w["target"] == "b" else 1)),
    "a floor on one target": Shape(
        RT, lambda w: 10 / w["ranks"] if w["target"] == "a" else max(10 / w["ranks"], 3.0)
    ),
    "U of two bottoms": Shape(
        RT, lambda w: 10 / w["ranks"] + w["ranks"] * (0.2 if w["target"] == "a" else 1.5)
    ),
    "U with a flat bottom, tools alike": Shape(
        {"ranks": RANKS, "tool": TOOLS},
        lambda w: {1: 10, 2: 6, 4: 5, 8: 5, 16: 5, 32: 7}[w["ranks"]],
    ),
    "ceiling": Shape(RT, lambda w: min(2.0 * w["ranks"], 12.0)),
    "saw by target": Shape(
        RT, lambda w: 10 * 1.2 ** (RANKS.index(w["ranks"]) % 2 * signs(w, target="a"))
    ),
    "grows exponentially": Shape(RT, lambda w: 2.0 * 1.05 ** w["ranks"]),
    "a step of one target": Shape(
        RTM, lambda w: 10 * (2 if w["target"] == "b" and w["ranks"] >= 4 else 1)
    ),
    "Amdahl, two tools": Shape(
        {"ranks": RANKS, "tool": TOOLS},
        lambda w: 10 * ((f := 0.1 if w["tool"] == "x" else 0.3) + (1 - f) / w["ranks"]),
    ),
    "crosses twice on one target": Shape(
        {**RT, "tool": TOOLS},
        lambda w: (
            10
            * (
                {1: 0.8, 2: 0.9, 4: 1.2, 8: 1.2, 16: 0.9, 32: 0.8}[w["ranks"]]
                if (w["tool"], w["target"]) == ("x", "a")
                else 1
            )
        ),
        {"blocks": 4},
    ),
    "three act together, other signs by size": Shape(
        {**CUBE, "size": ["s", "m", "l"]},
        lambda w: (
            10
            * math.exp(
                {"s": 0.2, "m": 0.0, "l": -0.2}[w["size"]]
                * signs(w, target="a", method="x", chunk="s")
            )
        ),
    ),
    "two opposite threes": Shape(
        HYPER,
        lambda w: (
            10
            * math.exp(
                0.15 * signs(w, target="a", method="x", chunk="s")
                - 0.15 * signs(w, target="a", method="x", size="few")
            )
        ),
    ),
    "three and a factor": Shape(
        CUBE,
        lambda w: (
            10
            * math.exp(
                0.1 * signs(w, target="a") + 0.2 * signs(w, target="a", method="x", chunk="s")
            )
        ),
        {"blocks": 4},
    ),
    "pairs alone": Shape(
        CUBE,
        lambda w: (
            10
            * math.exp(
                0.2 * signs(w, target="a", method="x") - 0.2 * signs(w, method="x", chunk="s")
            )
        ),
    ),
    "the reverse on the other target": Shape(
        RTM, lambda w: 10 * math.exp(0.15 * signs(w, target="a", method="x"))
    ),
    "a constant beside a product": Shape(
        RTM,
        lambda w: (
            3
            + 8 / w["ranks"] * (2 if w["target"] == "b" else 1) * (1.5 if w["method"] == "y" else 1)
        ),
    ),
    "combinations missing, pairs": Shape(
        {"target": ["a", "b", "c"], "method": ["x", "y", "z"], "size": ["s", "l"]},
        lambda w: 10 * math.exp(0.2 * signs(w, target="a", method="x") + 0.1 * signs(w, size="l")),
        exists=lambda w: (w["target"], w["method"]) not in {("c", "z"), ("a", "y"), ("b", "x")},
    ),
    "combinations missing, nothing": Shape(
        {"target": ["a", "b", "c"], "method": ["x", "y", "z"], "size": ["s", "l"]},
        lambda w: 10.0,
        exists=lambda w: (
            (w["target"], w["method"], w["size"])
            not in {("c", "z", "s"), ("a", "y", "l"), ("b", "x", "s"), ("a", "x", "l")}
        ),
    ),
    "curves of different length": Shape(
        {"ranks": RANKS, "tool": TOOLS},
        lambda w: 10 / w["ranks"] ** 0.3 * (1.2 if w["tool"] == "y" else 1),
        exists=lambda w: w["tool"] == "x" or w["ranks"] <= 4,
    ),
    "gamma, and half as much again": Shape(
        RTM, lambda w: 15.0 if w["target"] == "b" else 10.0, {"noise": _gamma}
    ),
    "Weibull, nothing": Shape(RTM, lambda w: 10.0, {"noise": _weibull}),
    "Cauchy, nothing": Shape(RTM, lambda w: 10.0, {"noise": _cauchy}),
    "waits that grow, twice": Shape(
        RTM, lambda w: 20.0 if w["method"] == "y" else 10.0, {"noise": _skewed}
    ),
    "1 of 10 takes 3 times, a third more": Shape(
        RTM, lambda w: 13.0 if w["method"] == "y" else 10.0, {"noise": _one_in_ten, "blocks": 5}
    ),
    "each target slow in a block": Shape(RTM, lambda w: 10.0, after=_in_blocks),
    "a machine that wanders": Shape(RTM, lambda w: 10.0, {"blocks": 5}, after=_wandering),
    "all runs the same": Shape(RTM, lambda w: 10.0, {"scatter": 0.0}),
    "ties, tenths": Shape(
        RTM,
        lambda w: 2.0 if w["target"] == "b" else 1.0,
        {"scatter": 0.02},
        step_s=0.1,
    ),
    "one of eight": Shape(
        {"tool": [*"abcdefgh"], "target": AB}, lambda w: 12.0 if w["tool"] == "c" else 10.0
    ),
    "five nearly alike": Shape(
        {"tool": [*"abcde"], "target": AB},
        lambda w: 10 * (1 + 0.015 * "abcde".index(w["tool"])),
        {"scatter": 0.02},
    ),
    "a rate that crosses": Shape(
        {"ranks": RANKS, "tool": TOOLS},
        lambda w: (
            10 / w["ranks"] ** (0.2 if w["tool"] == "x" else 0.6) * (1 if w["tool"] == "x" else 2)
        ),
        rate=True,
    ),
    "a rate, nothing": Shape(RTM, lambda w: 10.0, rate=True),
    "levels below zero": Shape(
        {"bias": [-2, -1, 0, 1, 2], "tool": TOOLS}, lambda w: 10 + w["bias"] ** 2
    ),
    "15 % fail": Shape(
        RTM,
        lambda w: 10 / w["ranks"] ** 0.4 * (1.4 if w["target"] == "b" else 1),
        {"failing": 0.15, "blocks": 4},
    ),
    "two blocks, pairs": Shape(
        RTM, lambda w: 10 * math.exp(0.2 * signs(w, target="a", method="x")), {"blocks": 2}
    ),
    "two blocks, nothing, gamma": Shape(RTM, lambda w: 10.0, {"blocks": 2, "noise": _gamma}),
}

FALSE_OF_SHAPES: dict[str, Callable[[int], bool]] = {
    name: (lambda seed, shape=shape: bool(shape.false(seed))) for name, shape in SHAPES.items()
}
