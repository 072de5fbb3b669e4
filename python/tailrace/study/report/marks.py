"""What the findings say of a chart: trends as wide lines behind the points, crossovers and turns as
vertical ones."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tailrace.study.analysis import words
from tailrace.study.analysis.factors import StudyFactor
from tailrace.study.analysis.overtaking import crossover_words
from tailrace.study.analysis.summary import Summary
from tailrace.study.analysis.trend_words import sentence
from tailrace.study.analysis.trends import TrendShape


@dataclass(frozen=True)
class Mark:
    """Vertical, at `x`, with an interval; places as on the chart's axis."""

    x: float
    low: float
    high: float
    text: str


@dataclass(frozen=True)
class TrendLine:
    """Places and values, and what is said of them."""

    points: tuple[tuple[float, float], ...]
    text: str


def _belongs(where: Mapping[str, Any], place: Mapping[str, Any]) -> bool:
    """Whether what is said of `where` is so in a facet of these levels."""
    return all(where.get(name, level) == level for name, level in place.items())


def crossings(summary: Summary, axis: StudyFactor, place: Mapping[str, Any]) -> list[Mark]:
    if not axis.positive:
        return []
    found = [each for each in summary.found.crossovers if _belongs(each.crossover.where, place)]
    return [
        Mark(
            math.log2(each.crossover.at),
            math.log2(each.crossover.low),
            math.log2(each.crossover.high),
            crossover_words(summary.study, each).text,
        )
        for each in found
    ]


def trend_lines(
    summary: Summary, axis: StudyFactor, place: Mapping[str, Any], at: Mapping[Any, float]
) -> list[TrendLine]:
    """Of trends of which something is certain."""
    lines = []
    for along in summary.found.trends:
        if along.shape is TrendShape.UNCLEAR or not _belongs(along.curve.where, place):
            continue
        means = zip(along.curve.levels, along.curve.means(), strict=True)
        points = tuple((at[level], math.exp(mean)) for level, mean in means if math.isfinite(mean))
        varied = {factor.name for factor in summary.study.varied} - set(place)
        there = {name: level for name, level in along.curve.where.items() if name in varied}
        name = words.places(summary.study.factors, there)
        text = sentence(summary.study, axis, along)
        lines.append(TrendLine(points, f"{name}: {text}" if name else text))
    return lines
