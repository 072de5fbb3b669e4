"""Simulated pairs of studies, of which the second takes so many times as long."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tailrace.study.analysis.comparison import Comparison, compare
from tailrace.study.analysis.measured import Measured

from .simulated_curves import Where
from .simulated_first_runs import DESIGNS, slow_first_runs
from .study_data import study

LEVELS = {"ranks": [1, 2, 4, 8], "target": ["a", "b"], "method": ["x", "y", "z"]}
TIMES: dict[str, Callable[[Where], float]] = {
    "nothing has changed": lambda w: 1.0,
    "one target up, the other down": lambda w: 1.3 if w["target"] == "b" else 1 / 1.3,
    "one combination of 24": lambda w: 2.0 if w == ODD else 1.0,
}
ODD = {"ranks": 8, "target": "b", "method": "z"}

FEW = {
    "1 combination": {"tool": ["x"]},
    "6 combinations": {"tool": ["x", "y"], "ranks": [1, 2, 4]},
    **DESIGNS,
}
AVERAGE, COMBINATION = "the average", "a combination"
Noise = Callable[[np.random.Generator, Where], float]


def two_modes(share: float, times: float, scatter: float) -> Noise:
    """Some of the runs take so many times as long as the others."""
    return lambda random, where: (
        random.normal(0, scatter) + math.log(times) * (random.random() < share)
    )


HALF_TWICE = two_modes(0.5, 2, 0.01)
SHARED_MACHINES = {
    "one run in five takes 2 times": two_modes(0.2, 2, 0.03),
    "two runs in five take 1.5 times": two_modes(0.4, 1.5, 0.02),
    "half of the runs take 1.3 times": two_modes(0.5, 1.3, 0.005),
}


def two(name: str, seed: int, blocks: int = 3, noise: Noise | None = None) -> Comparison:
    def base(where: Where) -> float:
        return 10 * where["ranks"] ** -0.4 * (1.3 if where["target"] == "b" else 1.0)

    times = TIMES[name]
    first, second = (
        study(
            LEVELS,
            of,
            blocks=blocks,
            scatter=0.05,
            block_scatter=0.05,
            seed=2 * seed + at,
            noise=noise,
        )
        for at, of in enumerate((base, lambda w: base(w) * times(w)))
    )
    return compare(first, second)


def false_of(name: str, blocks: int, noise: Noise | None = None) -> Callable[[int], bool]:
    """A combination is said to have changed that has not, the average to rise or to fall that does
    not, or a level to have changed most that has not."""
    times = TIMES[name]

    def false(seed: int) -> bool:
        found = two(name, seed, blocks, noise)
        wrong = [one for one in found.combinations if one.certain and times(one.where) == 1.0]
        moves = any(word in found.headline for word in (" rises to ", " falls to ", "changes by"))
        most = ", most with " in found.headline
        alone = name == "one combination of 24"
        return bool(wrong) or (not alone and (moves or most))

    return false


def combination_of(name: str, blocks: int, noise: Noise) -> Callable[[int], bool]:
    """Of single combinations alone."""
    times = TIMES[name]

    def false(seed: int) -> bool:
        combinations = two(name, seed, blocks, noise).combinations
        return any(one.certain and times(one.where) == 1.0 for one in combinations)

    return false


def changed(found: Comparison, what: str) -> bool:
    if what == AVERAGE:
        return found.overall.decided
    return any(one.certain for one in found.combinations)


def nothing_changed(
    design: str, blocks: int, noise: Noise | None, what: str
) -> Callable[[int], bool]:
    """In two studies of few combinations, whose runs have two modes, or, without `noise`, whose
    first runs of blocks take longer: the average is said to rise or to fall, or a combination to
    have changed."""

    def false(seed: int) -> bool:
        first, second = (
            study(FEW[design], lambda w: 10.0, blocks=blocks, noise=noise, seed=2 * seed + at)
            for at in (0, 1)
        )
        if noise is None:
            first, second = slow_first_runs(first, 1.5), slow_first_runs(second, 1.5)
        return changed(compare(first, second), what)

    return false


def found_changed(design: str, which: str) -> Callable[[int], bool]:
    """One combination, or each, takes half as long again in the second study, and it is found."""
    one = {name: levels[0] for name, levels in FEW[design].items()}

    def found(seed: int) -> bool:
        first, second = (
            study(
                FEW[design],
                lambda w, times=times: 10.0 * (times if which == "all" or w == one else 1.0),
                seed=2 * seed + at,
            )
            for at, times in ((0, 1.0), (1, 1.5))
        )
        changed = [dict(each.where) for each in compare(first, second).combinations if each.certain]
        return one in changed

    return found


def fewer_blocks(blocks: tuple[int, int]) -> Callable[[int], bool]:
    """Two studies of 24 combinations, of which one has fewer blocks: the average is said to rise or
    to fall."""

    def false(seed: int) -> bool:
        first, second = (
            study(LEVELS, lambda w: 10.0, blocks=number, block_scatter=0.05, seed=2 * seed + at)
            for at, number in enumerate(blocks)
        )
        return compare(first, second).overall.decided

    return false


def noisy(blocks: tuple[int, int], what: str) -> Callable[[int], bool]:
    """The first study scatters three times as much, within blocks and from block to block."""

    def false(seed: int) -> bool:
        first, second = (
            study(
                FEW["12 combinations"],
                lambda w: 10.0,
                blocks=number,
                scatter=scatter,
                block_scatter=scatter,
                seed=2 * seed + at,
            )
            for at, (number, scatter) in enumerate(zip(blocks, (0.15, 0.05), strict=True))
        )
        return changed(compare(first, second), what)

    return false


ON_TARGETS = {
    "2 × 3": {"target": ["a", "b"], "size": ["s", "m", "l"]},
    "3 × 2": {"target": ["a", "b", "c"], "tool": ["x", "y"]},
    "2 × 7": {"target": ["a", "b"], "size": ["s", "m", "l", "4", "5", "6", "7"]},
}


def first_on_targets(designs: tuple[str, str], blocks: int, what: str) -> Callable[[int], bool]:
    """The first run on each target takes 1.5 times as long: the average, or a combination, is said
    to have changed."""

    def of(design: str, seed: int) -> Measured:
        measured = study(ON_TARGETS[design], lambda w: 10.0, blocks=blocks, seed=seed)
        first = ~measured.runs.duplicated(["block", "target"])
        longer = np.where(first, 1.5, 1.0)
        runs = measured.runs.assign(elapsed_s=measured.runs["elapsed_s"] * longer)
        return Measured(measured.plan, runs)

    def false(seed: int) -> bool:
        first, second = (of(design, 2 * seed + at) for at, design in enumerate(designs))
        return changed(compare(first, second), what)

    return false


def slow_ones_fail(design: str, blocks: int, share: float, seed: int) -> tuple[Measured, Measured]:
    """Of the second study that share of runs fails, which would have been the slowest."""
    first, second = (
        study(FEW[design], lambda w: 10.0, blocks=blocks, scatter=0.1, seed=2 * seed + at)
        for at in (0, 1)
    )
    runs = second.runs.copy()
    slow = runs["elapsed_s"] > runs["elapsed_s"].quantile(1 - share)
    runs.loc[slow, ["status", "elapsed_s"]] = ["failed", np.nan]
    return first, Measured(second.plan, runs)


def fewer_slow_ones(design: str, blocks: int, share: float, what: str) -> Callable[[int], bool]:
    return lambda seed: changed(compare(*slow_ones_fail(design, blocks, share, seed)), what)


COMPARISONS = (
    {f"{name}, {blocks} blocks": false_of(name, blocks) for name in TIMES for blocks in (2, 3, 5)}
    | {
        f"{noise}, {blocks} blocks": combination_of("nothing has changed", blocks, modes)
        for noise, modes in SHARED_MACHINES.items()
        for blocks in (2, 3, 4)
    }
    | {
        f"{runs}, {design}, {blocks} blocks: {what}": nothing_changed(design, blocks, noise, what)
        for design in FEW
        for runs, blocks, noise in (
            ("two modes", 2, HALF_TWICE),
            ("two modes", 3, HALF_TWICE),
            ("slow first runs", 3, None),
        )
        for what in (AVERAGE, COMBINATION)
    }
    | {
        f"fewer blocks, {first} and {second}": fewer_blocks((first, second))
        for first, second in ((2, 3), (2, 8), (8, 2), (3, 8))
    }
    | {
        f"the first scatters more, {first} and {second} blocks: {what}": noisy(
            (first, second), what
        )
        for what in (AVERAGE, COMBINATION)
        for first, second in ((2, 2), (2, 3), (2, 5), (2, 8), (3, 8))
    }
    | {
        f"slow first runs on targets, {first} and {second}, {blocks} blocks: {what}": (
            first_on_targets((first, second), blocks, what)
        )
        for what in (AVERAGE, COMBINATION)
        for first, second in (("2 × 3", "2 × 3"), ("3 × 2", "3 × 2"), ("2 × 3", "2 × 7"))
        for blocks in (3, 5)
    }
    | {
        f"slow runs fail in one, {design}, {blocks} blocks, {share:.0%}: {what}": fewer_slow_ones(
            design, blocks, share, what
        )
        for what in (AVERAGE, COMBINATION)
        for design in ("6 combinations", "12 combinations")
        for blocks in (3, 5)
        for share in (0.1, 0.25)
    }
)
CHANGED = {
    f"{which} of {design} by half": found_changed(design, which)
    for design in ("2 combinations", "4 combinations", "12 combinations")
    for which in ("one", "all")
}
