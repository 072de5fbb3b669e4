"""A figure as inline SVG: it prints sharply and needs no script. Colours come from the page's
style."""

import math
from collections.abc import Sequence

from markupsafe import Markup, escape

from tailrace.names import elided
from tailrace.study.analysis.responses import Response
from tailrace.study.report.facets import Facet, Figure, Line, Point
from tailrace.study.report.marks import Mark, TrendLine
from tailrace.units import count

WIDTH, HEIGHT = 520, 320
# Of a chart that stands alone.
WIDE = 1080
LEFT, RIGHT, TOP, BOTTOM = 64, 14, 12, 44
# Beyond this ratio between the largest and the smallest value the axis is logarithmic.
LINEAR_AT_MOST = 4.0
# Lines that share a place on the axis are drawn a little apart.
APART = 4.0
MARKER = 4.2
# Between the axis and the first number on it; single runs beside their interval; a character's
# width; between a number and the axis.
EDGE, BESIDE, CHARACTER, TICK = 26.0, 5.0, 6.2, 8


def chart(figure: Figure, facet: Facet) -> Markup:
    """One facet with its axes."""
    scale = _Scale(figure, facet)
    parts = [_grid(scale, figure.response), _ticks(scale, figure), _ideal(scale, facet)]
    parts += [_trend(scale, trend) for trend in facet.trends]
    parts += [_mark(scale, mark) for mark in facet.marks]
    parts += [_line(scale, figure, line, len(facet.lines)) for line in facet.lines]
    name = f"{figure.response.words} over {figure.axis_name}" + (
        f", {facet.title}" if facet.title else ""
    )
    return Markup(
        f'<svg viewBox="0 0 {scale.width} {HEIGHT}" role="img"'
        f' aria-label="{escape(name)}">{"".join(parts)}</svg>'
    )


class _Scale:
    """From places and values to the picture. All facets of a figure share the horizontal axis, not
    the vertical one."""

    def __init__(self, figure: Figure, facet: Facet) -> None:
        places = [place for place, _ in figure.ticks]
        self.width = WIDE if len(figure.facets) == 1 else WIDTH
        self.first, self.last = min(places), max(places)
        points = [point for line in facet.lines for point in line.points]
        values = [
            v for p in points for v in (p.value, *p.runs, *_bounds(p)) if math.isfinite(v) and v > 0
        ]
        low, high = min(values, default=0.5), max(values, default=1.0)
        # an interval that reaches absurdly far must not squeeze all others
        core = [v for p in points for v in (p.value, *p.runs)]
        low, high = max(low, min(core, default=low) / 3), min(high, max(core, default=high) * 3)
        self.logarithmic = high / low > LINEAR_AT_MOST and not figure.response.is_share
        if self.logarithmic:
            self.ticks = log_ticks(low, high)
        else:
            self.ticks = _linear_ticks(max(high, 1.0) if figure.response.is_share else high)
        self.bottom, self.top = self.ticks[0], self.ticks[-1]
        texts = [len(figure.response.tick(tick)) for tick in self.ticks]
        self.left = max(LEFT, math.ceil(max(texts) * CHARACTER) + 2 * TICK)
        # a number has its place, anything else a band around it
        self.margin = EDGE if figure.joined else (self.width - self.left - RIGHT) / 2 / len(places)

    def x(self, place: float) -> float:
        inner = self.left + self.margin, self.width - RIGHT - self.margin
        if self.last == self.first:
            return sum(inner) / 2
        return inner[0] + (inner[1] - inner[0]) * (place - self.first) / (self.last - self.first)

    def y(self, value: float) -> float:
        if self.logarithmic:
            part = math.log(max(value, 1e-300) / self.bottom) / math.log(self.top / self.bottom)
        else:
            part = value / self.top
        return HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * min(max(part, -0.02), 1.02)


def _bounds(point: Point) -> tuple[float, ...]:
    return tuple(bound for bound in (point.low, point.high) if math.isfinite(bound))


