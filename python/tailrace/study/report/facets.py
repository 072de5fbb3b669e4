"""What a chart of a response shows: a facet per size (and whatever else there is no room for), a
line per target or method, the axis that the study's document would have; measured points,
intervals, and ideal scaling as a bound.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tailrace.study.analysis import words
from tailrace.study.analysis.controls import controlled
from tailrace.study.analysis.factors import RANK_KINDS, StudyFactor
from tailrace.study.analysis.layout import Layout
from tailrace.study.analysis.measured import Measured
from tailrace.study.analysis.responses import SCALING, Response
from tailrace.study.analysis.summary import Summary
from tailrace.study.analysis.typical import TypicalValues, typical_values
from tailrace.study.report.marks import Mark, TrendLine, crossings, trend_lines

LINES_AT_MOST = 6
FACETS_AT_MOST = 12
# Single runs are drawn too where there are no more of them in a figure.
RUNS_DRAWN = 1200
# Which factors become lines rather than facets, first come first.
_LINE_KINDS = ("target", "method", "pair", "format", "read_target")


@dataclass(frozen=True)
class Point:
    """One combination: its place on the axis, its typical value with its interval, and the runs
    themselves; none where it was simulated."""

    x: float
    level: Any
    value: float
    low: float
    high: float
    runs: tuple[float, ...]
    count: int
    simulated: bool = False


@dataclass(frozen=True)
class Line:
    number: int
    name: str
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Facet:
    """`ideal`: the bound that scaling gives, as points; `ideal_name` says from where. `marks` and
    `trends`: what the findings say here."""

    title: str
    lines: tuple[Line, ...]
    ideal: tuple[tuple[float, float], ...] = ()
    ideal_name: str = ""
    marks: tuple[Mark, ...] = ()
    trends: tuple[TrendLine, ...] = ()


@dataclass(frozen=True)
class Figure:
    """`ticks`: places on the axis with their texts. `joined`: whether what lies between two of them
    means something."""

    response: Response
    facets: tuple[Facet, ...]
    axis_name: str
    ticks: tuple[tuple[float, str], ...]
    joined: bool
    left_out: int = 0


def figures(summary: Summary) -> list[Figure]:
    return [figure(summary, response) for response in summary.study.responses]


def figure(summary: Summary, response: Response) -> Figure:
    study = summary.study
    axis = study.axis or max(study.varied or study.factors, key=lambda factor: len(factor.levels))
    sketch = _Sketch(summary, response, axis)
    return Figure(
        response,
        tuple(sketch.facet(place) for place in sketch.places[:FACETS_AT_MOST]),
        sketch.axis_name,
        tuple((sketch.place[level], words.plain(axis, level)) for level in axis.levels),
        axis.positive,
        max(0, len(sketch.places) - FACETS_AT_MOST),
    )


class _Sketch:
    """One response's points, sorted into facets and lines: levels of the factors that tell each
    apart."""

    def __init__(self, summary: Summary, response: Response, axis: StudyFactor) -> None:
        self.summary = summary
        self.study, self.response, self.axis = summary.study, response, axis
        self.weak = summary.found.weak
        self.lines, self.facets = _split(self.study, axis)
        self.place = _places(axis)
        name = {"ranks": "ranks", "threads": "threads"}.get(axis.kind, words.spaced(axis.name))
        self.axis_name = f"{name} ({axis.unit})" if axis.unit else name
        self.points: dict[tuple[Any, ...], dict[tuple[Any, ...], list[Point]]] = {}
        self._sort(summary.table(response))
        every = {line for of_facet in self.points.values() for line in of_facet}
        self.numbers = {
            line: number for number, line in enumerate(sorted(every, key=_key(self.lines)))
        }

    def _controls(self) -> set[int]:
        """The lines that are of a control, by number: ideal scaling is of what competes."""
        names = [factor.name for factor in self.lines]
        found = controlled(self.study)
        if found is None or found[0].name not in names:
            return set()
        at = names.index(found[0].name)
        return {number for line, number in self.numbers.items() if line[at] in found[1]}

    def _sort(self, table: Layout) -> None:
        found, draw_runs = typical_values(table), len(self.study.done) <= RUNS_DRAWN
        for number, where in enumerate(found.where):
            facet, line = (
                tuple(where[factor.name] for factor in some) for some in (self.facets, self.lines)
            )
            level = where[self.axis.name]
            point = _point(found, table.logs, number, self.place[level], level, draw_runs)
            self.points.setdefault(facet, {}).setdefault(line, []).append(point)

    @property
    def places(self) -> list[tuple[Any, ...]]:
        return sorted(self.points, key=_key(self.facets))

    def facet(self, place: tuple[Any, ...]) -> Facet:
        drawn = []
        for line in sorted(self.points[place], key=lambda levels: self.numbers[levels]):
            points = sorted(self.points[place][line], key=lambda point: point.x)
            drawn.append(Line(self.numbers[line], self._line_name(line), tuple(points)))
        rivals = [line for line in drawn if line.number not in self._controls()]
        ideal, name = _ideal(self.response, self.axis, rivals or drawn, self.weak)
        title = self._named(self.facets, place)
        return Facet(title, tuple(drawn), ideal, name, *self._said(place))

    def _said(self, place: tuple[Any, ...]) -> tuple[tuple[Mark, ...], tuple[TrendLine, ...]]:
        """What the findings say here, of the main response."""
        if self.response.column != self.study.response.column or self.axis is not self.study.axis:
            return (), ()
        where = {factor.name: level for factor, level in zip(self.facets, place, strict=True)}
        lines = trend_lines(self.summary, self.axis, where, self.place)
        return tuple(crossings(self.summary, self.axis, where)), tuple(lines)

    def _line_name(self, line: tuple[Any, ...]) -> str:
        """One name in all facets."""
        named = self._named(self.lines, line)
        points = [one for facet in self.points.values() for one in facet.get(line, ())]
        if not any(point.simulated for point in points):
            return named
        much = "simulated" if all(point.simulated for point in points) else "partly simulated"
        return f"{named} ({much})" if named else much

    def _named(self, factors: Sequence[StudyFactor], levels: tuple[Any, ...]) -> str:
        where = {factor.name: level for factor, level in zip(factors, levels, strict=True)}
        return words.places(self.study.factors, where)


def _split(study: Measured, axis: StudyFactor) -> tuple[list[StudyFactor], list[StudyFactor]]:
    """Factors that tell lines apart, as many as stay readable, and those that tell facets apart.
    Sizes and other numbers do the latter: lines of unlike problems have no common bound.
    """
    others = [factor for factor in study.varied if factor.name != axis.name]
    preferred = sorted(
        others,
        key=lambda f: _LINE_KINDS.index(f.kind) if f.kind in _LINE_KINDS else len(_LINE_KINDS),
    )
    lines: list[StudyFactor] = []
    for factor in preferred:
        size = math.prod(len(chosen.levels) for chosen in [*lines, factor])
        if factor.kind != "size" and not factor.numeric and size <= LINES_AT_MOST:
            lines.append(factor)
    return lines, [factor for factor in others if factor not in lines]


def _key(factors: Sequence[StudyFactor]) -> Any:
    return lambda levels: tuple(
        factor.levels.index(level) for factor, level in zip(factors, levels, strict=True)
    )


def _places(axis: StudyFactor) -> Mapping[Any, float]:
    """Positive numbers stand on a logarithmic axis, anything else side by side."""
    if axis.positive:
        return {level: math.log2(level) for level in axis.levels}
    return {level: float(number) for number, level in enumerate(axis.levels)}


def _point(
    found: TypicalValues, logs: np.ndarray, number: int, x: float, level: Any, draw_runs: bool
) -> Point:
    row, simulated = logs[number], bool(found.simulated[number])
    draws = draw_runs and not simulated
    runs = tuple(np.exp(row[np.isfinite(row)]).tolist()) if draws else ()
    value, low, high = (float(values[number]) for values in (found.value, found.low, found.high))
    if not math.isfinite(high):
        low = high = math.nan
    return Point(x, level, value, low, high, runs, int(found.runs[number]), simulated)


def _ideal(
    response: Response, axis: StudyFactor, lines: Sequence[Line], weak: bool
) -> tuple[tuple[tuple[float, float], ...], str]:
    """From the best line at the fewest ranks: time falls as 1 / ranks (constant where the problem
    grows with them)."""
    if axis.kind not in RANK_KINDS or not axis.positive or response.column not in SCALING:
        return (), ""
    first = min((point.x for line in lines for point in line.points), default=0.0)
    starts = [
        (point.value, line, point) for line in lines for point in line.points if point.x == first
    ]
    if not starts:
        return (), ""
    value, line, point = min(starts, key=lambda start: start[0])
    last = max(point.x for line in lines for point in line.points)
    end = value if weak else value / 2 ** (last - first)
    best = f"the best line ({line.name})" if len(lines) > 1 else "the runs"
    return (
        (first, value),
        (last, end),
    ), f"ideal scaling from {best} at {words.named(axis, point.level)}"
