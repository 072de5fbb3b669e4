"""Who overtakes whom along the axis, in words."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from tailrace.study.analysis import words
from tailrace.study.analysis.crossover import Crossover, Lead
from tailrace.study.analysis.factors import RANK_KINDS, StudyFactor
from tailrace.study.analysis.grammar import is_plural
from tailrace.study.analysis.measured import Measured
from tailrace.units import count


class Sentence(NamedTuple):
    text: str
    evidence: str


@dataclass(frozen=True)
class FactorCrossover:
    """A crossover between two levels of `factor`."""

    factor: str
    crossover: Crossover


@dataclass(frozen=True)
class FactorLead:
    """Between two levels of `factor` that do not cross for sure."""

    factor: str
    lead: Lead


def crossover_words(study: Measured, found: FactorCrossover) -> Sentence:
    factor, axis, crossing = study.factor(found.factor), study.axis, found.crossover
    assert axis is not None
    who, does, otherwise = _against(study, factor, crossing.first, crossing.second)
    unit = axis.kind if axis.kind in RANK_KINDS else axis.unit or words.spaced(axis.name)
    below, above = (words.plain(axis, level) for level in crossing.between)
    between = f"interpolated between {below} and {above}"
    bounds = f"{words.number(crossing.low, 1)} to {words.number(crossing.high, 1)}"
    since = "below" if crossing.since is None else f"from {words.plain(axis, crossing.since)} to"
    until = "" if crossing.until is None else f", until {words.named(axis, crossing.until)}"
    return Sentence(
        f"{_there(study, found.factor, crossing.where)}{who} {does} {since}"
        f" {words.number(crossing.at, 1)} {unit} (95 % interval {bounds}), and {otherwise} above"
        f"{until}{_unknown(axis, crossing)}",
        f"{between if below != above else f'measured at {below}'},"
        f" {count(crossing.blocks, 'block')}",
    )


def _unknown(axis: StudyFactor, crossing: Crossover) -> str:
    """Where they cannot be told apart, beside where they cross."""
    parts = [] if crossing.before is None else [f"until {words.named(axis, crossing.before)}"]
    if crossing.after is not None:
        parts.append(f"from {words.named(axis, crossing.after)} on")
    return f"; {words.joined(parts)} they cannot be told apart" if parts else ""


def lead_words(study: Measured, found: FactorLead) -> Sentence:
    factor, axis, ahead = study.factor(found.factor), study.axis, found.lead
    assert axis is not None
    who, does, _ = _against(study, factor, ahead.first, ahead.second)
    uncertain = words.named(axis, ahead.uncertain)
    if ahead.until is not None:
        until = words.named(axis, ahead.until)
        # the first of all levels is no span
        to = f"at {until}" if ahead.until == axis.levels[0] else f"until {until}"
        text = f"{who} {does} {to}; from {uncertain} on they cannot be told apart"
    else:
        since = words.named(axis, ahead.since)
        to = "on" if ahead.last is None else f"to {words.plain(axis, ahead.last)}"
        alone = ahead.since in (ahead.last, axis.levels[-1])
        there = f"at {since}" if alone else f"from {since} {to}"
        text = f"{who} {does} {there}; until {uncertain} they cannot be told apart"
    return Sentence(
        f"{_there(study, found.factor, ahead.where)}{text}", count(ahead.blocks, "block")
    )


def _against(study: Measured, factor: StudyFactor, lower: Any, higher: Any) -> tuple[str, str, str]:
    """Who is spoken of, what it does where the response of `lower` is the lower one, and what it
    does elsewhere."""
    response = study.response
    if response.more_is_better is None:
        other = words.plain(factor, higher)
        several = is_plural(response.words)
        lower_one = f"{'' if several else 'a '}lower {response.words}"
        does, otherwise = f"has {lower_one} than {other}", f"higher {'ones' if several else 'one'}"
        return words.named(factor, lower), does, otherwise if several else f"a {otherwise}"
    if response.more_is_better:
        lower, higher = higher, lower
    return words.named(factor, lower), f"beats {words.plain(factor, higher)}", "loses"


def _there(study: Measured, factor: str, where: Mapping[str, Any]) -> str:
    varied = {one.name for one in study.varied if one.name != factor}
    place = {name: level for name, level in where.items() if name in varied}
    return f"{words.places(study.factors, place)}: " if place else ""
