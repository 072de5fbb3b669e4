"""What a study found, in words. Each finding is a sentence and its evidence.

Only effects that pass the analysis of the main response are spoken of, and factors that do not act together with others
are averaged over, so that a sentence says as much as the runs allow and no more.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tailrace.study import words
from tailrace.study.contrasts import Family
from tailrace.study.crossover import Crossover, crossovers
from tailrace.study.crossover import prior as crossover_prior
from tailrace.study.effects import COEFFICIENTS_AT_MOST, Analysis, Effect
from tailrace.study.intervals import Estimate
from tailrace.study.layout import RANK_KINDS, Curve, Factor, curves
from tailrace.study.measured import Measured
from tailrace.study.responses import SCALING
from tailrace.study.trends import FLAT, Speedup, Trend, is_weak, speedup, trend
from tailrace.units import count

# A smaller change than this does not matter to anybody, however certain.
IRRELEVANT = 0.05
INTERACTIONS_SHOWN = 3
SHARE_LEAST = 0.005
PAIRS_AT_MOST = 15
TRENDS_SHOWN = 10
AVERAGED = ", averaged over everything else"
ELSEWHERE = "everywhere else"


@dataclass(frozen=True)
class Finding:
    """`kind`: wrong data, runs, trend, crossover, effect, interaction, no effect, unknown, speedup."""

    kind: str
    text: str
    evidence: str = ""
    estimate: Estimate | None = None


@dataclass(frozen=True)
class Found:
    """All of it, with what it was said from."""

    findings: tuple[Finding, ...]
    trends: tuple[Trend, ...]
    speedups: tuple[Speedup, ...]
    crossovers: tuple[tuple[str, Crossover], ...]
    weak: bool


def find(study: Measured, analysis: Analysis) -> Found:
    """Of the main response."""
    view = _View(study, analysis)
    trends, speedups, crossings = view.trends(), view.speedups(), view.crossovers()
    texts = [*_endings(study), *_trend_findings(study, trends)]
    texts += [_crossover_finding(study, name, one) for name, one in crossings]
    texts += [_effect_finding(study, one) for one in view.main_effects()]
    texts += [_interaction_finding(study, one) for one in view.interactions()]
    texts += _speedup_findings(study, speedups, view.weak)
    texts += [_quiet_finding(study, one) for one in view.quiet()]
    return Found(tuple(texts), tuple(trends), tuple(speedups), tuple(crossings), view.weak)


class _View:
    """The main response as the analysis allows to look at it."""

    def __init__(self, study: Measured, analysis: Analysis) -> None:
        self.study, self.analysis = study, analysis
        self.table = study.table(study.response)
        self.axis = study.axis
        self.more = study.response.more_is_better
        self.weak = self._weak()

    def acts_with(self, name: str, other: str) -> bool:
        """Whether how much one matters depends on the other. Where combinations that are left out keep that from being
        told, it is taken so; where there are too many levels to look at, it is not.
        """
        found = self.analysis.find(name, other)
        if found is not None:
            return found.matters and not found.size.within(IRRELEVANT)
        coefficients = math.prod(len(self.study.factor(one).levels) - 1 for one in (name, other))
        return 0 < coefficients <= COEFFICIENTS_AT_MOST

    def averaged(self, *names: str) -> list[str]:
        """The factors that act together with none of these."""
        others = [factor.name for factor in self.study.factors if factor.name not in names]
        return [other for other in others if not any(self.acts_with(name, other) for name in names)]

    def family(self) -> Family:
        assert self.axis is not None
        return Family(curves(self.table, self.axis.name, self.averaged(self.axis.name)), self.study.alike)

    def trends(self) -> list[Trend]:
        if self.axis is None:
            return []
        family = self.family()
        found = [trend(family, curve, self.more) for curve in family.curves]
        return [one for one in found if one is not None]

    def speedups(self) -> list[Speedup]:
        if self.axis is None or self.axis.kind not in RANK_KINDS or self.study.response.column not in SCALING:
            return []
        family = self.family()
        found = [speedup(family, curve, self.weak) for curve in family.curves]
        return [one for one in found if one is not None]

    def _weak(self) -> bool:
        done, axis = self.study.done, self.axis
        if axis is None or not {"bytes_written", "bytes_read"} & set(done.columns):
            return False
        moved = sum(done[name].fillna(0) for name in ("bytes_written", "bytes_read") if name in done)
        by_rank = moved.groupby(done[axis.name]).median()
        return is_weak([float(level) for level in by_rank.index], by_rank.to_list())

    def crossovers(self) -> list[tuple[str, Crossover]]:
        """Between what can be chosen: that a small problem overtakes a large one is of no use."""
        if self.axis is None:
            return []
        others = [factor for factor in self.study.varied if not is_size(factor)]
        return [(f.name, one) for f in others if self.acts_with(self.axis.name, f.name) for one in self._crossings(f)]

    def _crossings(self, factor: Factor) -> list[Crossover]:
        assert self.axis is not None
        averaged = self.averaged(self.axis.name, factor.name)
        by_place: dict[tuple[Any, ...], dict[Any, Curve]] = {}
        for curve in curves(self.table, self.axis.name, averaged):
            place = tuple(level for name, level in curve.where.items() if name != factor.name)
            by_place.setdefault(place, {})[curve.where[factor.name]] = curve
        pairs = [(a, b) for i, a in enumerate(factor.levels) for b in factor.levels[i + 1 :]][:PAIRS_AT_MOST]
        found = []
        for a, b in pairs:
            both = [(place[a], place[b]) for place in by_place.values() if a in place and b in place]
            known = crossover_prior(both)
            for one, other in both:
                where = {name: level for name, level in one.where.items() if name != factor.name}
                found += [replace(c, where=where) for c in crossovers(one, other, (a, b), known)]
        return found

    def main_effects(self) -> list[Effect]:
        """Of factors that are no axis, large enough to matter; what can be chosen first, then sizes of the problem."""
        axis = self.axis.name if self.axis else ""
        found = [
            one
            for one in self.analysis.effects
            if len(one.factors) == 1 and one.matters and one.factors[0] != axis and not one.size.within(IRRELEVANT)
        ]
        return sorted(found, key=lambda one: is_size(self.study.factor(one.factors[0])))

    def interactions(self) -> list[Effect]:
        """Those without the axis, which trends and crossovers speak of."""
        axis = self.axis.name if self.axis else ""
        found = [
            one
            for one in self.analysis.effects
            if len(one.factors) == 2 and axis not in one.factors and self.acts_with(*one.factors)
        ]
        return [one for one in found if one.share >= SHARE_LEAST][:INTERACTIONS_SHOWN]

    def quiet(self) -> list[Effect]:
        """Factors that do not matter, or of which that cannot be told, neither alone nor together with others."""
        spoken = {one.factors[0] for one in self.main_effects()}
        names = [factor.name for factor in self.study.varied if factor.name not in spoken]
        acting = {name for name in names for other in self.study.varied if self.acts_with(name, other.name)}
        found = [self.analysis.find(name) for name in names if name not in acting]
        return [one for one in found if one is not None and not _is_axis_with_effect(one, self.axis)]


def is_size(factor: Factor) -> bool:
    """Whether it says how large the problem is, rather than how it is solved."""
    return factor.kind == "size" or factor.numeric


def _is_axis_with_effect(one: Effect, axis: Factor | None) -> bool:
    return axis is not None and one.factors[0] == axis.name and one.matters


def _endings(study: Measured) -> list[Finding]:
    """Runs that did not end well are the first thing to know; which levels they have in common says most."""
    answer = []
    texts = {"wrong": "wrote wrong data", "failed": "failed", "timeout": "did not end in time"}
    for status, text in texts.items():
        bad = study.runs[study.runs["status"] == status]
        if len(bad):
            where = _common(study, bad)
            reason = bad["reason"].replace("", None).dropna().mode()
            evidence = f"most often: {reason.iloc[0]}" if len(reason) else ""
            kind = "wrong data" if status == "wrong" else "runs"
            answer.append(Finding(kind, f"{count(len(bad), 'run')} of {len(study.runs)} {text}{where}", evidence))
    return answer


def _common(study: Measured, bad: Any) -> str:
    """`, all with collective, writing to nfs` where bad runs share levels that others do not have."""
    shared = {f.name: [bad[f.name].iloc[0]] for f in study.varied if bad[f.name].nunique() == 1}
    return f", all of them with {words.conditions(study.factors, shared)}" if shared and len(bad) > 1 else ""


# --- trends


def _trend_findings(study: Measured, trends: Sequence[Trend]) -> list[Finding]:
    """One for each shape and best level, and the places where it is so."""
    groups: dict[tuple[str, Any], list[Trend]] = {}
    for one in trends:
        turning = one.best if one.shape in ("turns", "improves", "worsens beyond") else None
        groups.setdefault((one.shape, turning), []).append(one)
    order = ("turns", "worsens", "worsens beyond", "improves", "flat", "unclear")
    ordered = [group for _, group in sorted(groups.items(), key=lambda item: order.index(item[0][0]))][:TRENDS_SHOWN]
    rest = _rest(study, ordered, len(trends))
    named = [_trend_finding(study, group, _where(study, group, len(groups))) for group in ordered if group is not rest]
    return named + ([_trend_finding(study, rest, f"{ELSEWHERE}: ")] if rest else [])


def _rest(study: Measured, groups: Sequence[Sequence[Trend]], places: int) -> Sequence[Trend] | None:
    """The group that is said last, as that of all other places: most of them, and no product of levels."""
    largest = max(groups, key=len, default=())
    several = 1 < len(largest) < places < 2 * len(largest)
    return largest if several and _product(study, [one.curve.where for one in largest]) is None else None


def _where(study: Measured, group: Sequence[Trend], groups: int) -> str:
    return f"{where_words(study, [one.curve.where for one in group])}: " if groups > 1 else ""


def _trend_finding(study: Measured, group: Sequence[Trend], where: str) -> Finding:
    axis = study.axis
    assert axis is not None
    kind = "unknown" if group[0].shape == "unclear" else "trend"
    return Finding(kind, f"{where}{_shape(study, axis, group)}", _trend_evidence(axis, group))


def _shape(study: Measured, axis: Factor, group: Sequence[Trend]) -> str:
    one, response = group[0], study.response
    best, last = words.named(axis, one.best), one.curve.levels[-1]
    down, up = words.better(response), words.worse(response)
    if one.shape == "turns":
        return f"{response.words} {down} until {best} and {up} beyond"
    if one.shape == "improves":
        return f"{response.words} {down} until {best}" + (", the most that was tried" if one.best == last else "")
    if one.shape == "worsens":
        return f"{response.words} {up} from {words.named(axis, one.curve.levels[0])} on"
    if one.shape == "worsens beyond":
        return f"{response.words} {up} beyond {best}"
    if one.shape == "flat":
        return (
            f"{response.words} changes by less than {FLAT * 100:g} % from {words.plain(axis, one.curve.levels[0])}"
            + (f" to {words.named(axis, last)}")
        )
    return f"how {response.words} goes with {words.subject(axis)} cannot be told from these runs"


def _trend_evidence(axis: Factor, group: Sequence[Trend]) -> str:
    parts = []
    first, last = group[0].curve.levels[0], group[0].curve.levels[-1]
    until = [one.until for one in group if one.until is not None]
    beyond = [one.beyond for one in group if one.beyond is not None]
    best = words.plain(axis, group[0].best)
    if until and len({one.best for one in group}) == 1:
        parts.append(f"{best} against {words.named(axis, first)}: {_range(until)}")
    if beyond and len({one.best for one in group}) == 1:
        parts.append(f"{words.named(axis, last)} against {best}: {_range(beyond)}")
    others = [level for one in group for level in one.between if level != one.best]
    if others and len(group) == 1 and group[0].shape in ("turns", "worsens beyond"):
        texts = [words.plain(axis, level) for level in dict.fromkeys(others)]
        parts.append(f"as far as these runs can tell, the best may as well be {words.joined(texts, 'or')}")
    return "; ".join(parts)


def _range(estimates: Sequence[Estimate]) -> str:
    if len(estimates) == 1:
        return words.compared(estimates[0])
    values = sorted(one.value for one in estimates)
    low, high = min(one.low for one in estimates), max(one.high for one in estimates)
    span = f"{words.number(values[0])} to {words.number(values[-1])} times"
    if not all(one.known for one in estimates):
        return f"{span} ({words.NO_INTERVAL})"
    return f"{span}, intervals from {words.number(low)} to {words.number(high)}"


def where_words(study: Measured, places: Sequence[Mapping[str, Any]]) -> str:
    """The places in words, as a product of levels where they are one; factors with all their levels are not named."""
    product = _product(study, places)
    if product is not None:
        named = {f.name: product[f.name] for f in study.varied if 0 < len(product.get(f.name, ())) < len(f.levels)}
        return words.conditions(study.factors, named) or "everywhere"
    kept = [{f.name: place[f.name] for f in study.varied if f.name in place} for place in places]
    return "; ".join(words.places(study.factors, place) for place in kept[:4]) + ("; …" if len(kept) > 4 else "")


def _product(study: Measured, places: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]] | None:
    """The levels of each factor whose combinations these places are; None where they are no such product."""
    varied = [factor for factor in study.varied if factor.name in places[0]]
    levels = {f.name: [level for level in f.levels if any(p[f.name] == level for p in places)] for f in varied}
    return levels if math.prod(map(len, levels.values())) == len(places) else None


# --- levels against each other


def _effect_finding(study: Measured, one: Effect) -> Finding:
    factor = study.factor(one.factors[0])
    high, low = (words.named(factor, factor.levels[codes[0]]) for codes in (one.high, one.low))
    verb = f"has {words.times(one.size)} the {study.response.words} of {low}"
    if study.response.is_time:
        verb = f"takes {words.times(one.size)} the {study.response.words} of {low}"
    share = f"{one.share * 100:.0f} % of all variation" if one.share >= 0.01 else "under 1 % of all variation"
    return Finding("effect", f"{high} {verb}{AVERAGED}", f"{share}, {_tests(one)}", one.size)


def _interaction_finding(study: Measured, one: Effect) -> Finding:
    first, second = (study.factor(name) for name in one.factors)
    ratio = f"{words.plain(first, first.levels[one.high[0]])} to {words.plain(first, first.levels[one.low[0]])}"
    places = [words.named(second, second.levels[codes[1]]) for codes in (one.high, one.low)]
    text = (
        f"{words.subject(first)} matters differently with {places[0]} and with {places[1]}: the ratio of {ratio} is"
        f" {words.times(one.size)} as large there as here"
    )
    return Finding("interaction", text, f"{one.share * 100:.0f} % of all variation, {_tests(one)}", one.size)


def _tests(one: Effect) -> str:
    return f"{words.p_value(one.p_holm)} ({one.test} test, Holm)"


def _quiet_finding(study: Measured, one: Effect) -> Finding:
    factor = study.factor(one.factors[0])
    high, low = (words.named(factor, factor.levels[codes[0]]) for codes in (one.high, one.low))
    evidence = f"{high} against {low}: {words.compared(one.size)}, {_tests(one)}"
    about = f"{words.subject(factor)}"
    if one.size.within(IRRELEVANT):
        return Finding("no effect", f"{about} does not matter to {study.response.words}", evidence, one.size)
    text = f"whether {about} matters to {study.response.words} cannot be told from these runs"
    return Finding("unknown", text, evidence, one.size)


def _crossover_finding(study: Measured, name: str, one: Crossover) -> Finding:
    factor, axis = study.factor(name), study.axis
    assert axis is not None
    first, second = words.named(factor, one.first), words.plain(factor, one.second)
    if study.response.more_is_better:
        first, second = words.named(factor, one.second), words.plain(factor, one.first)
    bounds = _bounds(one)
    place = words.places(study.factors, {k: v for k, v in one.where.items() if len(study.factor(k).levels) > 1})
    at = f"{words.number(one.at, 1)} {_unit(axis)}"
    text = f"{f'{place}: ' if place else ''}{first} beats {second} below {at} (95 % interval {bounds}), and loses above"
    below, above = (words.plain(axis, level) for level in one.between)
    between = f"interpolated between {below} and {above}" if below != above else f"measured at {below}"
    return Finding("crossover", text, f"{between}, {count(one.blocks, 'block')}")


def _unit(axis: Factor) -> str:
    return {"ranks": "ranks", "threads": "threads"}.get(axis.kind, axis.unit or words.spaced(axis.name))


def _bounds(one: Crossover) -> str:
    if one.low is None:
        return f"up to {words.number(one.high or one.at, 1)}"
    if one.high is None:
        return f"from {words.number(one.low, 1)} on"
    return f"{words.number(one.low, 1)} to {words.number(one.high, 1)}"


def _speedup_findings(study: Measured, speedups: Sequence[Speedup], weak: bool) -> list[Finding]:
    """The best and the worst place, with what would be ideal."""
    if not speedups or study.axis is None:
        return []
    ranked = sorted(speedups, key=lambda one: one.by_level[one.best].value)
    chosen = [ranked[-1]] if len(ranked) == 1 else [ranked[-1], ranked[0]]
    return [_speedup_finding(study, study.axis, one, weak) for one in chosen]


def _speedup_finding(study: Measured, axis: Factor, one: Speedup, weak: bool) -> Finding:
    best = one.by_level[one.best]
    place = where_words(study, [one.curve.where])
    base = f"{words.named(axis, one.base)} ({study.response.text(one.base_value.value)})"
    place = "" if place == "everywhere" else f"{place}: "
    if best.below(1) or (not best.known and best.value < 1):
        return Finding(
            "speedup",
            f"{place}nothing is faster than {base}",
            f"{words.named(axis, one.best)}: {words.times(best)} as fast",
            best,
        )
    text = (
        f"{place}the best {'scaled ' if weak else ''}speedup over {base} is"
        f" {words.number(best.value)} ({words.interval(best)}) at {words.named(axis, one.best)}, where"
        f" {words.number(one.ideal[one.best], 0)} would be ideal"
    )
    return Finding("speedup", text, "", best)