def log_ticks(low: float, high: float) -> list[float]:
    """1, 2, 5, 10, … around the values; only powers of ten where those are many."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    steps = (1, 2, 5) if last - first <= 3 else (1,)
    every = [step * 10.0**power for power in range(first, last + 1) for step in steps]
    inside = [tick for tick in every if low < tick < high]
    below, above = [tick for tick in every if tick <= low], [tick for tick in every if tick >= high]
    return [*below[-1:], *inside, *above[:1]]


def _linear_ticks(high: float) -> list[float]:
    """From 0 in about five round steps."""
    rough = high / 4
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * power for unit in (1, 2, 2.5, 5, 10) if unit * power >= rough)
    return [step * number for number in range(math.ceil(high / step - 1e-9) + 1)]


def _grid(scale: _Scale, response: Response) -> str:
    lines = []
    for tick in scale.ticks:
        y = scale.y(tick)
        lines.append(
            f'<line class="grid" x1="{scale.left}" x2="{scale.width - RIGHT}"'
            f' y1="{y:.1f}" y2="{y:.1f}"/>'
        )
        text = escape(response.tick(tick))
        lines.append(
            f'<text class="tick" x="{scale.left - TICK}" y="{y + 4:.1f}"'
            f' text-anchor="end">{text}</text>'
        )
    return "".join(lines)


def _ticks(scale: _Scale, figure: Figure) -> str:
    room = int(2 * scale.margin / CHARACTER)
    texts = [(place, text if figure.joined else elided(text, room)) for place, text in figure.ticks]
    shown = _legible([(scale.x(place), text) for place, text in texts])
    drawn = [
        f'<text class="tick" x="{x:.1f}" y="{HEIGHT - BOTTOM + 18}"'
        f' text-anchor="middle">{escape(text)}</text>'
        for x, text in shown
    ]
    middle = (scale.left + scale.width - RIGHT) / 2
    name = (
        f'<text class="tick" x="{middle}" y="{HEIGHT - 6}" text-anchor="middle">'
        f"{escape(figure.axis_name)}</text>"
    )
    return "".join(drawn) + name


def _legible(ticks: Sequence[tuple[float, str]]) -> list[tuple[float, str]]:
    """Without those that would run into the one before."""
    kept: list[tuple[float, str]] = []
    for x, text in ticks:
        if not kept or x - kept[-1][0] > CHARACTER / 2 * (len(text) + len(kept[-1][1])) + 4:
            kept.append((x, text))
    return kept


def _trend(scale: _Scale, trend: TrendLine) -> str:
    points = " ".join(f"{scale.x(x):.1f},{scale.y(value):.1f}" for x, value in trend.points)
    return (
        f'<polyline class="trend" points="{points}"><title>{escape(trend.text)}</title></polyline>'
    )


def _mark(scale: _Scale, mark: Mark) -> str:
    low, high = (scale.x(max(scale.first, min(x, scale.last))) for x in (mark.low, mark.high))
    x, height = scale.x(mark.x), HEIGHT - BOTTOM - TOP
    return (
        f'<g><title>{escape(mark.text)}</title><rect class="crossing" x="{low:.1f}" y="{TOP}"'
        f' width="{max(high - low, 1):.1f}" height="{height}"/>'
        f'<line class="crossing" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{TOP + height}"/></g>'
    )


def _ideal(scale: _Scale, facet: Facet) -> str:
    if not facet.ideal:
        return ""
    (x1, y1), (x2, y2) = _clipped(scale, *facet.ideal)
    title = f"<title>{escape(facet.ideal_name)}: a bound, not a measurement</title>"
    if scale.logarithmic or y1 == y2:
        return (
            f'<line class="ideal" x1="{scale.x(x1):.1f}" y1="{scale.y(y1):.1f}"'
            f' x2="{scale.x(x2):.1f}"'
            f' y2="{scale.y(y2):.1f}">{title}</line>'
        )
    places = [x1 + (x2 - x1) * part / 40 for part in range(41)]
    points = " ".join(
        f"{scale.x(x):.1f},{scale.y(y1 * (y2 / y1) ** ((x - x1) / (x2 - x1))):.1f}" for x in places
    )
    return f'<polyline class="ideal" points="{points}">{title}</polyline>'


def _clipped(
    scale: _Scale, begin: tuple[float, float], end: tuple[float, float]
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Ends where it leaves the picture."""
    if not scale.logarithmic or end[1] >= scale.bottom or begin[1] <= scale.bottom:
        return begin, end
    part = math.log(scale.bottom / begin[1]) / math.log(end[1] / begin[1])
    return begin, (begin[0] + (end[0] - begin[0]) * part, scale.bottom)


