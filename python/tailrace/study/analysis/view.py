"""The main response as the analysis allows to look at it: factors that do not act together with
others are averaged over, so that a sentence says as much as the runs allow and no more; of what
does not pass the analysis nothing is said to be certain."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from tailrace.study.analysis.contrasts import Family, ratio
from tailrace.study.analysis.crossover import overtaking
from tailrace.study.analysis.crossover import prior as crossover_prior
from tailrace.study.analysis.effect import Effect
from tailrace.study.analysis.effects import Analysis
from tailrace.study.analysis.factors import RANK_KINDS, StudyFactor
from tailrace.study.analysis.intervals import LEVEL, Prior
from tailrace.study.analysis.layout import Curve, curves
from tailrace.study.analysis.measured import Measured
from tailrace.study.analysis.model import COEFFICIENTS_AT_MOST
from tailrace.study.analysis.overtaking import FactorCrossover, FactorLead
from tailrace.study.analysis.responses import SCALING
from tailrace.study.analysis.trends import Speedup, Trend, is_weak, speedup, trend

# A smaller change than this does not matter to anybody, however certain.
IRRELEVANT = 0.05
PAIRS_AT_MOST = 15
# In more places than this nobody looks whether a factor matters in none of them.
PLACES_AT_MOST = 400


class _Pair(NamedTuple):
    """The curves of two levels of a factor at one place."""

    factor: str
    curves: tuple[Curve, Curve]
    levels: tuple[Any, Any]
    known: Prior


class View:
    """Of one study."""

    def __init__(self, study: Measured, analysis: Analysis) -> None:
        self.study, self.analysis = study, analysis
        self.table = study.compared(study.response)
        self.axis = study.axis
        self.weak = self._weak()

    def acts_with(self, name: str, other: str) -> bool:
        """Whether how much one matters depends on the other. Where combinations do not follow the
        model, or those that are left out keep that from being told, it is taken so; where there are
        too many levels to look at, or the design assumes that there is none, it is not.
        """
        if not self.analysis.fits:
            return True
        together = self.analysis.act_together(name, other)
        if any(not effect.size.within(IRRELEVANT) for effect in together):
            return True
        if self.analysis.find(name, other) is not None or self.study.is_fraction:
            return False
        levels = [len(self.study.factor(factor).levels) for factor in (name, other)]
        return 0 < math.prod(number - 1 for number in levels) <= COEFFICIENTS_AT_MOST

    def acts_with_any(self, name: str) -> bool:
        return any(
            self.acts_with(name, other.name) for other in self.study.varied if other.name != name
        )

    def surely_acts_with_any(self, name: str) -> bool:
        """Whether an interaction was found; in a fraction of a design it may be another's."""
        found = self.analysis.act_together(name)
        return not self.study.is_fraction and any(not e.size.within(IRRELEVANT) for e in found)

    def is_so_everywhere(self, effect: Effect) -> bool:
        """Whether no place can have the reverse of what a factor does on the average: all that
        interactions may change of it is less."""
        (name,) = effect.factors
        others = [factor.name for factor in self.study.varied if factor.name != name]
        found = [self.analysis.find(name, other) for other in others]
        most = sum(math.inf if each is None else math.log(each.size.high) for each in found)
        return math.log(effect.size.low) > most

    def matters(self, name: str) -> bool:
        """Alone, or together with others."""
        effect = self.analysis.find(name)
        return (effect is not None and effect.matters) or bool(self.analysis.act_together(name))

    def averaged(self, *names: str) -> list[str]:
        """The factors that act together with none of these, and of which some level was run with
        all levels of these: an average would otherwise be of fewer."""
        others = [factor.name for factor in self.study.factors if factor.name not in names]
        return [
            other
            for other in others
            if not any(self.acts_with(name, other) for name in names)
            and all(self._has_all_levels(name, other) for name in names)
        ]

    def _has_all_levels(self, name: str, other: str) -> bool:
        """Whether some level of the other factor was run with all levels of this one."""
        codes = self.table.codes
        own, its = (codes[:, self.table.position(one)] for one in (name, other))
        pairs = np.unique(np.column_stack([own, its]), axis=0)
        return bool(np.bincount(pairs[:, 1]).max(initial=0) == len(np.unique(own)))

    @cached_property
    def family(self) -> Family:
        """The curves along the axis."""
        assert self.axis is not None
        name = self.axis.name
        return Family(curves(self.table, name, self.averaged(name)), self.study.alike)

    @property
    def _careful(self) -> float:
        """The level of intervals that allow for all curves having been looked at."""
        return 1 - (1 - LEVEL) / max(len(self.family.curves), 1)

    def trends(self) -> list[Trend]:
        if self.axis is None:
            return []
        more, told = bool(self.study.response.more_is_better), self.matters(self.axis.name)
        found = [
            trend(self.family, curve, more, self._careful, told) for curve in self.family.curves
        ]
        return [along for along in found if along is not None]

    def speedups(self) -> list[Speedup]:
        """Where the axis matters for certain."""
        axis = self.axis
        if axis is None or axis.kind not in RANK_KINDS or not self.matters(axis.name):
            return []
        if self.study.response.column not in SCALING:
            return []
        found = [
            speedup(self.family, curve, self.weak, self._careful) for curve in self.family.curves
        ]
        return [gained for gained in found if gained is not None]

    def _weak(self) -> bool:
        done, axis = self.study.done, self.axis
        columns = [name for name in ("bytes_written", "bytes_read") if name in done]
        if axis is None or not columns:
            return False
        moved = sum(done[name].fillna(0) for name in columns)
        by_rank = moved.groupby(done[axis.name]).median()
        return is_weak([float(level) for level in by_rank.index], by_rank.to_list())

    def overtaking(self) -> tuple[list[FactorCrossover], list[FactorLead]]:
        """Between what can be chosen: that a small problem overtakes a large one is of no use."""
        crossings, leads = [], []
        for pair in self._pairs:
            found, ahead = overtaking(*pair.curves, pair.levels, pair.known, len(self._places))
            crossings += [FactorCrossover(pair.factor, crossing) for crossing in found]
            leads += [FactorLead(pair.factor, ahead)] if ahead is not None else []
        return crossings, leads

    @cached_property
    def _places(self) -> list[Any]:
        """All measured places at which two levels are compared."""
        return [level for pair in self._pairs for level in pair.curves[0].levels]

    @cached_property
    def _pairs(self) -> list[_Pair]:
        """Of factors that act together with the axis for certain."""
        axis = self.axis
        if axis is None:
            return []
        chosen = [
            factor
            for factor in self.study.varied
            if factor.name != axis.name and not is_size(factor)
            if self._may_cross(axis.name, factor.name) and self.acts_with(axis.name, factor.name)
        ]
        return [pair for factor in chosen for pair in self._pairs_of(axis, factor)]

    def _may_cross(self, axis: str, factor: str) -> bool:
        """Where runs that were ended keep the analysis from looking, each place is looked at: what
        is said allows for all of them."""
        if self.table.bounds.any() and self.analysis.find(axis, factor) is None:
            return True
        return bool(self.analysis.act_together(axis, factor))

    def _pairs_of(self, axis: StudyFactor, factor: StudyFactor) -> Iterator[_Pair]:
        places: dict[tuple[Any, ...], dict[Any, Curve]] = {}
        for curve in curves(self.table, axis.name, self.averaged(axis.name, factor.name)):
            place = tuple(level for name, level in curve.where.items() if name != factor.name)
            places.setdefault(place, {})[curve.where[factor.name]] = curve
        levels = factor.levels
        pairs = [(first, second) for i, first in enumerate(levels) for second in levels[i + 1 :]]
        for first, second in pairs[:PAIRS_AT_MOST]:
            both = [
                (place[first], place[second])
                for place in places.values()
                if first in place and second in place
            ]
            known = crossover_prior(both)
            for curve, other in both:
                where = {name: level for name, level in curve.where.items() if name != factor.name}
                compared = (replace(curve, where=where), other)
                yield _Pair(factor.name, compared, (first, second), known)

    def _effects(self, *factors: int) -> list[Effect]:
        """Those of so many factors, without the axis, which trends and crossovers speak of."""
        axis = self.axis.name if self.axis else ""
        return [
            effect
            for effect in self.analysis.effects
            if len(effect.factors) in factors and axis not in effect.factors
        ]

    def main_effects(self) -> list[Effect]:
        """Large enough to matter. Where combinations do not follow the model, and some are missing
        of those that would say how a factor acts with others, there is no average to tell."""
        missing = set() if self.analysis.fits else set().union(*self.analysis.not_estimable)
        return [e for e in self._effects(1) if _is_told(e) and e.factors[0] not in missing]

    def interactions(self) -> list[Effect]:
        """Those of three with the axis too: no trend shows them."""
        of_three = [effect for effect in self.analysis.effects if len(effect.factors) == 3]
        found = [*self._effects(2), *of_three]
        return [effect for effect in found if _is_told(effect)]

    def quiet(self) -> list[Effect]:
        """Factors that do not matter, or of which that cannot be told, neither alone nor together
        with others."""
        spoken = {effect.factors[0] for effect in self.main_effects()}
        alone = [
            factor.name
            for factor in self.study.varied
            if factor.name not in spoken and not self.acts_with_any(factor.name)
        ]
        found = [effect for name in alone if (effect := self.analysis.find(name)) is not None]
        axis = self.axis.name if self.axis else ""
        return [effect for effect in found if not (effect.matters and axis in effect.factors)]

    def does_not_matter(self, effect: Effect) -> bool:
        """On the average of everything else."""
        return effect.size_said.within(IRRELEVANT) and not self.table.bounds.any()

    def matters_nowhere(self, name: str) -> bool:
        """Whether in every place all its levels are surely alike."""
        if self.study.is_fraction:
            return False
        family = Family(curves(self.table, name), self.study.alike)
        return len(family.curves) <= PLACES_AT_MOST and all(
            family.compare(curve, ratio(second, first)).within(IRRELEVANT)
            for curve in family.curves
            for first, second in _all_pairs(curve.levels)
        )


def _is_told(effect: Effect) -> bool:
    """Whether it is large enough to matter, and the ratio that would be told is surely not 1."""
    return effect.matters and effect.size.decided and not effect.size.within(IRRELEVANT)


def _all_pairs(levels: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    return combinations(levels, 2)


def is_size(factor: StudyFactor) -> bool:
    """Whether it says how large the problem is, rather than how it is solved."""
    return factor.kind == "size" or factor.numeric
