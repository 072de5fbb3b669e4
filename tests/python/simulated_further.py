"""Simulated studies of further kinds: whole numbers and a clock's step, a cache that hits or not,
neighbours that are alike, blocks that slow down, a block that is off, scatter by factors, many
levels, crossings at and beyond the ends, and levels without runs. Everything that their reports
say is held against what is so."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pandas as pd

from tailrace.study.analysis.measured import Measured

from .simulated_curves import RANKS, Where, ended
from .simulated_shapes import FOUR, RT, RTM, TOOLS, Random, Shape
from .simulated_truth import Claims

TWELVE = [f"node{at}" for at in range(1, 13)]
RTO = {"ranks": RANKS, "tool": TOOLS}


def _hit_or_miss(random: Random, where: Where) -> float:
    """Half of the runs find the file in the cache, and take a fifth of the time."""
    return float(random.normal(0, 0.03)) - math.log(5) * (random.random() < 0.5)


def _often_hits(random: Random, where: Where) -> float:
    return float(random.normal(0, 0.03)) + math.log(4) * (random.random() < 0.2)


def _hits_after_a_hit(random: Random, runs: pd.DataFrame) -> np.ndarray:
    """What is in the cache stays there for some runs."""
    hit, away = False, np.zeros(len(runs))
    for at in range(len(runs)):
        hit = (random.random() < 0.8) if hit else (random.random() < 0.2)
        away[at] = -math.log(3) * hit
    return away


def _neighbours(share: float, scatter: float) -> Callable[[Random, pd.DataFrame], np.ndarray]:
    def after(random: Random, runs: pd.DataFrame) -> np.ndarray:
        away = random.normal(0, scatter, len(runs))
        for at in range(1, len(away)):
            away[at] = share * away[at - 1] + math.sqrt(1 - share**2) * away[at]
        return away

    return after


def _slower_within(random: Random, runs: pd.DataFrame) -> np.ndarray:
    """In each block the last run takes twice as long as the first."""
    places = runs.groupby("block").cumcount().to_numpy()
    return math.log(2) * places / (places.max() or 1)


def _slower_after_the_middle(random: Random, runs: pd.DataFrame) -> np.ndarray:
    return math.log(1.6) * (np.arange(len(runs)) > 0.45 * len(runs))


def _one_block_off(random: Random, runs: pd.DataFrame) -> np.ndarray:
    """In the second block everything takes anything."""
    off = runs["block"].to_numpy() == 1
    return np.where(off, math.log(3) + random.normal(0, 0.8, len(runs)), 0.0)


def _one_block_slow(random: Random, runs: pd.DataFrame) -> np.ndarray:
    return np.where(runs["block"].to_numpy() == 1, math.log(5), 0.0)


def _one_block_reversed(random: Random, runs: pd.DataFrame) -> np.ndarray:
    """A server that is away for one block, so that its target takes eight times as long."""
    off = (runs["block"].to_numpy() == 1) & (runs["target"].to_numpy() == "b")
    return np.where(off, math.log(8), 0.0)


def _days_by_target(random: Random, runs: pd.DataFrame) -> np.ndarray:
    """In each block a target and a method have their own luck."""
    away = np.zeros(len(runs))
    for _, rows in runs.groupby(["block", "target", "method"]).groups.items():
        away[rows] = random.normal(0, 0.15)
    return away


SATURATES = {1: 10.0, 2: 14.0, 4: 17.0, 8: 19.0, 16: 19.9, 32: 20.0}

FURTHER: dict[str, Shape] = {
    "whole seconds, 3 to 5": Shape(RTM, lambda w: 4.0, {"scatter": 0.15}, step_s=1.0),
    "whole seconds, 1 to 3": Shape(RTM, lambda w: 2.0, {"scatter": 0.2, "blocks": 5}, step_s=1.0),
    "whole seconds, falls": Shape(
        RT, lambda w: 40 * w["ranks"] ** -0.5, {"scatter": 0.05, "blocks": 5}, step_s=1.0
    ),
    "a clock's step, flat": Shape(RTO, lambda w: 0.033, {"scatter": 0.1}, step_s=0.01),
    "a clock's step, falls": Shape(
        RTO, lambda w: 0.2 * w["ranks"] ** -0.4, {"scatter": 0.1, "blocks": 5}, step_s=0.01
    ),
    "cache, hit or miss, nothing": Shape(RTM, lambda w: 10.0, {"noise": _hit_or_miss}),
    "cache, hit or miss, nothing, 5": Shape(
        RTM, lambda w: 10.0, {"noise": _hit_or_miss, "blocks": 5}
    ),
    "cache, hit or miss, two": Shape(
        {"tool": TOOLS, "target": ["a", "b"]}, lambda w: 10.0, {"noise": _hit_or_miss, "blocks": 5}
    ),
    "cache, often hits, falls": Shape(
        RTO, lambda w: 10 * w["ranks"] ** -0.3, {"noise": _often_hits, "blocks": 4}
    ),
    "cache, hits after a hit": Shape(RTM, lambda w: 10.0, {}, after=_hits_after_a_hit),
    "cache, hits after a hit, 5": Shape(
        RTO, lambda w: 10.0, {"blocks": 5}, after=_hits_after_a_hit
    ),
    "neighbours alike by 0.95": Shape(RTM, lambda w: 10.0, {}, after=_neighbours(0.95, 0.3)),
    "neighbours alike by 0.95, falls": Shape(
        RTO, lambda w: 10 * w["ranks"] ** -0.3, {}, after=_neighbours(0.95, 0.3)
    ),
    "neighbours alternate": Shape(RTM, lambda w: 10.0, {}, after=_neighbours(-0.8, 0.2)),
    "slower within blocks": Shape(RTM, lambda w: 10.0, {}, after=_slower_within),
    "slower within blocks, falls": Shape(
        RT, lambda w: 10 * w["ranks"] ** -0.4, {"blocks": 5}, after=_slower_within
    ),
    "slower within blocks, few": Shape(
        {"tool": ["x", "y", "z"]}, lambda w: 10.0, {"blocks": 5}, after=_slower_within
    ),
    "slower after the middle": Shape(RTM, lambda w: 10.0, {}, after=_slower_after_the_middle),
    "a block is off": Shape(RTM, lambda w: 10.0, {}, after=_one_block_off),
    "a block is off, falls": Shape(
        RTO, lambda w: 10 * w["ranks"] ** -0.4, {"blocks": 5}, after=_one_block_off
    ),
    "a block is slow": Shape(RTM, lambda w: 10.0, {}, after=_one_block_slow),
    "a block is slow, crosses": Shape(
        RTO,
        lambda w: 10 * (w["ranks"] / 6) ** (0.3 if w["tool"] == "x" else 0.0),
        {"blocks": 4},
        after=_one_block_slow,
    ),
    "a server was away": Shape(RTM, lambda w: 10.0, {}, after=_one_block_reversed),
    "a server was away, 5": Shape(RTM, lambda w: 10.0, {"blocks": 5}, after=_one_block_reversed),
    "days by target and method": Shape(RTM, lambda w: 10.0, {"blocks": 4}, after=_days_by_target),
    "scatter by factors": Shape(RTM, lambda w: 10.0, {"scatter": 1.5}),
    "scatter by factors, falls": Shape(
        RTO, lambda w: 10 / w["ranks"], {"scatter": 1.2, "blocks": 6}
    ),
    "scatter by factors, one tool": Shape(
        RTO,
        lambda w: 10.0,
        {"noise": lambda random, w: random.normal(0, 1.2 if w["tool"] == "x" else 0.05)},
    ),
    "one level": Shape({"tool": ["x"]}, lambda w: 10.0),
    "one level of one factor": Shape({"ranks": FOUR, "tool": ["x"]}, lambda w: 10 / w["ranks"]),
    "twelve names, nothing": Shape({"node": TWELVE, "tool": TOOLS}, lambda w: 10.0),
    "twelve names, one slow": Shape(
        {"node": TWELVE, "tool": TOOLS}, lambda w: 15.0 if w["node"] == "node7" else 10.0
    ),
    "twelve names alone": Shape({"node": TWELVE}, lambda w: 10.0, {"scatter": 0.1}),
    "saturates": Shape(RTO, lambda w: SATURATES[w["ranks"]] * (1.1 if w["tool"] == "y" else 1.0)),
    "saturates, a rate": Shape(RTO, lambda w: 100 / SATURATES[w["ranks"]], {}, rate=True),
    "crosses beyond what is measured": Shape(
        RTO, lambda w: 10 * (w["ranks"] / 100) ** (0.2 if w["tool"] == "x" else 0.05)
    ),
    "crosses below what is measured": Shape(
        RTO, lambda w: 10 * (w["ranks"] / 0.5) ** (0.2 if w["tool"] == "x" else 0.05)
    ),
    "crosses at the first level": Shape(
        RTO, lambda w: 10 * w["ranks"] ** (0.2 if w["tool"] == "x" else 0.0)
    ),
    "crosses at the last level": Shape(
        RTO, lambda w: 10 * (w["ranks"] / 32) ** (0.2 if w["tool"] == "x" else 0.0)
    ),
    "crosses at a level in the middle": Shape(
        RTO, lambda w: 10 * (w["ranks"] / 8) ** (0.3 if w["tool"] == "x" else 0.0), {"blocks": 5}
    ),
    "sizes that are numbers": Shape(
        {"chunk": [4, 64, 1024, 16384], "tool": TOOLS},
        lambda w: 1 + 1e4 / (w["chunk"] + 50) * (1.2 if w["tool"] == "y" else 1),
    ),
    "sizes that are texts": Shape(
        {"chunk": ["4 KiB", "64 KiB", "1 MiB", "16 MiB"], "tool": TOOLS},
        lambda w: 10.0 if w["tool"] == "x" else 12.0,
    ),
    "one odd level of twelve": Shape(
        {"ranks": [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64], "tool": TOOLS},
        lambda w: 10 * w["ranks"] ** -0.2 * (1.6 if w["ranks"] == 24 else 1),
    ),
    "a tooth on one tool": Shape(
        RTO,
        lambda w: 10 * w["ranks"] ** -0.3 * (1.8 if w["ranks"] == 8 and w["tool"] == "y" else 1),
    ),
    "two blocks, scatter by factors": Shape(RTM, lambda w: 10.0, {"scatter": 0.8, "blocks": 2}),
    "two blocks, hit or miss": Shape(RTM, lambda w: 10.0, {"noise": _hit_or_miss, "blocks": 2}),
    "ten blocks, hit or miss": Shape(RTO, lambda w: 10.0, {"noise": _hit_or_miss, "blocks": 10}),
}


def _limited(shape: Shape, limit_s: float) -> Callable[[int], bool]:
    """What takes longer is ended then."""

    def false(seed: int) -> bool:
        return bool(Claims(ended(shape.measured(seed), limit_s), shape.true).false)

    return false


def _without(shape: Shape, gone: Callable[[Where], bool]) -> Callable[[int], bool]:
    """Every run there fails."""

    def false(seed: int) -> bool:
        measured = shape.measured(seed)
        runs = measured.runs.copy()
        bad = [gone(where) for where in runs.to_dict("records")]
        runs.loc[bad, ["status", "elapsed_s"]] = ["failed", np.nan]
        return bool(Claims(Measured(measured.plan, runs), shape.true).false)

    return false


_SLOW_TOOL = Shape(
    RTO, lambda w: 10 * w["ranks"] ** -0.5 * (4 if w["tool"] == "y" else 1), {"blocks": 4}
)
_FALLS = Shape(RTM, lambda w: 10 * w["ranks"] ** -0.4)
_NOTHING = Shape(RTM, lambda w: 10.0, {"scatter": 0.1})
FALSE_OF_FURTHER: dict[str, Callable[[int], bool]] = {
    name: (lambda seed, shape=shape: bool(shape.false(seed))) for name, shape in FURTHER.items()
} | {
    "ended at one level": _limited(_SLOW_TOOL, 30.0),
    "ended with few ranks": _limited(_FALLS, 9.0),
    "one level fails": _without(_FALLS, lambda w: w["ranks"] == 8),
    "one tool fails": _without(_FALLS, lambda w: w["method"] == "y"),
    "one level fails, nothing": _without(_NOTHING, lambda w: w["ranks"] == 1),
    "a method fails on one target": _without(
        _NOTHING, lambda w: w["method"] == "y" and w["target"] == "b"
    ),
    "many ranks fail on one target": _without(
        _FALLS, lambda w: w["ranks"] >= 4 and w["target"] == "b"
    ),
}