def _line(scale: _Scale, figure: Figure, line: Line, lines: int) -> str:
    apart = APART if figure.joined else min(4 * APART, 1.4 * scale.margin / lines)
    shift = (line.number - (lines - 1) / 2) * min(apart, scale.margin / lines)
    at = [(scale.x(point.x) + shift, point) for point in line.points if math.isfinite(point.value)]
    parts = [_curve(scale, at, line.number)] if figure.joined and len(at) > 1 else []
    for x, point in at:
        run = f'<circle class="run hue-{line.number}" cx="{x - BESIDE:.1f}" r="1.7" '
        parts += [f'{run}cy="{scale.y(value):.1f}"/>' for value in point.runs]
        parts.append(_interval(scale, x, point, line.number))
        parts.append(_marker(scale, figure, x, point, line))
    return "".join(parts)


def _curve(scale: _Scale, at: Sequence[tuple[float, Point]], number: int) -> str:
    points = " ".join(f"{x:.1f},{scale.y(point.value):.1f}" for x, point in at)
    return f'<polyline class="curve hue-{number}" points="{points}"/>'


def _interval(scale: _Scale, x: float, point: Point, number: int) -> str:
    if len(_bounds(point)) < 2:
        return ""
    high, low = scale.y(point.high), scale.y(point.low)
    path = f"M{x - 3:.1f} {high:.1f}h6M{x:.1f} {high:.1f}V{low:.1f}M{x - 3:.1f} {low:.1f}h6"
    how = " simulated" if point.simulated else ""
    return f'<path class="interval hue-{number}{how}" d="{path}"/>'


def _marker(scale: _Scale, figure: Figure, x: float, point: Point, line: Line) -> str:
    """A shape of its own for each line: colour never stands alone."""
    y = scale.y(point.value)
    text = figure.response.text
    level = next((tick for place, tick in figure.ticks if place == point.x), "")
    interval = f" ({text(point.low)} to {text(point.high)})" if len(_bounds(point)) == 2 else ""
    runs = "simulated" if point.simulated else count(point.count, "run")
    value = f"{text(point.value)}{interval}, {runs}"
    about = f"{line.name}, {figure.axis_name} {level}: {value}"
    how = " simulated" if point.simulated else ""
    path = f'<path class="marker hue-{line.number}{how}" d="{shape(line.number, x, y)}">'
    return f"{path}<title>{escape(about)}</title></path>"


def shape(number: int, x: float, y: float) -> str:
    """Circle, square, triangle, diamond, triangle upside down, cross: a path around (x, y)."""
    r = MARKER
    if number % 6 == 0:
        return f"M{x - r:.1f} {y:.1f}a{r} {r} 0 1 0 {2 * r} 0a{r} {r} 0 1 0 {-2 * r} 0Z"
    corners = (
        ((-r, -r), (r, -r), (r, r), (-r, r)),
        ((0, -1.2 * r), (1.2 * r, r), (-1.2 * r, r)),
        ((0, -1.35 * r), (1.35 * r, 0), (0, 1.35 * r), (-1.35 * r, 0)),
        ((0, 1.2 * r), (1.2 * r, -r), (-1.2 * r, -r)),
        ((-r, -r / 3), (-r / 3, -r / 3), (-r / 3, -r), (r / 3, -r), (r / 3, -r / 3), (r, -r / 3),
         (r, r / 3), (r / 3, r / 3), (r / 3, r), (-r / 3, r), (-r / 3, r / 3), (-r, r / 3)),
    )[number % 6 - 1]  # fmt: skip
    return "M" + "L".join(f"{x + dx:.1f} {y + dy:.1f}" for dx, dy in corners) + "Z"


def key(number: int) -> Markup:
    """The marker for a legend."""
    return Markup(
        '<svg class="key-shape" viewBox="0 0 14 14" aria-hidden="true"><path class="marker'
        f' hue-{number}"'
        f' d="{shape(number, 7, 7)}"/></svg>'
    )
