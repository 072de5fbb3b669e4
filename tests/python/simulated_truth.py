"""Whether what a report says is so, of simulated studies of any shape: every sentence of its
findings against the true times."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from tailrace.study.analysis.effect import Effect
from tailrace.study.analysis.effects import Analysis, analyse
from tailrace.study.analysis.findings import AVERAGED, IRRELEVANT, Found, StudyFinding, find
from tailrace.study.analysis.measured import Measured
from tailrace.study.analysis.view import View

from .simulated_curves import Where
from .simulated_trends import false_trend

# What is less than this is not there.
LEAST = 1e-9


class Truth:
    """The logarithms of the true values, of the combinations that there are."""

    def __init__(self, measured: Measured, time_s: Callable[[Where], float]) -> None:
        self.study = measured
        self.names = [factor.name for factor in measured.factors]
        rows = measured.runs[self.names].drop_duplicates().to_dict("records")
        self.logs = {self._key(where): math.log(time_s(where)) for where in rows}

    def _key(self, where: Where) -> tuple[Any, ...]:
        return tuple(where[name] for name in self.names)

    def values(self, where: Where) -> dict[tuple[Any, ...], float]:
        """Of the combinations with these levels, by the levels of the other factors."""
        fixed = {self.names.index(name): level for name, level in where.items()}
        return {
            tuple(level for at, level in enumerate(key) if at not in fixed): value
            for key, value in self.logs.items()
            if all(key[at] == level for at, level in fixed.items())
        }

    def contrast(self, weights: Sequence[tuple[Where, float]]) -> dict[tuple[Any, ...], float]:
        """The weighted sum in each place that has all of these levels."""
        sides = [(self.values(where), weight) for where, weight in weights]
        places = set.intersection(*(set(values) for values, _ in sides))
        return {place: sum(weight * v[place] for v, weight in sides) for place in places}

    def mean(self, weights: Sequence[tuple[Where, float]]) -> float:
        return float(np.mean(list(self.contrast(weights).values())))

    def curve(self, where: Where, axis: str, levels: Sequence[Any]) -> dict[Any, float]:
        """The values along a factor, averaged over what `where` does not name."""
        sides = {level: self.values({**where, axis: level}) for level in levels}
        places = set.intersection(*map(set, sides.values()))
        return {
            level: float(np.exp(np.mean([values[place] for place in places])))
            for level, values in sides.items()
        }


class Claims:
    """What a report says of a study, and which of it is false."""

    def __init__(self, measured: Measured, time_s: Callable[[Where], float]) -> None:
        self.study, self.truth = measured, Truth(measured, time_s)
        self.analysis: Analysis = analyse(
            measured.compared(measured.response), not measured.only_factors
        )
        self.view = View(measured, self.analysis)
        self.found: Found = find(measured, self.analysis)

    @cached_property
    def false(self) -> list[str]:
        return [
            *self._effects(),
            *self._interactions(),
            *self._trends(),
            *self._overtaking(),
            *self._quiet(),
            *self._speedups(),
            *self._strange(),
        ]

    def _said(self, effect: Effect) -> StudyFinding:
        sizes = (effect.size, effect.size_said)
        return next(
            one for one in self.found.findings if any(one.estimate is size for size in sizes)
        )

    def _weights(self, effect: Effect) -> list[tuple[dict[str, Any], float]]:
        """Of the ratio, or of the ratio of ratios, that is told."""
        factors = [self.study.factor(name) for name in effect.factors]
        sides = [({}, 1.0)]
        for factor, high, low in zip(factors, effect.high, effect.low, strict=True):
            sides = [
                ({**where, factor.name: factor.levels[code]}, weight * sign)
                for where, weight in sides
                for code, sign in ((high, 1.0), (low, -1.0))
            ]
        return sides

    def _effects(self) -> Iterator[str]:
        for effect in self.view.main_effects():
            told, places = self._said(effect).text, self.truth.contrast(self._weights(effect))
            everywhere = told.endswith(AVERAGED) or len(self.study.varied) == 1
            ratio = min(places.values()) if everywhere else float(np.mean(list(places.values())))
            if ratio <= LEAST:
                yield f"{told}: {math.exp(ratio):.3f}"

    def _interactions(self) -> Iterator[str]:
        for effect in self.view.interactions():
            ratio = self.truth.mean(self._weights(effect))
            if ratio <= LEAST:
                yield f"{self._said(effect).text}: {math.exp(ratio):.3f}"

    def _trends(self) -> Iterator[str]:
        axis = self.study.axis
        for along in self.found.trends:
            assert axis is not None
            true = self.truth.curve(along.curve.where, axis.name, along.curve.levels)
            if self.study.response.more_is_better:
                true = {level: 1 / value for level, value in true.items()}
            if false_trend(along, true):
                yield f"{along.shape} {along.says} of {true}"

    def _overtaking(self) -> Iterator[str]:
        axis = self.study.axis
        for each in self.found.crossovers:
            found = each.crossover
            ahead = self._ahead(each.factor, found, axis)
            since = min(ahead) if found.since is None else found.since
            until = max(ahead) if found.until is None else found.until
            before = [ahead[level] for level in ahead if since <= level < found.low]
            after = [ahead[level] for level in ahead if found.high < level <= until]
            if max(before, default=-1) >= -LEAST or min(after, default=1) <= LEAST:
                yield f"crossover {found}"
        for lead in self.found.leads:
            ahead = self._ahead(lead.factor, lead.lead, axis)
            until, since = lead.lead.until, lead.lead.since
            told = [v for k, v in ahead.items() if (k <= until if since is None else k >= since)]
            if max(told) >= -LEAST:
                yield f"lead {lead.lead}"

    def _ahead(self, factor: str, found: Any, axis: Any) -> dict[Any, float]:
        """The logarithm of the first over the second along the axis."""
        pairs = {
            level: [
                ({**found.where, factor: found.first, axis.name: level}, 1.0),
                ({**found.where, factor: found.second, axis.name: level}, -1.0),
            ]
            for level in axis.levels
        }
        whole = {level: self.truth.contrast(weights) for level, weights in pairs.items()}
        return {level: float(np.mean([*v.values()])) for level, v in whole.items() if v}

    def _quiet(self) -> Iterator[str]:
        for effect in self.view.quiet():
            told = self._said(effect).text
            if "does not matter" not in told:
                if " matters to " in told and not told.startswith("whether"):
                    yield from self._nothing_to(effect, told)
                continue
            (name,) = effect.factors
            for first, second in combinations(self.study.factor(name).levels, 2):
                places = self.truth.contrast([({name: first}, 1.0), ({name: second}, -1.0)])
                sizes = list(places.values())
                average = "on the average of everything else" in told
                size = abs(float(np.mean(sizes))) if average else max(map(abs, sizes))
                if size > math.log(1 + IRRELEVANT):
                    yield f"{told}: {first} / {second} {math.exp(size):.3f}"

    def _nothing_to(self, effect: Effect, told: str) -> Iterator[str]:
        (name,) = effect.factors
        levels = self.study.factor(name).levels
        ratios = [
            self.truth.mean([({name: first}, 1.0), ({name: second}, -1.0)])
            for first, second in combinations(levels, 2)
        ]
        if max(map(abs, ratios)) < LEAST:
            yield told

    def _speedups(self) -> Iterator[str]:
        axis = self.study.axis
        for gained in self.found.speedups:
            assert axis is not None
            best = gained.by_level[gained.best]
            true = self.truth.curve(gained.curve.where, axis.name, gained.curve.levels)
            ratio = true[gained.base] / true[gained.best]
            if best.known and best.beyond(1) and ratio <= 1 + LEAST:
                yield f"speedup at {gained.best}: {ratio:.3f}"
            slower = all(other.known and other.below(1) for other in gained.by_level.values())
            if slower and any(true[gained.base] / true[k] >= 1 for k in gained.by_level):
                yield "nothing is faster"

    def _strange(self) -> Iterator[str]:
        """Combinations that do not follow, where all do."""
        lack = self.analysis.lack_of_fit
        if lack is not None and lack.strange and not self._has_three:
            yield "some combinations do not follow"

    @cached_property
    def _has_three(self) -> bool:
        """Whether some three factors act together in truth."""
        for names in combinations([factor.name for factor in self.study.varied], 3):
            steps = [list(pairwise(self.study.factor(name).levels)) for name in names]
            for first in steps[0]:
                for second in steps[1]:
                    for third in steps[2]:
                        if self._acts(names, (first, second, third)):
                            return True
        return False

    def _acts(self, names: Sequence[str], pairs: Sequence[tuple[Any, Any]]) -> bool:
        sides: list[tuple[dict[str, Any], float]] = [({}, 1.0)]
        for name, (low, high) in zip(names, pairs, strict=True):
            sides = [
                ({**where, name: level}, weight * sign)
                for where, weight in sides
                for level, sign in ((high, 1.0), (low, -1.0))
            ]
        return any(abs(value) > 1e-6 for value in self.truth.contrast(sides).values())
