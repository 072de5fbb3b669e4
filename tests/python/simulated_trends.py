"""Simulated studies along one factor: what their trends say, and what is so."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise

from tailrace.study.analysis.trends import FLAT, Trend, TrendShape

from .simulated_curves import RANKS, found_in
from .study_data import study

TRUTHS: dict[str, tuple[float, ...]] = {
    "falls": (10, 8, 6.4, 5.1, 4.1, 3.3),
    "falls, then flat": (10, 5, 5, 5, 5, 5),
    "falls ever less": (10, 7, 5.8, 5.2, 5.0, 4.9),
    "turns": (10, 7, 5, 5.2, 7, 10),
    "flat bottom": (10, 6, 5, 5, 5, 8),
    "rises first": (10, 11.5, 8, 6, 5, 4),
    "saw": (10, 8, 9, 7, 8, 6),
    "rises": (5, 5, 5.5, 6, 7, 9),
    "rises, then flat": (5, 10, 10, 10, 10, 10),
    "flat, then falls": (10, 10, 10, 10, 7, 5),
    "falls, flat, falls": (10, 6, 6, 6, 4, 3),
    "rises, flat, rises": (3, 4, 4, 4, 6, 9),
    "falls with one flat step": (10, 8, 6, 6, 4.5, 3.5),
    "peak": (5, 7, 10, 10, 7, 5),
    "one level out of line": (5, 5, 5, 5.6, 5, 5),
}


def _denies_plateau(along: Trend, truth: Mapping[int, float]) -> bool:
    """Whether its sentence says of a step that is none that it goes somewhere."""
    levels, shape = list(along.curve.levels), along.shape
    at, flat = levels.index, [(a, b) for a, b in pairwise(levels) if truth[a] == truth[b]]
    if along.contrary or along.doubtful:
        return False
    told = [(one.since, one.to) for one in along.plateaus]
    if any(before[1] == after[0] for before, after in pairwise(told)):
        return False
    last = along.settles if along.settles is not None else along.between[0]
    falls = shape is TrendShape.TURNS or (
        shape is TrendShape.IMPROVES
        and (along.settles is not None or along.between == (levels[-1],))
    )
    since = along.best if shape is TrendShape.WORSENS else along.between[-1]
    rises = shape in (TrendShape.TURNS, TrendShape.WORSENS, TrendShape.WORSENS_BEYOND)
    return any(
        ((falls and at(b) <= at(last)) or (rises and at(a) >= at(since)))
        and not any(at(begin) <= at(a) and at(b) <= at(end) for begin, end in told)
        for a, b in flat
    )


def _is_open(along: Trend, first: int, second: int) -> bool:
    """Whether its sentence says of the step that no change can be told."""
    at = list(along.curve.levels).index
    return any(
        not one.flat and at(one.since) <= at(first) and at(second) <= at(one.to)
        for one in along.plateaus
    )


def _flattens(along: Trend, truth: Mapping[int, float]) -> bool:
    """Whether its sentence says of levels that they are flat that are not."""
    if along.shape in (TrendShape.FLAT, TrendShape.UNCLEAR, TrendShape.PEAKS):
        return False
    levels = list(along.curve.levels)
    runs = [
        [truth[level] for level in levels[levels.index(one.since) : levels.index(one.to) + 1]]
        for one in along.plateaus
        if one.flat
    ]
    return any(max(run) / min(run) > 1 + FLAT for run in runs)


def false_trend(along: Trend, truth: Mapping[int, float]) -> bool:
    """Whether its sentence says of some level what is not so by more than 1 %."""
    if _denies_plateau(along, truth) or _flattens(along, truth):
        return True
    levels = list(along.curve.levels)
    first, last, best = levels[0], levels[-1], along.best
    if along.shape in (TrendShape.UNCLEAR, TrendShape.PEAKS):
        ends = max(truth[first], truth[last])
        return along.shape is TrendShape.PEAKS and truth[along.peak] <= ends
    if along.shape is TrendShape.FLAT:
        return max(truth.values()) / min(truth.values()) > 1 + FLAT
    if along.contrary:
        (a, b), *_ = along.contrary
        rises = levels.index(a) < levels.index(best)
        return (truth[b] / truth[a] > 1) != rises
    if along.settles is not None:
        after = [truth[level] for level in levels if level >= along.settles]
        too_uneven = along.settles_flat and max(after) / min(after) > (1 + FLAT) ** 2
        return truth[first] <= truth[along.settles] or too_uneven
    if along.doubtful:
        return False
    if along.shape is TrendShape.IMPROVES and along.between != (last,):
        return truth[best] >= truth[first]
    open_ = partial(_is_open, along)
    turn = [level for level in along.between if truth[level] <= min(truth.values()) * 1.01]
    down = [b for b in levels if b <= min(along.between)]
    up = [b for b in levels if b >= max(along.between)]
    falls = all(truth[b] < truth[a] * (1 + FLAT) or open_(a, b) for a, b in pairwise(down))
    rises = all(truth[b] > truth[a] / (1 + FLAT) or open_(a, b) for a, b in pairwise(up))
    if along.shape is TrendShape.WORSENS:
        return truth[last] <= truth[first] or not all(
            truth[b] > truth[a] / (1 + FLAT) for a, b in pairwise(levels)
        )
    if along.shape is TrendShape.WORSENS_BEYOND:
        return truth[last] <= truth[max(along.between)] or not rises
    return not turn or not falls or not rises


# Of more levels, of which more may be taken for the least.
MORE_RANKS = [*RANKS, 64, 128]
TRUTHS_OF_EIGHT: dict[str, tuple[float, ...]] = {
    "long plateau": (10, 8, 6, 5, 5, 5, 5, 5),
    "dip": (10, 10, 10, 6, 10, 10, 10, 10),
    "long saw": (10, 8, 10, 8, 10, 8, 10, 8),
    "saw that falls": (10, 8, 8.8, 7, 7.7, 6.2, 6.8, 5.4),
    "three plateaus": (10, 10, 10, 6, 6, 6, 4, 4),
    "falls slowly": (10, 9.7, 9.4, 9.1, 8.8, 8.6, 8.3, 8.1),
    "bump": (5, 5, 5, 8, 8, 5, 5, 5),
    "dip while it falls": (10, 8, 6.4, 3, 4.1, 3.3, 2.6, 2.1),
    "wide dip": (10, 8, 6, 6, 6, 6, 8, 10),
}


def trends(values: tuple[float, ...], scatter: float, blocks: int) -> Callable[[int], bool]:
    ranks = MORE_RANKS[: len(values)]
    truth = dict(zip(ranks, values, strict=True))

    def false(seed: int) -> bool:
        measured = study(
            {"ranks": ranks},
            lambda where: truth[where["ranks"]],
            blocks=blocks,
            scatter=scatter,
            block_scatter=0.05,
            seed=seed,
        )
        return any(false_trend(along, truth) for along in found_in(measured).trends)

    return false


TRENDS = {
    f"{name}, scatter {scatter:.0%}, {blocks} blocks": trends(values, scatter, blocks)
    for name, values in {**TRUTHS, **TRUTHS_OF_EIGHT}.items()
    for scatter, blocks in ((0.03, 3), (0.1, 5))
}
