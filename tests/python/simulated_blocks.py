"""Simulated studies whose blocks are not alike: one target is slow or scatters in one of them, or
lacks one, or the program was built anew half-way. Nothing matters in any of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from tailrace.study.analysis.measured import Measured

from .simulated_curves import RANKS, found_in
from .simulated_first_runs import says_something
from .study_data import study

LEVELS: dict[str, Mapping[str, list[Any]]] = {
    "6 × 2": {"ranks": RANKS, "target": ["local", "nfs"]},
    "4 × 2 × 3": {"ranks": [1, 2, 4, 8], "target": ["local", "nfs"], "method": ["a", "b", "c"]},
}
Change = Callable[[pd.DataFrame, np.random.Generator], pd.DataFrame]


def _second_block(runs: pd.DataFrame) -> pd.Series:
    return (runs["block"] == 1) & (runs["target"] == "nfs")


def slow_day(runs: pd.DataFrame, random: np.random.Generator) -> pd.DataFrame:
    runs.loc[_second_block(runs), "elapsed_s"] *= 1.6
    return runs


def scatters_one_day(runs: pd.DataFrame, random: np.random.Generator) -> pd.DataFrame:
    more = np.where(_second_block(runs), 0.2, 0.0)
    return runs.assign(elapsed_s=runs["elapsed_s"] * np.exp(random.normal(0, 1, len(runs)) * more))


def server_was_down(runs: pd.DataFrame, random: np.random.Generator) -> pd.DataFrame:
    runs.loc[_second_block(runs), ["status", "elapsed_s"]] = ["failed", np.nan]
    return runs


def block_is_missing(runs: pd.DataFrame, random: np.random.Generator) -> pd.DataFrame:
    return runs[~_second_block(runs)].reset_index(drop=True)


def stopped(runs: pd.DataFrame, random: np.random.Generator) -> pd.DataFrame:
    """In the middle of a block, and never resumed."""
    return runs[runs["order"] < 0.55 * len(runs)].reset_index(drop=True)


def built_anew(runs: pd.DataFrame, random: np.random.Generator) -> pd.DataFrame:
    """What it was resumed with takes 0.7 times as long."""
    later = runs["order"] >= 0.5 * len(runs)
    runs.loc[later, "elapsed_s"] *= 0.7
    return runs.assign(program=np.where(later, "second", "first"))


CHANGES: dict[str, Change] = {
    "one target is slow in one": slow_day,
    "one target scatters in one": scatters_one_day,
    "one target fails in one": server_was_down,
    "one target lacks one": block_is_missing,
    "stopped in the middle": stopped,
    "built anew in the middle": built_anew,
}


def of(name: str, levels: str, blocks: int) -> Callable[[int], bool]:
    def false(seed: int) -> bool:
        measured = study(
            LEVELS[levels],
            lambda where: 10.0,
            blocks=blocks,
            block_scatter=0.1,
            seed=seed,
        )
        runs = CHANGES[name](measured.runs.copy(), np.random.default_rng(seed))
        return says_something(found_in(Measured(measured.plan, runs)))

    return false


UNLIKE_BLOCKS = {
    f"{name}, {levels}, {blocks} blocks": of(name, levels, blocks)
    for name in CHANGES
    for levels in LEVELS
    for blocks in (3, 5)
}
