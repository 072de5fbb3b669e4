"""How a response goes along a numeric factor: where it is least, whether it falls until there and rises
beyond, speedup.

The level with the least time is chosen by the data. To say that the response falls until there, or rises beyond, the
comparisons with the first and the last level therefore have intervals by Bonferroni's correction over all levels that
could have been chosen.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tailrace.study.contrasts import Family, ratio
from tailrace.study.intervals import LEVEL, Estimate, typical
from tailrace.study.layout import Curve

# A change by less than this share from end to end is called flat when its interval allows no more.
FLAT = 0.05


@dataclass(frozen=True)
class Trend:
    """Along one curve. `best`: the level with the lowest (or, where more is better, highest) response.

    `until`: the response at `best` over that at the first level, `beyond`: at the last level over that at `best`; None
    where they are the same level. `between`: the levels that may as well be the best, as far as the runs can tell.
    `flat`: every level is surely within FLAT of the best.
    """

    curve: Curve
    best: Any
    until: Estimate | None
    beyond: Estimate | None
    between: tuple[Any, ...]
    flat: bool
    more_is_better: bool = False

    @property
    def improves_until(self) -> bool:
        return self.until is not None and self._better(self.until)

    @property
    def worsens_beyond(self) -> bool:
        return self.beyond is not None and self._better(self.beyond.inverted())

    @property
    def shape(self) -> str:
        """One word for what can be said: falls, rises, turns, flat or unclear, as seen by who wants less of it."""
        if self.improves_until and self.worsens_beyond:
            return "turns"
        if self.improves_until:
            return "improves"
        if self.worsens_beyond:
            return "worsens" if self.until is None else "worsens beyond"
        return "flat" if self.flat else "unclear"

    def _better(self, change: Estimate) -> bool:
        """For certain, and not by so little that it matters to nobody."""
        certain = change.beyond(1) if self.more_is_better else change.below(1)
        return certain and not change.within(FLAT)


def trend(family: Family, curve: Curve, more_is_better: bool = False) -> Trend | None:
    """None where fewer than two levels have runs."""
    means = curve.means()
    usable = [level for level, mean in zip(curve.levels, means, strict=True) if math.isfinite(mean)]
    if len(usable) < 2:
        return None
    signed = {level: (-1 if more_is_better else 1) * means[curve.levels.index(level)] for level in usable}
    best = min(usable, key=lambda level: signed[level])
    careful = 1 - (1 - LEVEL) / max(len(usable) - 1, 1)
    first, last = usable[0], usable[-1]
    until = family.compare(curve, ratio(best, first), careful) if best != first else None
    beyond = family.compare(curve, ratio(last, best), careful) if best != last else None
    against = {level: family.compare(curve, ratio(level, best), careful) for level in usable if level != best}
    between = tuple(level for level in usable if level == best or _may_be_equal(against[level]))
    flat = all(one.within(FLAT) for one in against.values())
    return Trend(curve, best, until, beyond, between, flat, more_is_better)


def _may_be_equal(one: Estimate) -> bool:
    return not one.known or one.low <= 1 <= one.high


@dataclass(frozen=True)
class Speedup:
    """Along one curve, against its first level. `ideal` by level: what the number of ranks alone would give."""

    curve: Curve
    base: Any
    base_value: Estimate
    by_level: dict[Any, Estimate]
    ideal: dict[Any, float]

    @property
    def best(self) -> Any:
        return max(self.by_level, key=lambda level: self.by_level[level].value)


def speedup(family: Family, curve: Curve, weak: bool = False) -> Speedup | None:
    """Of a time; where the problem grows with the ranks (`weak`), scaled: ideal is the same."""
    if len(curve.levels) < 2:
        return None
    base = curve.levels[0]
    base_runs = curve.at(base)
    found = {}
    for level in curve.levels[1:]:
        grown = level / base if weak else 1.0
        one = family.compare(curve, ratio(base, level))
        found[level] = Estimate(
            one.value * grown, one.low * grown, one.high * grown, one.p, one.blocks, one.freedom, one.level
        )
    ideal = {level: level / base for level in curve.levels[1:]}
    value = typical(np.exp(base_runs[np.isfinite(base_runs)]))
    return Speedup(curve, base, value, found, ideal)


def is_weak(ranks: Sequence[float], moved_bytes: Sequence[float]) -> bool:
    """Whether the problem grows with the ranks: the bytes that are written and read do, more than by their root."""
    pairs = [(r, b) for r, b in zip(ranks, moved_bytes, strict=True) if r > 0 and b > 0]
    if not pairs:
        return False
    (fewest, least), (most, largest) = min(pairs), max(pairs)
    return most > fewest and math.log(largest / least) > 0.5 * math.log(most / fewest)
