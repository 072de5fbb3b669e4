"""Simulated studies: curves that cross, and runs that are ended at a limit."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tailrace.study.analysis.crossover import Crossover
from tailrace.study.analysis.effects import analyse
from tailrace.study.analysis.findings import Found, find
from tailrace.study.analysis.measured import Measured

from .study_data import study

Where = Mapping[str, Any]
RANKS = [1, 2, 4, 8, 16, 32]


def found_in(measured: Measured) -> Found:
    return find(measured, analyse(measured.compared(measured.response)))


# --- who overtakes whom, and how far

CROSSING = {
    "twice": (0.7, 0.8, 1.25, 1.25, 0.8, 0.7),
    "then equal": (0.6, 0.8, 1.3, 1.3, 1.0, 1.0),
    "equal in between": (0.6, 1.0, 1.0, 1.0, 1.0, 1.5),
    "after equal": (1.0, 1.0, 0.8, 0.8, 1.25, 1.25),
    "at a level": (0.7, 0.84, 1.0, 1.19, 1.41, 1.6),
}


def beats_nowhere_else(name: str, blocks: int, growing: bool) -> Callable[[int], bool]:
    """x over y, as given: the sentence says of some level that one beats the other, and it does
    not."""
    truth = dict(zip(RANKS, CROSSING[name], strict=True))

    def false(seed: int) -> bool:
        measured = study(
            {"ranks": RANKS, "tool": ["x", "y"]},
            lambda w: 10.0 * (truth[w["ranks"]] if w["tool"] == "x" else 1.0),
            blocks=blocks,
            scatter=lambda w: 0.008 * w["ranks"] ** 0.75 if growing else 0.04,
            block_scatter=0.05,
            seed=seed,
        )
        return any(
            _wrong_somewhere(each.crossover, truth) for each in found_in(measured).crossovers
        )

    return false


def _wrong_somewhere(found: Crossover, truth: Mapping[int, float]) -> bool:
    sign = 1 if found.first == "x" else -1
    ahead = {level: sign * math.log(ratio) for level, ratio in truth.items()}
    since = RANKS[0] if found.since is None else found.since
    until = RANKS[-1] if found.until is None else found.until
    return any(ahead[level] >= 0 for level in RANKS if since <= level < found.low) or any(
        ahead[level] <= 0 for level in RANKS if found.high < level <= until
    )


# --- runs that are ended

ENDED = {"ranks": [1, 4, 16], "target": ["a", "b"], "method": ["x", "y", "z"]}


SIZE, INTERACTION = "a size", "an interaction"


def at_a_limit(limit_s: float, blocks: int, what: str) -> Callable[[int], bool]:
    """Ranks and targets change the time, each by itself, and what takes too long is ended: an
    interaction is said, or a size whose interval lacks what is so."""

    def time_s(where: Where) -> float:
        return 2.0 * where["ranks"] ** 0.7 * (2.0 if where["target"] == "b" else 1.0)

    def false(seed: int) -> bool:
        measured = ended(study(ENDED, time_s, blocks=blocks, scatter=0.05, seed=seed), limit_s)
        found = find(measured, analyse(measured.table(measured.response)))
        if what == INTERACTION:
            return bool({"interaction", "combination"} & {f.kind for f in found.findings})
        targets = [
            finding.estimate
            for finding in found.findings
            if finding.kind == "effect" and finding.estimate and finding.text.startswith("writing")
        ]
        return any(not size.low <= 2.0 <= size.high for size in targets)

    return false


def ended(measured: Measured, limit_s: float) -> Measured:
    """What takes longer is ended then."""
    runs, late = measured.runs.copy(), measured.runs["elapsed_s"] > limit_s
    runs.loc[late, ["status", "elapsed_s"]] = ["timeout", np.nan]
    given = {**measured.plan["study"], "run": {"time_limit_s": limit_s}}
    return Measured({**measured.plan, "study": given}, runs)


def crossing_at_a_limit(seed: int) -> bool:
    """Planted at 5.7 ranks; with one rank x is ended."""
    measured = study(
        {"ranks": RANKS, "tool": ["x", "y"]},
        lambda w: 20.0 * w["ranks"] ** -0.5 if w["tool"] == "x" else 10.0 * w["ranks"] ** -0.1,
        blocks=4,
        scatter=0.05,
        seed=seed,
    )
    found = found_in(ended(measured, 15.0)).crossovers
    return len(found) == 1 and found[0].crossover.low <= 2**2.5 <= found[0].crossover.high
