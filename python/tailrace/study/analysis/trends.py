"""How a response goes along a numeric factor: where it is least, whether it falls until there and
rises beyond, speedup.

The level with the least time is chosen by the data, and so is that with the most. To say that the
response falls until there, or rises beyond, the comparisons with the first and the last level
therefore have intervals by Bonferroni's correction over all levels that could have been chosen.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from tailrace.study.analysis.contrasts import Family, ratio
from tailrace.study.analysis.intervals import LEVEL, Estimate, typical
from tailrace.study.analysis.layout import Curve

# A change by less than this share from end to end is called flat when its interval allows no more.
FLAT = 0.05


class TrendShape(StrEnum):
    """What can be said of a curve, as seen by who wants less of the response; the order in which
    trends are reported."""

    TURNS = "turns"
    WORSENS = "worsens"
    WORSENS_BEYOND = "worsens beyond"
    PEAKS = "peaks"
    IMPROVES = "improves"
    FLAT = "flat"
    UNCLEAR = "unclear"


@dataclass(frozen=True)
class Plateau:
    """Between two levels, and at none between them, the change that the shape says can be told.
    `flat`: all of them surely are within FLAT of each other."""

    since: Any
    to: Any
    flat: bool


@dataclass(frozen=True)
class Trend:
    """Along one curve. `best`: the level with the lowest (or, where more is better, highest)
    response.

    `until`: the response at `best` over that at the first level, `beyond`: at the last level over
    that at `best`; None where they are the same level. `between`: the levels that may as well be
    the best, as far as the runs can tell. `flat`: every level is surely within FLAT of the best.
    `contrary`: steps from a level to the next that surely go the other way than the shape says.
    `doubtful`: steps that seem to, by more than FLAT. `settles`: the first level that is surely
    better than the first of all and from which on all may as well be the best; `settles_flat`: and
    they surely are within FLAT of it. `improving`, `worsening`: where, before and beyond the best,
    no change that way can be told. `peak`: the worst level, where it is surely worse than the first
    one and than the last. `told`: whether the analysis of the study allows to say that
    it changes at all.
    """

    curve: Curve
    best: Any
    until: Estimate | None
    beyond: Estimate | None
    between: tuple[Any, ...]
    flat: bool
    more_is_better: bool = False
    contrary: tuple[tuple[Any, Any], ...] = ()
    doubtful: tuple[tuple[Any, Any], ...] = ()
    settles: Any = None
    settles_flat: bool = False
    improving: tuple[Plateau, ...] = ()
    worsening: tuple[Plateau, ...] = ()
    peak: Any = None
    told: bool = True

    @property
    def says(self) -> tuple[Any, ...]:
        """What its sentence depends on beside its shape."""
        if self.shape in (TrendShape.FLAT, TrendShape.UNCLEAR):
            return ()
        if self.shape is TrendShape.PEAKS:
            return (self.peak,)
        if self.settles is not None and not self.contrary:
            return (self.settles, self.settles_flat, self.plateaus)
        best = None if self.shape is TrendShape.WORSENS else self.best
        steps = self.contrary[:1], self.doubtful[:1]
        return (best, *steps, len(self.between) > 1 and self.between, self.plateaus)

    @property
    def plateaus(self) -> tuple[Plateau, ...]:
        """Those within what its sentence says to improve or to worsen."""
        place = self.curve.levels.index
        until = place(self.between[0] if self.settles is None else self.settles)
        since = place(self.best if self.shape is TrendShape.WORSENS else self.between[-1])
        return (
            *(one for one in self.improving if self.improves_until and place(one.to) <= until),
            *(one for one in self.worsening if self.worsens_beyond and place(one.since) >= since),
        )

    @property
    def improves_until(self) -> bool:
        return self.until is not None and self.is_better(self.until)

    @property
    def worsens_beyond(self) -> bool:
        return self.beyond is not None and self.is_better(self.beyond.inverted())

    @property
    def shape(self) -> TrendShape:
        if not self.told:
            return TrendShape.FLAT if self.flat else TrendShape.UNCLEAR
        if self.improves_until:
            return TrendShape.TURNS if self.worsens_beyond else TrendShape.IMPROVES
        if self.worsens_beyond:
            return TrendShape.WORSENS if self.until is None else TrendShape.WORSENS_BEYOND
        if self.peak is not None:
            return TrendShape.PEAKS
        return TrendShape.FLAT if self.flat else TrendShape.UNCLEAR

    def is_better(self, change: Estimate) -> bool:
        """For certain, and not by so little that it matters to nobody."""
        certain = change.beyond(1) if self.more_is_better else change.below(1)
        return certain and not change.within(FLAT)


def trend(
    family: Family,
    curve: Curve,
    more_is_better: bool = False,
    level: float = LEVEL,
    told: bool = True,
) -> Trend | None:
    """None where fewer than two levels have runs. `level`: of intervals, before they allow for the
    choice of the best."""
    means = curve.means()
    usable = [level for level, mean in zip(curve.levels, means, strict=True) if math.isfinite(mean)]
    if len(usable) < 2:
        return None
    signed = {
        level: (-1 if more_is_better else 1) * means[curve.levels.index(level)] for level in usable
    }
    best = min(usable, key=lambda level: signed[level])
    careful = 1 - (1 - level) / max(len(usable) - 1, 1)

    def change(first: Any, second: Any) -> Estimate:
        return family.compare(curve, ratio(second, first), careful)

    against = {level: change(best, level) for level in usable if level != best}
    alike = {level: family.compare(curve, ratio(level, best)) for level in against}
    found = Trend(
        curve,
        best,
        change(usable[0], best) if best != usable[0] else None,
        change(best, usable[-1]) if best != usable[-1] else None,
        tuple(level for level in usable if level == best or not against[level].decided),
        # each alone: all of them must be so
        all(change.within(FLAT) for change in alike.values()),
        more_is_better,
        told=told,
    )
    settles = _settles(found, usable, change)
    contrary = _contrary(found, usable, change)
    worst = max(usable, key=lambda level: signed[level])
    ends = [change(worst, end) for end in (usable[0], usable[-1]) if end != worst]
    peaks = len(ends) == 2 and all(map(found.is_better, ends))
    return replace(
        found,
        contrary=contrary,
        doubtful=tuple(step for step in _wrong_way(usable, best, signed) if step not in contrary),
        improving=_plateaus(found, usable[: usable.index(best) + 1], change, family),
        worsening=_plateaus(found, usable[usable.index(best) :], change, family),
        settles=settles,
        settles_flat=settles is not None
        and all(alike[level].within(FLAT) for level in _after(usable, settles) if level != best),
        peak=worst if peaks else None,
    )


Change = Callable[[Any, Any], Estimate]


def _after(levels: list[Any], first: Any) -> list[Any]:
    return levels[levels.index(first) :]


def _contrary(found: Trend, levels: list[Any], change: Change) -> tuple[tuple[Any, Any], ...]:
    """Before the best level a step to something worse, beyond it one to something better."""
    best = levels.index(found.best)
    return tuple(
        (first, second)
        for place, (first, second) in enumerate(pairwise(levels))
        if found.is_better(change(second, first) if place < best else change(first, second))
    )


def _plateaus(
    found: Trend, levels: list[Any], change: Change, family: Family
) -> tuple[Plateau, ...]:
    """On one side of the best: the longest runs of levels that begin and end alike, as far as can
    be told, and of whose steps none surely goes the way of that side."""
    rises = (levels[0] == found.best) != found.more_is_better

    def goes(first: Any, second: Any) -> bool:
        step = change(first, second)
        return step.beyond(1) if rises else step.below(1)

    answer, at = [], 0
    while at < len(levels) - 1:
        end = at
        while end < len(levels) - 1 and not (
            goes(levels[end], levels[end + 1]) or goes(levels[at], levels[end + 1])
        ):
            end += 1
        if end > at:
            run = levels[at : end + 1]
            pairs = (ratio(second, first) for first, second in combinations(run, 2))
            flat = all(family.compare(found.curve, pair).within(FLAT) for pair in pairs)
            answer.append(Plateau(run[0], run[-1], flat))
        at = max(end, at + 1)
    return tuple(answer)


def _wrong_way(levels: list[Any], best: Any, signed: Mapping[Any, float]) -> list[tuple[Any, Any]]:
    """Before the best level steps that seem to go up, beyond it those that seem to go down."""
    place = levels.index(best)
    steps = [
        (first, second, (1 if number < place else -1) * (signed[second] - signed[first]))
        for number, (first, second) in enumerate(pairwise(levels))
    ]
    return [(first, second) for first, second, up in steps if up > math.log(1 + FLAT)]


def _settles(found: Trend, levels: list[Any], change: Change) -> Any:
    if found.shape is not TrendShape.IMPROVES:
        return None
    for level in levels[1 : levels.index(found.best) + 1]:
        rest = _after(levels, level)
        if len(rest) > 1 and all(one in found.between for one in rest):
            return level if found.is_better(change(levels[0], level)) else None
    return None


@dataclass(frozen=True)
class Speedup:
    """Along one curve, against its first level. `ideal` by level: what the number of ranks alone
    would give."""

    curve: Curve
    base: Any
    base_value: Estimate
    by_level: dict[Any, Estimate]
    ideal: dict[Any, float]

    @property
    def best(self) -> Any:
        known = [level for level, found in self.by_level.items() if math.isfinite(found.value)]
        return max(known or self.by_level, key=lambda level: self.by_level[level].value)


def speedup(
    family: Family, curve: Curve, weak: bool = False, level: float = LEVEL
) -> Speedup | None:
    """Of a time; where the problem grows with the ranks (`weak`), scaled: ideal is the same.
    Intervals hold for all levels together, so that the best may be chosen among them."""
    if len(curve.levels) < 2:
        return None
    base, *others = curve.levels
    base_runs = curve.at(base)
    careful = 1 - (1 - level) / len(others)
    found = {
        other: family.compare(curve, ratio(base, other), careful).scaled(
            other / base if weak else 1.0
        )
        for other in others
    }
    ideal = {level: level / base for level in others}
    value = typical(np.exp(base_runs[np.isfinite(base_runs)]))
    return Speedup(curve, base, value, found, ideal)


def is_weak(ranks: Sequence[float], moved_bytes: Sequence[float]) -> bool:
    """Whether the problem grows with the ranks: the bytes that are written and read do, more than
    by their root."""
    pairs = [pair for pair in zip(ranks, moved_bytes, strict=True) if min(pair) > 0]
    if not pairs:
        return False
    (fewest, least), (most, largest) = min(pairs), max(pairs)
    return most > fewest and math.log(largest / least) > 0.5 * math.log(most / fewest)
