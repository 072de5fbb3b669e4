"""Points in a plane as inline SVG: what runs differ from their combination, and one response
against another."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup, escape

from tailrace.study.analysis import words
from tailrace.study.analysis.comparison import Comparison
from tailrace.study.analysis.factors import StudyFactor
from tailrace.study.analysis.layout import Layout
from tailrace.study.analysis.measured import Measured
from tailrace.study.analysis.responses import Response
from tailrace.study.analysis.summary import Summary
from tailrace.study.analysis.typical import typical_values
from tailrace.study.definition.columns import BY_NAME
from tailrace.study.report.charts import LINEAR_AT_MOST, log_ticks

WIDTH, HEIGHT = 1080, 300
LEFT, RIGHT, TOP, BOTTOM = 72, 16, 12, 44
POINTS_AT_MOST = 3000
PAIRS_AT_MOST = 3
TICKS = 5


@dataclass(frozen=True)
class Dot:
    x: float
    y: float
    text: str
    style: str = "hue-0"


@dataclass(frozen=True)
class Plane:
    """`x_text`, `y_text`: of a value on each axis. `level`: a horizontal line; `diagonal`: where
    both are alike; `logarithms`: the dots have those of what is read on the axes."""

    x_name: str
    y_name: str
    dots: tuple[Dot, ...]
    x_text: Callable[[float], str]
    y_text: Callable[[float], str]
    level: float | None = None
    diagonal: bool = False
    logarithms: bool = False
    title: str = ""


def plane(drawn: Plane) -> Markup:
    """Linear axes around the dots."""
    dots = drawn.dots
    x = _Axis([dot.x for dot in dots], LEFT, WIDTH - RIGHT, drawn.logarithms)
    y = _Axis([dot.y for dot in dots], HEIGHT - BOTTOM, TOP, drawn.logarithms)
    parts = [_horizontal(y, drawn), _vertical(x, drawn)]
    if drawn.level is not None:
        at, right = y.at(drawn.level), WIDTH - RIGHT
        parts.append(f'<line class="reference" x1="{LEFT}" x2="{right}" y1="{at}" y2="{at}"/>')
    if drawn.diagonal:
        low, high = max(x.low, y.low), min(x.high, y.high)
        parts.append(
            f'<line class="reference" x1="{x.at(low)}" y1="{y.at(low)}" x2="{x.at(high)}"'
            f' y2="{y.at(high)}"/>'
        )
    parts += [
        f'<circle class="dot {dot.style}" cx="{x.at(dot.x)}" cy="{y.at(dot.y)}" r="3.4">'
        f"<title>{escape(dot.text)}</title></circle>"
        for dot in dots
    ]
    label, inside = escape(f"{drawn.y_name} over {drawn.x_name}"), "".join(parts)
    return Markup(
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">{inside}</svg>'
    )


class _Axis:
    def __init__(self, values: Sequence[float], begin: float, end: float, logarithms: bool) -> None:
        self.logarithms = logarithms
        low, high = min(values), max(values)
        room = 0.06 * (high - low) or 0.05 * abs(high) or 1.0
        self.low, self.high, self.begin, self.end = low - room, high + room, begin, end

    def at(self, value: float) -> float:
        part = (value - self.low) / (self.high - self.low)
        return round(self.begin + (self.end - self.begin) * part, 1)

    @property
    def ticks(self) -> list[float]:
        if not self.logarithms:
            return _round(self.low, self.high)
        low, high = math.exp(self.low), math.exp(self.high)
        some = log_ticks(low, high) if high / low > LINEAR_AT_MOST else _round(low, high)
        return [math.log(tick) for tick in some if low <= tick <= high]


def _round(low: float, high: float) -> list[float]:
    rough = (high - low) / TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * power for unit in (1, 2, 5, 10) if unit * power >= rough)
    return [n * step for n in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _horizontal(y: _Axis, drawn: Plane) -> str:
    lines = []
    for tick in y.ticks:
        at = y.at(tick)
        lines.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at}" y2="{at}"/>')
        text = escape(drawn.y_text(tick))
        lines.append(
            f'<text class="tick" x="{LEFT - 8}" y="{at + 4:.1f}" text-anchor="end">{text}</text>'
        )
    return "".join(lines)


def _vertical(x: _Axis, drawn: Plane) -> str:
    texts = [
        f'<text class="tick" x="{x.at(tick)}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">'
        f"{escape(drawn.x_text(tick))}</text>"
        for tick in x.ticks
    ]
    middle = (LEFT + WIDTH - RIGHT) / 2
    name = escape(drawn.x_name)
    return "".join(texts) + (
        f'<text class="tick" x="{middle}" y="{HEIGHT - 6}" text-anchor="middle">{name}</text>'
    )


# --- what is drawn


def residuals(summary: Summary) -> Plane | None:
    """What each run differs from its combination's others, in the order in which they were made:
    drift, outliers and uneven scatter are seen here."""
    response = summary.study.response
    table = summary.ran.table(response)
    if table.runs is None or len(summary.study.done) > POINTS_AT_MOST:
        return None
    there = np.isfinite(table.logs)
    means = np.nanmean(np.where(there, table.logs, np.nan), axis=1, keepdims=True)
    enough = there & (there.sum(axis=1) > 1)[:, None]
    order = dict(zip(summary.study.runs["run"], summary.study.runs["order"], strict=True))
    dots = []
    for row, block in np.argwhere(enough):
        run, away = table.runs[row, block], float(table.logs[row, block] - means[row, 0])
        text = f"run {run}: {words.signed(math.exp(away))} %, {_place(summary, table, row)}"
        dots.append(Dot(float(order[run]), away, text))
    if not dots:
        return None
    return Plane(
        "order in which the runs were made",
        f"{response.words} against the mean of its combination",
        tuple(dots),
        lambda value: f"{value:g}",
        lambda value: f"{words.signed(math.exp(value))} %",
        level=0.0,
    )


def _place(summary: Summary, table: Layout, row: int) -> str:
    varied = {factor.name for factor in summary.study.varied}
    where = {name: level for name, level in table.where[row].items() if name in varied}
    return words.places(summary.study.factors, where)


def trade_offs(summary: Summary) -> list[Plane]:
    """The study's response against the other numbers that its program prints, in each combination:
    what one gains and the other loses."""
    study = summary.study
    others = [
        response
        for response in study.responses
        if response.column != study.response.column and response.column not in BY_NAME
    ]
    found = [_trade_off(summary, other) for other in others[:PAIRS_AT_MOST]]
    return [drawn for drawn in found if drawn is not None]


def _trade_off(summary: Summary, other: Response) -> Plane | None:
    main = summary.study.response
    tables = summary.table(main), summary.table(other)
    values = [
        dict(zip(map(tuple, table.codes.tolist()), typical_values(table).value, strict=True))
        for table in tables
    ]
    both = [codes for codes in values[0] if codes in values[1]]
    if len(both) < 2 or len(both) > POINTS_AT_MOST:
        return None
    rows = {codes: row for row, codes in enumerate(map(tuple, tables[0].codes.tolist()))}
    points = [(float(values[1][codes]), float(values[0][codes])) for codes in both]
    best = _not_beaten(points, other, main)
    dots = tuple(
        Dot(
            math.log(x),
            math.log(y),
            f"{_place(summary, tables[0], rows[codes])}: {other.text(x)}, {main.text(y)}"
            + (": nothing is better in both" if number in best else ""),
            "hue-2 front" if number in best else "hue-0",
        )
        for number, (codes, (x, y)) in enumerate(zip(both, points, strict=True))
    )
    known = "; ringed: nothing is better in both" if best else ""
    return Plane(
        other.words,
        main.words,
        dots,
        lambda value: other.tick(math.exp(value)),
        lambda value: main.tick(math.exp(value)),
        logarithms=True,
        title=f"{main.words} against {other.words}{known}",
    )


def _not_beaten(
    points: Sequence[tuple[float, float]], first: Response, second: Response
) -> set[int]:
    """Those that none is better than in both; none where nobody said which is better."""
    if first.more_is_better is None or second.more_is_better is None:
        return set()
    signs = [-1 if response.more_is_better else 1 for response in (first, second)]
    cost = [(signs[0] * x, signs[1] * y) for x, y in points]
    return {
        number
        for number, (x, y) in enumerate(cost)
        if not any(a <= x and b <= y and (a, b) != (x, y) for a, b in cost)
    }


def compared(found: Comparison) -> Plane | None:
    """Each combination in the first study and in the second."""
    response = found.first.response
    values = [_by_place(study, found.first.varied) for study in (found.first, found.second)]
    dots = []
    for changed in found.combinations[:POINTS_AT_MOST]:
        key = _key(changed.where, found.first.varied)
        if all(key in known for known in values):
            x, y = (known[key] for known in values)
            there = words.places(found.first.varied, dict(key))
            text = f"{there}: {response.text(x)}, then {response.text(y)}"
            style = "hue-2 front" if changed.certain else "hue-0"
            dots.append(Dot(math.log(x), math.log(y), text, style))
    if len(dots) < 2:
        return None

    def shown(value: float) -> str:
        return response.tick(math.exp(value))

    return Plane("first", "second", tuple(dots), shown, shown, diagonal=True, logarithms=True)


Key = tuple[tuple[str, Any], ...]


def _key(where: Mapping[str, Any], factors: Sequence[StudyFactor]) -> Key:
    return tuple((factor.name, where[factor.name]) for factor in factors)


def _by_place(study: Measured, factors: Sequence[StudyFactor]) -> dict[Key, float]:
    table = study.table(study.response)
    values = typical_values(table).value
    return {
        _key(where, factors): float(value) for where, value in zip(table.where, values, strict=True)
    }
