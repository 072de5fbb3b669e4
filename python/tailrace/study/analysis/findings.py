"""What a study found, in words. Each finding is a sentence and its evidence.

Only effects that pass the analysis of the main response are spoken of, and factors that do not act
together with others are averaged over, so that a sentence says as much as the runs allow and no
more.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Any, NamedTuple

from tailrace.study.analysis import words
from tailrace.study.analysis.contrasts import Family
from tailrace.study.analysis.crossover import overtaking
from tailrace.study.analysis.crossover import prior as crossover_prior
from tailrace.study.analysis.effects import COEFFICIENTS_AT_MOST, Analysis, Effect
from tailrace.study.analysis.intervals import Estimate, Prior
from tailrace.study.analysis.layout import RANK_KINDS, Curve, StudyFactor, curves
from tailrace.study.analysis.measured import Measured
from tailrace.study.analysis.overtaking import (
    FactorCrossover,
    FactorLead,
    crossover_words,
    lead_words,
)
from tailrace.study.analysis.responses import SCALING
from tailrace.study.analysis.trend_words import evidence, sentence
from tailrace.study.analysis.trends import (
    Speedup,
    Trend,
    TrendShape,
    is_weak,
    speedup,
    trend,
)
from tailrace.study.definition.columns import RunStatus
from tailrace.units import count

# A smaller change than this does not matter to anybody, however certain.
IRRELEVANT = 0.05
INTERACTIONS_SHOWN = 3
SHARE_LEAST = 0.005
PAIRS_AT_MOST = 15
TRENDS_SHOWN = 10
AVERAGED = ", averaged over everything else"
ELSEWHERE = "everywhere else"
ENDINGS = {
    RunStatus.WRONG: "wrote wrong data",
    RunStatus.FAILED: "failed",
    RunStatus.TIMEOUT: "did not end in time",
}


class FindingKind(StrEnum):
    """In the order in which they are worth a place in the first line."""

    WRONG_DATA = "wrong data"
    TREND = "trend"
    CROSSOVER = "crossover"
    LEAD = "lead"
    EFFECT = "effect"
    NO_EFFECT = "no effect"
    INTERACTION = "interaction"
    SPEEDUP = "speedup"
    RUNS = "runs"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class StudyFinding:
    kind: FindingKind
    text: str
    evidence: str = ""
    estimate: Estimate | None = None


@dataclass(frozen=True)
class Found:
    """All of it, with what it was said from."""

    findings: tuple[StudyFinding, ...]
    trends: tuple[Trend, ...]
    speedups: tuple[Speedup, ...]
    crossovers: tuple[FactorCrossover, ...]
    leads: tuple[FactorLead, ...]
    weak: bool


def find(study: Measured, analysis: Analysis) -> Found:
    """Of the main response."""
    view = _View(study, analysis)
    trends, speedups = view.trends(), view.speedups()
    crossings, leads = view.overtaking()
    findings = [
        *_endings(study),
        *_trend_findings(study, trends),
        *(
            StudyFinding(FindingKind.CROSSOVER, *crossover_words(study, crossing))
            for crossing in crossings
        ),
        *(StudyFinding(FindingKind.LEAD, *lead_words(study, ahead)) for ahead in leads),
        *(_effect_finding(study, effect) for effect in view.main_effects()),
        *(_interaction_finding(study, effect) for effect in view.interactions()),
        *_speedup_findings(study, speedups, view.weak),
        *(_quiet_finding(study, effect) for effect in view.quiet()),
    ]
    compared = (tuple(crossings), tuple(leads))
    return Found(tuple(findings), tuple(trends), tuple(speedups), *compared, view.weak)


def is_size(factor: StudyFactor) -> bool:
    """Whether it says how large the problem is, rather than how it is solved."""
    return factor.kind == "size" or factor.numeric


class _Pair(NamedTuple):
    """The curves of two levels of a factor at one place."""

    factor: str
    curves: tuple[Curve, Curve]
    levels: tuple[Any, Any]
    known: Prior


class _View:
    """The main response as the analysis allows to look at it."""

    def __init__(self, study: Measured, analysis: Analysis) -> None:
        self.study, self.analysis = study, analysis
        self.table = study.table(study.response)
        self.axis = study.axis
        self.weak = self._weak()

    def acts_with(self, name: str, other: str) -> bool:
        """Whether how much one matters depends on the other. Where combinations that are left out
        keep that from being told, it is taken so; where there are too many levels to look at, it is
        not.
        """
        found = self.analysis.find(name, other)
        if found is not None:
            return found.matters and not found.size.within(IRRELEVANT)
        levels = [len(self.study.factor(factor).levels) for factor in (name, other)]
        return 0 < math.prod(number - 1 for number in levels) <= COEFFICIENTS_AT_MOST

    def averaged(self, *names: str) -> list[str]:
        """The factors that act together with none of these."""
        others = [factor.name for factor in self.study.factors if factor.name not in names]
        return [other for other in others if not any(self.acts_with(name, other) for name in names)]

    def family(self, axis: StudyFactor) -> Family:
        return Family(curves(self.table, axis.name, self.averaged(axis.name)), self.study.alike)

    def trends(self) -> list[Trend]:
        if self.axis is None:
            return []
        family, more = self.family(self.axis), bool(self.study.response.more_is_better)
        found = [trend(family, curve, more) for curve in family.curves]
        return [along for along in found if along is not None]

    def speedups(self) -> list[Speedup]:
        axis = self.axis
        if axis is None or axis.kind not in RANK_KINDS:
            return []
        if self.study.response.column not in SCALING:
            return []
        family = self.family(axis)
        found = [speedup(family, curve, self.weak) for curve in family.curves]
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
        if self.axis is None:
            return []
        chosen = [factor for factor in self.study.varied if not is_size(factor)]
        return [
            pair
            for factor in chosen
            if self.acts_with(self.axis.name, factor.name)
            for pair in self._pairs_of(self.axis, factor)
        ]

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

    def _effects(self, factors: int) -> list[Effect]:
        """Those of one factor, or of two, without the axis, which trends and crossovers speak
        of."""
        axis = self.axis.name if self.axis else ""
        return [
            effect
            for effect in self.analysis.effects
            if len(effect.factors) == factors and axis not in effect.factors
        ]

    def main_effects(self) -> list[Effect]:
        """Large enough to matter; what can be chosen first, then sizes of the problem."""
        found = [
            effect
            for effect in self._effects(1)
            if effect.matters and not effect.size.within(IRRELEVANT)
        ]
        return sorted(found, key=lambda effect: is_size(self.study.factor(effect.factors[0])))

    def interactions(self) -> list[Effect]:
        found = [effect for effect in self._effects(2) if self.acts_with(*effect.factors)]
        return [effect for effect in found if effect.share >= SHARE_LEAST][:INTERACTIONS_SHOWN]

    def quiet(self) -> list[Effect]:
        """Factors that do not matter, or of which that cannot be told, neither alone nor together
        with others."""
        spoken = {effect.factors[0] for effect in self.main_effects()}
        varied = [factor.name for factor in self.study.varied]
        alone = [
            name
            for name in varied
            if name not in spoken and not any(self.acts_with(name, other) for other in varied)
        ]
        found = [effect for name in alone if (effect := self.analysis.find(name)) is not None]
        axis = self.axis.name if self.axis else ""
        return [effect for effect in found if not (effect.matters and axis in effect.factors)]


def _endings(study: Measured) -> Iterator[StudyFinding]:
    """Runs that did not end well are the first thing to know; which levels they have in common says
    most: `, all of them with collective, writing to nfs`."""
    for status, text in ENDINGS.items():
        bad = study.runs[study.runs["status"] == status]
        if bad.empty:
            continue
        shared = {
            factor.name: [bad[factor.name].iloc[0]]
            for factor in study.varied
            if bad[factor.name].nunique() == 1
        }
        where = ""
        if shared and len(bad) > 1:
            where = f", all of them with {words.conditions(study.factors, shared)}"
        reason = bad["reason"].replace("", None).dropna().mode()
        yield StudyFinding(
            FindingKind.WRONG_DATA if status is RunStatus.WRONG else FindingKind.RUNS,
            f"{count(len(bad), 'run')} of {len(study.runs)} {text}{where}",
            f"most often: {reason.iloc[0]}" if len(reason) else "",
        )


# --- trends


def _trend_findings(study: Measured, trends: Sequence[Trend]) -> list[StudyFinding]:
    """One for each shape and best level, and the places where it is so. The largest group is said
    last, as that of all other places, where it has most of them and is not a product of levels."""
    turning = (TrendShape.TURNS, TrendShape.IMPROVES, TrendShape.WORSENS_BEYOND)
    groups: dict[tuple[Any, ...], list[Trend]] = {}
    for along in trends:
        best = along.best if along.shape in turning else None
        settled = (along.settles, along.settles_flat) if along.settles is not None else ()
        what = settled or (best, along.contrary[:1])
        groups.setdefault((along.shape, *what), []).append(along)
    order = list(TrendShape)
    ordered = sorted(groups.values(), key=lambda group: order.index(group[0].shape))[:TRENDS_SHOWN]
    largest = max(ordered, key=len, default=[])
    several = 1 < len(largest) < len(trends) < 2 * len(largest)
    rest = largest if several and _product(study, _places(largest)) is None else None
    findings = []
    for group in ordered:
        if group is not rest:
            where = f"{where_words(study, _places(group))}: " if len(groups) > 1 else ""
            findings.append(_trend_finding(study, group, where))
    return findings + ([_trend_finding(study, rest, f"{ELSEWHERE}: ")] if rest else [])


def _places(trends: Sequence[Trend]) -> list[Mapping[str, Any]]:
    return [along.curve.where for along in trends]


def _trend_finding(study: Measured, group: Sequence[Trend], where: str) -> StudyFinding:
    axis = study.axis
    assert axis is not None
    unclear = group[0].shape is TrendShape.UNCLEAR
    return StudyFinding(
        FindingKind.UNKNOWN if unclear else FindingKind.TREND,
        f"{where}{sentence(study, axis, group[0])}",
        evidence(axis, group),
    )


def where_words(study: Measured, places: Sequence[Mapping[str, Any]]) -> str:
    """The places in words, as a product of levels where they are one; factors with all their levels
    are not named."""
    product = _product(study, places)
    if product is not None:
        named = {
            factor.name: product[factor.name]
            for factor in study.varied
            if 0 < len(product.get(factor.name, ())) < len(factor.levels)
        }
        return words.conditions(study.factors, named) or "everywhere"
    varied = [factor.name for factor in study.varied]
    kept = [{name: place[name] for name in varied if name in place} for place in places]
    texts = [words.places(study.factors, place) for place in kept[:4]]
    return "; ".join(texts + ["…"] * (len(kept) > 4))


def _product(study: Measured, places: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]] | None:
    """The levels of each factor whose combinations these places are; None where they are no such
    product."""
    levels = {
        factor.name: [
            level for level in factor.levels if any(place[factor.name] == level for place in places)
        ]
        for factor in study.varied
        if factor.name in places[0]
    }
    return levels if math.prod(map(len, levels.values())) == len(places) else None


# --- levels against each other


def _effect_finding(study: Measured, effect: Effect) -> StudyFinding:
    high, low = _extremes(study, effect)
    verb = "takes" if study.response.is_time else "has"
    share = f"{effect.share * 100:.0f} %" if effect.share >= 0.01 else "under 1 %"
    return StudyFinding(
        FindingKind.EFFECT,
        f"{high} {verb} {words.times(effect.size)} the {study.response.words} of {low}{AVERAGED}",
        f"{share} of all variation, {_tests(effect)}",
        effect.size,
    )


def _extremes(study: Measured, effect: Effect) -> tuple[str, str]:
    factor = study.factor(effect.factors[0])
    high, low = (factor.levels[codes[0]] for codes in (effect.high, effect.low))
    return words.named(factor, high), words.named(factor, low)


def _interaction_finding(study: Measured, effect: Effect) -> StudyFinding:
    first, second = (study.factor(name) for name in effect.factors)
    high, low = (words.plain(first, first.levels[codes[0]]) for codes in (effect.high, effect.low))
    there, here = (
        words.named(second, second.levels[codes[1]]) for codes in (effect.high, effect.low)
    )
    return StudyFinding(
        FindingKind.INTERACTION,
        f"{words.subject(first)} matters differently with {there} and with {here}: the ratio of"
        f" {high} to {low} is {words.times(effect.size)} as large there as here",
        f"{effect.share * 100:.0f} % of all variation, {_tests(effect)}",
        effect.size,
    )


def _tests(effect: Effect) -> str:
    return f"{words.p_value(effect.p_holm)} ({effect.test} test, Holm)"


def _quiet_finding(study: Measured, effect: Effect) -> StudyFinding:
    high, low = _extremes(study, effect)
    evidence = f"{high} against {low}: {words.compared(effect.size)}, {_tests(effect)}"
    about, response = words.subject(study.factor(effect.factors[0])), study.response.words
    if effect.size.within(IRRELEVANT):
        text = f"{about} does not matter to {response}"
        return StudyFinding(FindingKind.NO_EFFECT, text, evidence, effect.size)
    text = f"whether {about} matters to {response} cannot be told from these runs"
    return StudyFinding(FindingKind.UNKNOWN, text, evidence, effect.size)


def _speedup_findings(
    study: Measured, speedups: Sequence[Speedup], weak: bool
) -> list[StudyFinding]:
    """The best and the worst place, with what would be ideal."""
    if not speedups or study.axis is None:
        return []
    ranked = sorted(speedups, key=lambda gained: gained.by_level[gained.best].value)
    chosen = [ranked[-1]] if len(ranked) == 1 else [ranked[-1], ranked[0]]
    return [_speedup_finding(study, study.axis, gained, weak) for gained in chosen]


def _speedup_finding(
    study: Measured, axis: StudyFactor, gained: Speedup, weak: bool
) -> StudyFinding:
    best, at = gained.by_level[gained.best], words.named(axis, gained.best)
    base = f"{words.named(axis, gained.base)} ({study.response.text(gained.base_value.value)})"
    where = where_words(study, [gained.curve.where])
    place = "" if where == "everywhere" else f"{where}: "
    if best.below(1) or (not best.known and best.value < 1):
        text, evidence = (
            f"{place}nothing is faster than {base}",
            f"{at}: {words.times(best)} as fast",
        )
        return StudyFinding(FindingKind.SPEEDUP, text, evidence, best)
    text = (
        f"{place}the best {'scaled ' if weak else ''}speedup over {base} is"
        f" {words.number(best.value)} ({words.interval(best)}) at {at}, where"
        f" {words.number(gained.ideal[gained.best], 0)} would be ideal"
    )
    return StudyFinding(FindingKind.SPEEDUP, text, "", best)
