"""Simulated studies in which nothing matters but when a run is made: a machine that slows down,
neighbouring runs that are alike, first runs on each target that take longer."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pandas as pd

from tailrace.study.analysis.measured import Measured

from .simulated_curves import found_in
from .simulated_first_runs import says_something
from .study_data import study

Noise = Callable[[np.random.Generator, pd.DataFrame], np.ndarray]
LAYOUTS = {
    "2 × 3": {"target": ["a", "b"], "size": ["s", "m", "l"]},
    "2 × 5": {"target": ["a", "b"], "ranks": [1, 2, 4, 8, 16]},
}


def _drift(random: np.random.Generator, runs: pd.DataFrame) -> np.ndarray:
    """From the first run to the last the machine becomes half as fast."""
    return math.log(2) * np.arange(len(runs)) / len(runs) + random.normal(0, 0.03, len(runs))


def _alike(random: np.random.Generator, runs: pd.DataFrame) -> np.ndarray:
    """Of two neighbours four fifths are in common."""
    away = random.normal(0, 0.08, len(runs))
    for at in range(1, len(away)):
        away[at] = 0.8 * away[at - 1] + 0.6 * away[at]
    return away


def _first_on_target(random: np.random.Generator, runs: pd.DataFrame) -> np.ndarray:
    """In each block it takes 1.5 times as long."""
    first = ~runs.duplicated(["block", "target"])
    return math.log(1.5) * first.to_numpy() + random.normal(0, 0.03, len(runs))


def _one_in_twenty(random: np.random.Generator, runs: pd.DataFrame) -> np.ndarray:
    """It takes twice as long."""
    return math.log(2) * (random.random(len(runs)) < 0.05) + random.normal(0, 0.03, len(runs))


def _heavy(random: np.random.Generator, runs: pd.DataFrame) -> np.ndarray:
    return np.log1p(random.pareto(2.5, len(runs)))


def _gamma(random: np.random.Generator, runs: pd.DataFrame) -> np.ndarray:
    """Scatter of a half."""
    return np.log(random.gamma(4, 0.25, len(runs)))


NOISES: dict[str, Noise] = {
    "twice as slow at the end": _drift,
    "neighbours alike": _alike,
    "first runs on each target": _first_on_target,
    "1 of 20 takes twice": _one_in_twenty,
    "Pareto's, 2.5": _heavy,
    "gamma, 4": _gamma,
}


def of(layout: str, noise: str, blocks: int) -> Callable[[int], bool]:
    def false(seed: int) -> bool:
        measured = study(LAYOUTS[layout], lambda where: 10.0, blocks=blocks, scatter=0.0, seed=seed)
        away = NOISES[noise](np.random.default_rng([seed, 77]), measured.runs)
        runs = measured.runs.assign(elapsed_s=measured.runs["elapsed_s"] * np.exp(away))
        return says_something(found_in(Measured(measured.plan, runs)))

    return false


# In two blocks the same combination is the first on its target in both in a third of studies.
IN_ORDER = {
    f"{layout}, {noise}, {blocks} blocks": of(layout, noise, blocks)
    for layout in LAYOUTS
    for noise in NOISES
    for blocks in ((2, 3, 5) if noise == "first runs on each target" else (3, 5))
}
