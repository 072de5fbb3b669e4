"""Simulated studies in which some levels exist only with some levels of other factors."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from tailrace.study.analysis.effect import Effect
from tailrace.study.analysis.effects import analyse
from tailrace.study.analysis.findings import find
from tailrace.study.analysis.measured import Measured
from tailrace.study.analysis.view import View

from .simulated_curves import RANKS, Where
from .study_data import study

LEAST = 0.005


class Dependent(NamedTuple):
    """`exists`: which combinations do; `time_s`: what they take."""

    levels: Mapping[str, list[Any]]
    exists: Callable[[Where], bool]
    time_s: Callable[[Where], float]


CHAIN = {("x", "a"), ("x", "b"), ("y", "b"), ("y", "c"), ("z", "c")}
COMPRESSION = {"tool": ["gzip", "zstd"], "level": [1, 3, 6, 9, 15, 19], "size": ["s", "l"]}
METHODS = {"ranks": [1, 2, 4, 8], "target": ["a", "b"], "method": ["x", "y", "z"]}
CHAINED = {"ranks": [1, 2, 4], "target": ["a", "b", "c"], "method": ["x", "y", "z"]}
STRIPES = {
    "target": ["nfs", "lustre"],
    "stripe": ["none", "one", "four"],
    "ranks": [1, 4, 16],
}


def until_nine(where: Where) -> bool:
    return where["level"] <= 9 or where["tool"] == "zstd"


def of_a_target(where: Where) -> bool:
    return (where["stripe"] == "none") == (where["target"] == "nfs")


def chained(where: Where) -> bool:
    return (where["method"], where["target"]) in CHAIN


DEPENDENT = {
    "further levels of a slower tool": Dependent(
        COMPRESSION, until_nine, lambda w: w["level"] ** 0.4 * (1.2 if w["tool"] == "zstd" else 1)
    ),
    "further levels of a tool that crosses": Dependent(
        COMPRESSION,
        until_nine,
        lambda w: (
            w["level"] ** (0.4 if w["tool"] == "gzip" else 0.7)
            * (0.6 if w["tool"] == "zstd" else 1.0)
        ),
    ),
    "further levels, nothing matters": Dependent(COMPRESSION, until_nine, lambda w: 1.0),
    "a slow method where all is quick": Dependent(
        METHODS,
        lambda w: w["method"] != "z" or (w["target"] == "a" and w["ranks"] >= 4),
        lambda w: (
            w["ranks"] ** -0.7
            * (2 if w["target"] == "b" else 1)
            * (1.15 if w["method"] == "z" else 1)
        ),
    ),
    "a method that one target lacks, another acts": Dependent(
        METHODS,
        lambda w: (w["method"], w["target"]) != ("z", "b"),
        lambda w: (
            w["ranks"] ** -0.4 * (1.0 if w["target"] == "a" else 2.0 if w["method"] == "y" else 1.2)
        ),
    ),
    "each target has its own method": Dependent(
        {"ranks": [1, 2, 4, 8], "target": ["a", "b"], "method": ["x", "y"]},
        lambda w: (w["target"] == "a") == (w["method"] == "x"),
        lambda w: w["ranks"] ** -0.4 * (1.5 if w["method"] == "y" else 1.0),
    ),
    "a chain of methods and targets": Dependent(
        CHAINED,
        chained,
        lambda w: (
            w["ranks"] ** -0.4
            * {"a": 1.0, "b": 1.3, "c": 2.0}[w["target"]]
            * (1.4 if (w["method"], w["target"]) == ("y", "b") else 1.0)
        ),
    ),
    "a crossing beyond what both have": Dependent(
        {"ranks": RANKS, "tool": ["x", "y"]},
        lambda w: w["tool"] == "x" or w["ranks"] <= 8,
        lambda w: (
            w["ranks"] ** -0.4 * (1.0 if w["tool"] == "x" else 0.7 * w["ranks"] ** math.log2(1.1))
        ),
    ),
    "settings of one target only": Dependent(
        STRIPES,
        of_a_target,
        lambda w: w["ranks"] ** -0.3 * (0.6 if w["stripe"] == "four" else 1.0),
    ),
}


def measured(case: Dependent, seed: int, scatter: float = 0.04) -> Measured:
    whole = study(
        case.levels, lambda w: 10.0 * case.time_s(w), scatter=scatter, block_scatter=0.05, seed=seed
    )
    kept = [case.exists(where) for where in whole.runs.to_dict("records")]
    return Measured(whole.plan, whole.runs[kept].reset_index(drop=True))


def _difference(case: Dependent, effect: Effect) -> float:
    """The logarithm of what the effect's levels truly do, over the places that have all of them;
    minus infinity where there is none."""
    own = [
        [case.levels[name][code] for code in (high, low)]
        for name, high, low in zip(effect.factors, effect.high, effect.low, strict=True)
    ]
    others = {n: levels for n, levels in case.levels.items() if n not in effect.factors}
    found = []
    for rest in itertools.product(*others.values()):
        place = dict(zip(others, rest, strict=True))
        corners = [
            (place | dict(zip(effect.factors, some, strict=True)), ends)
            for some, ends in zip(
                itertools.product(*own), itertools.product((1, -1), repeat=len(own)), strict=True
            )
        ]
        if all(case.exists(where) for where, _ in corners):
            found.append(sum(math.prod(s) * math.log(case.time_s(w)) for w, s in corners))
    return float(np.mean(found)) if found else -math.inf


def false_of(name: str) -> Callable[[int], bool]:
    """An effect, an interaction or an odd combination that is not there, or between levels that
    nowhere meet; who is ahead where only one was run; that a factor does not matter which does."""
    case = DEPENDENT[name]

    def false(seed: int) -> bool:
        made = measured(case, seed)
        analysis = analyse(made.compared(made.response))
        view, found = View(made, analysis), find(made, analysis)
        told = [*view.main_effects(), *view.interactions()]
        quiet = [effect for effect in view.quiet() if view.does_not_matter(effect)]
        return (
            any(_difference(case, effect) < LEAST for effect in told)
            or any(abs(_difference(case, effect)) > math.log(1.05) for effect in quiet)
            or any(finding.kind == "combination" for finding in found.findings)
            or any(
                _beyond(case, each.crossover.where, each.crossover.until)
                for each in found.crossovers
            )
        )

    return false


def _beyond(case: Dependent, where: Mapping[str, Any], until: Any) -> bool:
    """Whether a crossover is told of levels which only one of the two has."""
    axis = "level" if "level" in case.levels else "ranks"
    last = case.levels[axis][-1]
    there = [
        case.exists({"size": "s", **where, axis: last, "tool": tool})
        for tool in case.levels["tool"]
    ]
    return until is None and not all(there)


LEVELS_THAT_DEPEND = {name: false_of(name) for name in DEPENDENT}
