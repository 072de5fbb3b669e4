"""Line charts as inline SVG, so that they print sharply and need no script."""

from itertools import pairwise

from markupsafe import Markup, escape

WIDTH, HEIGHT = 520, 300
LEFT, RIGHT, TOP, BOTTOM = 52, 16, 16, 40


def line_chart(title: str, ranks: list[int], series: dict[str, list[float | None]], percent: bool = False) -> Markup:
    """Values over the number of ranks, ranks evenly spaced (they usually double); None leaves a gap."""
    top = _nice_top(max((v for values in series.values() for v in values if v is not None), default=1))
    places = _places(len(ranks))
    body = [_grid(top, percent), _axis(ranks, places)]
    for number, (name, values) in enumerate(series.items()):
        body.append(_line(number, name, places, values, top, percent))
    legend = "".join(
        f'<li><span class="line line-{number}"></span>{escape(name)}</li>' for number, name in enumerate(series)
    )
    return Markup(
        f'<figure class="chart"><figcaption>{escape(title)}</figcaption>'
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)} over ranks">{"".join(body)}</svg>'
        f'<ul class="legend">{legend}</ul></figure>'
    )


def _nice_top(largest: float) -> float:
    """The next of 1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10 × 10^n."""
    scale = 1.0
    while largest > 10 * scale:
        scale *= 10
    return next(step * scale for step in (1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10) if step * scale >= largest * 0.999)


def _places(count: int) -> list[float]:
    width = WIDTH - LEFT - RIGHT - 40
    return [LEFT + 20 + width * i / max(count - 1, 1) for i in range(count)]


def _height(value: float, top: float) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * min(value, top) / top


def _grid(top: float, percent: bool) -> str:
    lines = []
    for step in range(5):
        value = top * step / 4
        y = _height(value, top)
        label = f"{value * 100:.0f} %" if percent else f"{value:g}"
        lines.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        lines.append(f'<text class="tick" x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{label}</text>')
    return "".join(lines)


def _axis(ranks: list[int], places: list[float]) -> str:
    texts = [
        f'<text class="tick" x="{x:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{rank}</text>'
        for rank, x in zip(ranks, places, strict=True)
    ]
    middle = (LEFT + WIDTH - RIGHT) / 2
    return "".join(texts) + f'<text class="tick" x="{middle}" y="{HEIGHT - 6}" text-anchor="middle">ranks</text>'


def _line(number: int, name: str, places: list[float], values: list[float | None], top: float, percent: bool) -> str:
    points = [(x, _height(v, top), v) for x, v in zip(places, values, strict=True) if v is not None]
    segments = [
        f'<line class="curve line-{number}" x1="{a[0]:.1f}" y1="{a[1]:.1f}" x2="{b[0]:.1f}" y2="{b[1]:.1f}"/>'
        for a, b in pairwise(points)
    ]
    dots = [
        f'<circle class="dot line-{number}" cx="{x:.1f}" cy="{y:.1f}" r="3.5"><title>{escape(name)}: '
        f"{f'{value * 100:.1f} %' if percent else f'{value:.2f}'}</title></circle>"
        for x, y, value in points
    ]
    return "".join(segments + dots)
