"""What a study found, in words. Each finding is a sentence and its evidence; they come in the order
of what they are worth: the ratio that is certain, whatever it is of."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import pandas as pd

from tailrace.study.analysis import aliasing, words
from tailrace.study.analysis.effect import Effect
from tailrace.study.analysis.effects import Analysis
from tailrace.study.analysis.factors import StudyFactor
from tailrace.study.analysis.intervals import Estimate
from tailrace.study.analysis.measured import Measured
from tailrace.study.analysis.overtaking import (
    FactorCrossover,
    FactorLead,
    crossover_words,
    lead_words,
)
from tailrace.study.analysis.places import EVERYWHERE, product, where_words
from tailrace.study.analysis.trend_words import evidence, sentence
from tailrace.study.analysis.trends import Speedup, Trend, TrendShape
from tailrace.study.analysis.view import IRRELEVANT, View
from tailrace.study.definition.columns import RunStatus
from tailrace.units import count

__all__ = ["IRRELEVANT", "FindingKind", "Found", "StudyFinding", "find"]

INTERACTIONS_SHOWN = 4
TRENDS_SHOWN = 10
THINNED_SHOWN = 3
# So many runs that did not end well belong into the first line.
MANY_FAILED = 0.1
# A first line leaves out the first of these, where it is surely so everywhere.
AVERAGED = ", averaged over everything else"
ON_AVERAGE = ", on the average of everything else"
# Runs that were ended, or that fail in some places, keep these out of an average.
WITHOUT_BOUNDS = ", averaged over the places where no slow run may be missing"
ELSEWHERE = "everywhere else"
ENDINGS = {
    RunStatus.WRONG: "wrote wrong data",
    RunStatus.FAILED: "failed",
    RunStatus.TIMEOUT: "did not end in time",
}


class FindingKind(StrEnum):
    WRONG_DATA = "wrong data"
    TREND = "trend"
    CROSSOVER = "crossover"
    LEAD = "lead"
    EFFECT = "effect"
    INTERACTION = "interaction"
    COMBINATION = "combination"
    SPEEDUP = "speedup"
    SIMULATED = "simulated"
    CONTROL = "control"
    RUNS = "runs"
    NO_EFFECT = "no effect"
    UNKNOWN = "unknown"


# What has no size comes after what has, in this order.
_LAST = (
    *(FindingKind.CONTROL, FindingKind.SPEEDUP, FindingKind.RUNS),
    *(FindingKind.NO_EFFECT, FindingKind.UNKNOWN),
)


@dataclass(frozen=True)
class StudyFinding:
    """`worth`: the logarithm of the ratio that is certain; infinite of what must be said first."""

    kind: FindingKind
    text: str
    evidence: str = ""
    estimate: Estimate | None = None
    worth: float = 0.0

    @property
    def place(self) -> tuple[float, ...]:
        """In the order of findings."""
        if self.kind is FindingKind.WRONG_DATA or math.isinf(self.worth):
            return (0, self.kind is not FindingKind.WRONG_DATA)
        if self.kind in _LAST:
            return (2, _LAST.index(self.kind))
        return (1, -self.worth)


@dataclass(frozen=True)
class Found:
    """All of it, with what it was said from."""

    findings: tuple[StudyFinding, ...]
    trends: tuple[Trend, ...]
    speedups: tuple[Speedup, ...]
    crossovers: tuple[FactorCrossover, ...]
    leads: tuple[FactorLead, ...]
    weak: bool


def find(study: Measured, analysis: Analysis, ran: Measured | None = None) -> Found:
    """Of the main response. `ran`: all that was run, controls too, of which every end counts."""
    view = View(study, analysis)
    trends, speedups = view.trends(), view.speedups()
    crossings, leads = view.overtaking()
    findings = [
        *_endings(ran or study),
        *_trend_findings(study, trends),
        *(_crossover_finding(study, crossing) for crossing in crossings),
        *(_lead_finding(study, ahead) for ahead in leads),
        *(
            _effect_finding(study, effect, _averaged(view, effect))
            for effect in view.main_effects()
        ),
        *_interaction_findings(study, view),
        *_combination_findings(study, analysis),
        *_speedup_findings(study, speedups, view.weak),
        *(_quiet_finding(study, view, effect) for effect in view.quiet()),
        *_apart_findings(study, analysis),
    ]
    findings.sort(key=lambda finding: finding.place)
    compared = (tuple(crossings), tuple(leads))
    return Found(tuple(findings), tuple(trends), tuple(speedups), *compared, view.weak)


def certain_ratio(change: Estimate | None) -> float:
    """The logarithm of how far from 1 a ratio is at least."""
    if change is None or not change.decided:
        return 0.0
    return abs(math.log(change.low if change.low > 1 else change.high))


def _endings(study: Measured) -> Iterator[StudyFinding]:
    """Runs that did not end well, and those that have no ratio; which levels they have in common
    says most: `, all of them with collective when writing to nfs`."""
    statuses = study.runs["status"]
    many = (statuses != RunStatus.DONE).mean() > MANY_FAILED if len(statuses) else False
    for status, text in ENDINGS.items():
        bad = study.runs[statuses == status]
        if not bad.empty:
            reason = bad["reason"].replace("", None).dropna().mode()
            yield StudyFinding(
                FindingKind.WRONG_DATA if status is RunStatus.WRONG else FindingKind.RUNS,
                f"{count(len(bad), 'run')} of {len(study.runs)}"
                f" {_unlike_expected(study, bad) or text}{_in_common(study, bad)}",
                f"most often: {reason.iloc[0]}" if len(reason) else "",
                worth=math.inf if many else 0.0,
            )
    if places := _thinned(study):
        yield StudyFinding(
            FindingKind.RUNS,
            f"more runs fail with {words.joined(places)} than elsewhere; what is said of"
            f" {'it' if len(places) == 1 else 'them'} is of the runs that ended, which may be the"
            " quick ones",
            "nothing of it is said to be the better one, or not to matter",
            worth=math.inf,
        )
    nothing = study.done[pd.to_numeric(study.column(study.response.column), errors="coerce") <= 0]
    if not nothing.empty:
        yield StudyFinding(
            FindingKind.RUNS,
            f"{_all_or(len(nothing), len(study.runs))} gave 0 or less as"
            f" {study.response.words}{_in_common(study, nothing)}; that has no ratio, and nothing"
            " is concluded of such combinations",
            "",
            worth=math.inf if len(nothing) > MANY_FAILED * len(study.runs) else 0.0,
        )


def _all_or(some: int, runs: int) -> str:
    return f"all {count(runs, 'run')}" if 1 < some == runs else f"{count(some, 'run')} of {runs}"


def _unlike_expected(study: Measured, bad: pd.DataFrame) -> str:
    """Of a command, whose data nobody has looked at, what is wrong where it ended well."""
    given = study.plan["study"].get("run") or {}
    if not given.get("command") or (bad["status"] != RunStatus.WRONG).any():
        return ""
    return f"did not write or print what {'it' if len(bad) == 1 else 'they'} should"


def _thinned(study: Measured) -> list[str]:
    """Where runs fail more often than elsewhere, and how many did: `with tool x (7 of 20)`."""
    found = study.failing(study.response.column)
    levels = [
        ({study.factors[at].name: study.factors[at].levels[code]}, found.of_level(at, code))
        for at, code in found.levels
    ]
    alone = [
        ({f.name: f.levels[code] for f, code in zip(study.factors, row, strict=True)}, counts)
        for row, counts in zip(found.codes[found.alone], found.counts[found.alone], strict=True)
    ]
    texts = [
        f"{words.when(study.factors, _varied(study, where))} ({lost} of {all_})"
        for where, (lost, all_) in sorted([*levels, *alone], key=lambda place: -place[1][0])
    ]
    return [*texts[:THINNED_SHOWN], *(["…"] if len(texts) > THINNED_SHOWN else [])]


def _in_common(study: Measured, some: pd.DataFrame) -> str:
    shared = {
        factor.name: some[factor.name].iloc[0]
        for factor in study.varied
        if some[factor.name].nunique() == 1
    }
    if not shared or len(some) < 2:
        return ""
    return f", all of them {words.when(study.factors, shared)}"


# --- trends


def _trend_findings(study: Measured, trends: Sequence[Trend]) -> list[StudyFinding]:
    """One for each shape and best level, and the places where it is so. The largest group is said
    last, as that of all other places, where it has most of them and is not a product of levels."""
    groups: dict[tuple[Any, ...], list[Trend]] = {}
    for along in trends:
        groups.setdefault((along.shape, *along.says), []).append(along)
    order = list(TrendShape)
    ordered = sorted(groups.values(), key=lambda group: order.index(group[0].shape))[:TRENDS_SHOWN]
    largest = max(ordered, key=len, default=[])
    several = 1 < len(largest) < len(trends) < 2 * len(largest)
    rest = largest if several and product(study, _places(largest)) is None else None
    findings = []
    for group in ordered:
        if group is not rest:
            where = where_words(study, _places(group))
            where = "" if where == EVERYWHERE else f"{where}: "
            findings.append(_trend_finding(study, group, where))
    return findings + ([_trend_finding(study, rest, f"{ELSEWHERE}: ")] if rest else [])


def _places(trends: Sequence[Trend]) -> list[Mapping[str, Any]]:
    return [along.curve.where for along in trends]


def _trend_finding(study: Measured, group: Sequence[Trend], where: str) -> StudyFinding:
    axis = study.axis
    assert axis is not None
    shape = group[0].shape
    kinds = {TrendShape.UNCLEAR: FindingKind.UNKNOWN, TrendShape.FLAT: FindingKind.NO_EFFECT}
    changes = [change for along in group for change in (along.until, along.beyond)]
    return StudyFinding(
        kinds.get(shape, FindingKind.TREND),
        f"{where}{sentence(study, axis, group[0])}",
        evidence(axis, group),
        worth=max(map(certain_ratio, changes), default=0.0),
    )


def _crossover_finding(study: Measured, crossing: FactorCrossover) -> StudyFinding:
    said = crossover_words(study, crossing)
    return StudyFinding(FindingKind.CROSSOVER, *said, worth=crossing.crossover.gap)


def _lead_finding(study: Measured, ahead: FactorLead) -> StudyFinding:
    return StudyFinding(FindingKind.LEAD, *lead_words(study, ahead), worth=ahead.lead.gap)


# --- levels against each other


def _effect_finding(study: Measured, effect: Effect, averaged: str) -> StudyFinding:
    high, low = _extremes(study, effect)
    verb, response = _verb(study, effect), study.response.words
    if aliasing.is_ambiguous(study, effect):
        text = (
            f"{aliasing.suspects(study, effect)}: with {high}, {response} is"
            f" {words.times(effect.size)} what it is with {low}"
        )
    else:
        unless = aliasing.unless(study, effect)
        text = f"{high} {verb} {words.times(effect.size)} the {response} of {low}{unless}{averaged}"
    return StudyFinding(
        FindingKind.EFFECT,
        text,
        _tests(effect) + aliasing.noted(study, effect),
        effect.size,
        certain_ratio(effect.size),
    )


def _verb(study: Measured, effect: Effect) -> str:
    """`2 ranks take`, `collective has`."""
    factor = study.factor(effect.factors[0])
    several = words.are_several(factor, factor.levels[effect.high[0]])
    if study.response.is_time:
        return "take" if several else "takes"
    return "have" if several else "has"


def _averaged(view: View, effect: Effect) -> str:
    """With what a first line must not leave out: elsewhere the ratio may be the reverse."""
    name = effect.factors[0]
    if len(view.study.varied) == 1:
        return ""
    if view.table.bounds.any() and not effect.size.open:
        return WITHOUT_BOUNDS
    if not view.acts_with_any(name):
        return AVERAGED if view.is_so_everywhere(effect) else ON_AVERAGE
    depends = "depends" if view.surely_acts_with_any(name) else "may depend"
    return f"{AVERAGED}, on which it {depends}"


def _extremes(study: Measured, effect: Effect) -> tuple[str, str]:
    factor = study.factor(effect.factors[0])
    high, low = (factor.levels[codes[0]] for codes in (effect.high, effect.low))
    return words.named(factor, high), words.named(factor, low)


def _interaction_findings(study: Measured, view: View) -> list[StudyFinding]:
    found = [_interaction_finding(study, effect) for effect in view.interactions()]
    return sorted(found, key=lambda finding: finding.place)[:INTERACTIONS_SHOWN]


def _interaction_finding(study: Measured, effect: Effect) -> StudyFinding:
    factors = [study.factor(name) for name in effect.factors]
    first, *others = factors
    high, low = (words.plain(first, first.levels[codes[0]]) for codes in (effect.high, effect.low))
    if len(others) == 2:
        text = _of_three(factors, effect, f"{high} to {low}")
    else:
        there, here = (
            words.under(others[0], others[0].levels[codes[1]])
            for codes in (effect.high, effect.low)
        )
        times = words.times(effect.size)
        if aliasing.is_ambiguous(study, effect):
            text = (
                f"{aliasing.suspects(study, effect)}: the ratio of {words.spaced(first.name)}"
                f" {high} to {low} is {times} as large {there} as {here}"
            )
        else:
            text = (
                f"what {words.about(first, 'does')} depends on {words.subject(others[0])}: the"
                f" ratio of {high} to {low} is {times} as large {there} as {here}"
                f"{aliasing.unless(study, effect)}"
            )
    return StudyFinding(
        FindingKind.INTERACTION,
        text,
        _tests(effect) + aliasing.noted(study, effect),
        effect.size,
        certain_ratio(effect.size),
    )


def _of_three(factors: Sequence[StudyFactor], effect: Effect, ratio: str) -> str:
    _, second, third = factors
    (there, here), (with_, without) = (
        [named(factor, factor.levels[codes[at]]) for codes in (effect.high, effect.low)]
        for at, factor, named in ((1, second, words.named), (2, third, words.under))
    )
    names = words.joined([words.subject(factor) for factor in factors])
    return (
        f"{names} act together, all three: by what {there} changes the ratio of {ratio} against"
        f" {here} is {words.times(effect.size)} as large {with_} as {without}"
    )


def _tests(effect: Effect) -> str:
    share = f"{effect.share * 100:.0f} %" if effect.share >= 0.01 else "under 1 %"
    return f"{words.p_value(effect.p_said)}; {share} of the variation between the runs made here"


def _combination_findings(study: Measured, analysis: Analysis) -> Iterator[StudyFinding]:
    """Combinations that follow from nothing that was said so far."""
    lack = analysis.lack_of_fit
    if lack is None or not lack.strange:
        return
    if study.only_factors:
        yield StudyFinding(
            FindingKind.COMBINATION,
            "the combinations do not follow from what the factors do alone: some act together, and"
            " this design does not tell which",
            f"lack of fit {words.p_value(lack.p_holm)}: nothing is said not to matter",
            worth=max(abs(math.log(strange.ratio)) for strange in lack.strange),
        )
        return
    named = [
        f"{words.places(study.varied, _varied(study, strange.where))}"
        f" ({words.number(strange.ratio)} times)"
        for strange in lack.strange
    ]
    ratios = [abs(math.log(strange.ratio)) for strange in lack.strange]
    pairs = [" × ".join(map(words.spaced, names)) for names in analysis.not_estimable if names[1:]]
    without = f" (as far as was run: without {words.joined(pairs)})" if pairs else ""
    yield StudyFinding(
        FindingKind.COMBINATION,
        "some combinations do not follow from what the factors do alone and together"
        f"{without}: most of all {'; '.join(named)}",
        f"times what they would give; lack of fit {words.p_value(lack.p_holm)}: nothing is said"
        " not to matter, and averages hide it",
        worth=max(ratios),
    )


def _varied(study: Measured, where: Mapping[str, Any]) -> dict[str, Any]:
    names = {factor.name for factor in study.varied}
    return {name: level for name, level in where.items() if name in names}


def _quiet_finding(study: Measured, view: View, effect: Effect) -> StudyFinding:
    high, low = _extremes(study, effect)
    evidence = f"{high} against {low}: {words.compared(effect.size_said)}, {_tests(effect)}"
    factor, response = study.factor(effect.factors[0]), study.response.words
    matters = words.about(factor, "matters")
    if view.does_not_matter(effect):
        alone = len(study.varied) == 1 or view.matters_nowhere(factor.name)
        where = "" if alone else "on the average of everything else, "
        unless = aliasing.hidden(study, effect)
        text = f"{unless}{where}{words.about(factor, 'does')} not matter to {response}"
        return StudyFinding(FindingKind.NO_EFFECT, text, evidence, effect.size_said)
    if effect.is_clear:
        text = f"{matters} to {response}, but which of its levels differ cannot be told"
        return StudyFinding(FindingKind.UNKNOWN, text, evidence, effect.size_said)
    text = f"whether {matters} to {response} cannot be told from these runs"
    if effect.may_be_first_runs:
        most = study.opened_most(factor.name, effect.on_targets)
        text += f": {words.opened(factor, *most, effect.on_targets)}"
    return StudyFinding(FindingKind.UNKNOWN, text, evidence, effect.size_said)


def _apart_findings(study: Measured, analysis: Analysis) -> Iterator[StudyFinding]:
    """Factors whose levels were run in different places."""
    for names in analysis.not_estimable:
        if len(names) == 1 and analysis.blocks > 1:
            does = words.about(study.factor(names[0]), "does")
            yield StudyFinding(
                FindingKind.UNKNOWN,
                f"what {does} cannot be told: no two of its levels were run with everything"
                " else alike",
            )


# --- speedup


def _speedup_findings(
    study: Measured, speedups: Sequence[Speedup], weak: bool
) -> list[StudyFinding]:
    """The best and the worst place, with what would be ideal."""
    ranked = sorted(
        (gained for gained in speedups if gained.by_level[gained.best].known),
        key=lambda gained: gained.by_level[gained.best].value,
    )
    chosen = ranked[-1:] if len(ranked) < 2 else [ranked[-1], ranked[0]]
    return [_speedup_finding(study, gained, weak) for gained in chosen]


def _speedup_finding(study: Measured, gained: Speedup, weak: bool) -> StudyFinding:
    axis = study.axis
    assert axis is not None
    best, at = gained.by_level[gained.best], words.named(axis, gained.best)
    base = f"{words.named(axis, gained.base)} ({study.response.text(gained.base_value.value)})"
    where = where_words(study, [gained.curve.where])
    place = "" if where == EVERYWHERE else f"{where}: "
    if best.beyond(1):
        text = (
            f"{place}the best {'scaled ' if weak else ''}speedup over {base} is"
            f" {words.number(best.value)} ({words.interval(best)}) at {at}, where"
            f" {words.number(gained.ideal[gained.best], 0)} would be ideal"
        )
        return StudyFinding(
            FindingKind.SPEEDUP, text, "an interval that allows for the best being chosen", best
        )
    evidence = f"{at}: {words.times(best)} as fast"
    if all(other.below(1) for other in gained.by_level.values()):
        return StudyFinding(
            FindingKind.SPEEDUP, f"{place}nothing is faster than {base}", evidence, best
        )
    text = f"{place}whether anything is faster than {base} cannot be told from these runs"
    return StudyFinding(FindingKind.UNKNOWN, text, evidence, best)
