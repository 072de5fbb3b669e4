"""Line charts as inline SVG, so that they print sharply and need no script."""

import math
from collections.abc import Callable
from itertools import pairwise

from markupsafe import Markup, escape

WIDTH, HEIGHT = 520, 300
LEFT, RIGHT, TOP, BOTTOM = 52, 16, 16, 40


Scale = Callable[[float], float]


def line_chart(
    title: str, ranks: list[int], series: dict[str, list[float | None]], percent: bool = False
) -> Markup:
    """Values over the number of ranks, whose axis is logarithmic; None leaves a gap.

    `percent`: shares of one on a linear axis from 0; else ratios on a logarithmic axis: ideal
    scaling is straight.
    """
    values = [
        value for line in series.values() for value in line if value is not None and value > 0
    ]
    grid = (
        _shares(max(values, default=1))
        if percent
        else _powers(min(values, default=1), max(values, default=1))
    )
    height = _scale(grid[0], grid[-1], HEIGHT - BOTTOM, TOP, logarithmic=not percent)
    place = _scale(ranks[0], ranks[-1], LEFT + 20, WIDTH - RIGHT - 20, logarithmic=True)
    body = [_grid(grid, height, percent), _axis(ranks, place)]
    for number, (name, line) in enumerate(series.items()):
        points = [
            (place(rank), height(v), v)
            for rank, v in zip(ranks, line, strict=True)
            if v is not None
        ]
        body.append(_line(number, name, points, percent))
    legend = "".join(
        f'<li><span class="line line-{number}"></span>{escape(name)}</li>'
        for number, name in enumerate(series)
    )
    return Markup(
        f'<figure class="chart"><figcaption>{escape(title)}</figcaption>'
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{escape(title)} over ranks">{"".join(body)}</svg>'
        f'<ul class="legend">{legend}</ul></figure>'
    )


def _shares(largest: float) -> list[float]:
    """From 0 in quarters, beyond 1 where a factor is."""
    return [quarter / 4 for quarter in range(math.ceil(max(largest, 1) * 4 - 0.01) + 1)]


def _powers(smallest: float, largest: float) -> list[float]:
    """Powers of two around the values, at most about ten of them."""
    low, high = math.floor(math.log2(smallest) + 0.01), math.ceil(math.log2(largest) - 0.01)
    return [2.0**n for n in range(low, max(high, low + 1) + 1, max(1, (high - low) // 8))]


def _scale(low: float, high: float, begin: float, end: float, logarithmic: bool) -> Scale:
    transform = math.log if logarithmic else float
    bottom, length = transform(low), (transform(high) - transform(low)) or 1.0
    lowest = low if logarithmic else 0.0
    return lambda value: begin + (end - begin) * (transform(max(value, lowest)) - bottom) / length


def _grid(values: list[float], height: Scale, percent: bool) -> str:
    lines = []
    for value in values:
        y = height(value)
        label = f"{value * 100:.0f} %" if percent else f"{value:g}"
        lines.append(
            f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        )
        lines.append(
            f'<text class="tick" x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{label}</text>'
        )
    return "".join(lines)


def _axis(ranks: list[int], place: Scale) -> str:
    texts = [
        f'<text class="tick" x="{place(rank):.1f}" y="{HEIGHT - BOTTOM + 18}" '
        f'text-anchor="middle">{rank}</text>'
        for rank in dict.fromkeys(ranks)
    ]
    middle = (LEFT + WIDTH - RIGHT) / 2
    return (
        "".join(texts)
        + f'<text class="tick" x="{middle}" y="{HEIGHT - 6}" text-anchor="middle">ranks</text>'
    )


def _line(number: int, name: str, points: list[tuple[float, float, float]], percent: bool) -> str:
    segments = [
        f'<line class="curve line-{number}" x1="{a[0]:.1f}" y1="{a[1]:.1f}" '
        f'x2="{b[0]:.1f}" y2="{b[1]:.1f}"/>'
        for a, b in pairwise(points)
    ]
    dots = [
        f'<circle class="dot line-{number}" cx="{x:.1f}" cy="{y:.1f}" r="3.5">'
        f"<title>{escape(name)}: "
        f"{f'{value * 100:.1f} %' if percent else f'{value:.2f}'}</title></circle>"
        for x, y, value in points
    ]
    return "".join(segments + dots)
