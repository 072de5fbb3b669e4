"""The whole timeline as one inline SVG: what paper, a notebook and a browser without scripts show.

Each row's bins are stacked by the shares of their states, I/O at the bottom; below are bytes per
second. Colours come from the page's style (classes `fill-io` and so on) or stand in the picture.
"""

import math
from typing import Any

import numpy as np
from markupsafe import Markup

from tailrace.page.data import rebin, unknown_ends
from tailrace.units import rate

WIDTH, GUTTER, HEIGHT_OF_ROWS, HIGHEST_ROW = 1000, 72, 300, 26
LANE, AXIS, SPACE = 60, 24, 12
# What paper shows; a mark takes up to 25 bytes.
MOST_COLUMNS, MOST_ROWS, MOST_MARKS = 400, 48, 19_200
SHOWN_PX = 1.0


def timeline_svg(
    columns: dict[str, Any], style: str = "", marks: int = MOST_MARKS, length_ns: int = 0
) -> Markup:
    """At most `marks` bins in all rows together. `style` is CSS of the picture's own, for places
    that lack the page's. `length_ns`: how far the axis goes, where another run takes longer."""
    rows = _rows(columns["timeline"], marks)
    runtime_s = int(columns["runtime_ns"]) / 1e9
    height = min(HIGHEST_ROW, HEIGHT_OF_ROWS / max(len(rows["io"]), 1))
    ranks_per_row = int(columns["ranks"]) / max(len(rows["io"]), 1)
    bottom = height * len(rows["io"])
    length_s = length_ns / 1e9 or runtime_s
    end = GUTTER + (WIDTH - GUTTER) * (runtime_s / length_s if length_s else 1)
    body = [_row(rows, row, height, ranks_per_row, end) for row in range(len(rows["io"]))]
    if ranks_per_row == 1:
        body += _unknown(unknown_ends(columns), int(columns["runtime_ns"]), height, end)
    body.append(_lane(columns["rates"], runtime_s, bottom + SPACE, end))
    body.append(_axis(length_s, bottom + SPACE + LANE))
    total = bottom + SPACE + LANE + AXIS
    words = f"{int(columns['ranks'])} ranks over {runtime_s:.3g} s by state, and bytes per second"
    return Markup(
        f'<svg class="picture" viewBox="0 0 {WIDTH} {total:.0f}" role="img" aria-label="{words}">'
        f"{f'<style>{style}</style>' if style else ''}{''.join(body)}</svg>"
    )


def _rows(timeline: dict[str, Any], marks: int) -> dict[str, np.ndarray]:
    """Shares of I/O and MPI, rows and bins joined to what paper can show."""
    most_rows = min(max(marks // MOST_COLUMNS, 1), MOST_ROWS)
    total = {
        state: np.atleast_2d(np.asarray(timeline[state], dtype=np.float64))
        for state in ("useful", "io", "mpi")
    }
    for state, values in total.items():
        joined = rebin(values, -(-values.shape[1] // MOST_COLUMNS))
        total[state] = rebin(joined.T, -(-len(joined) // most_rows)).T
    whole = np.maximum(sum(total.values()), 1)
    return {state: total[state] / whole for state in ("io", "mpi")}


def _row(
    rows: dict[str, np.ndarray], row: int, height: float, ranks_per_row: float, end: float
) -> str:
    gap = 1.5 if height > 6 else 0
    top, room = row * height, height - gap
    io, both = rows["io"][row], rows["io"][row] + rows["mpi"][row]
    label = ""
    if row % max(1, math.ceil(13 / height)) == 0:
        name = f"rank {row}" if ranks_per_row == 1 else f"{row * ranks_per_row:.0f}"
        label = _text(GUTTER - 8, top + height / 2 + 4, name, "end")
    return (
        f'<rect class="fill-useful" x="{GUTTER}" y="{top:.1f}" width="{end - GUTTER:.1f}" '
        f'height="{room:.1f}"/>{_area("fill-mpi", both, top + room, room, end)}'
        f"{_area('fill-io', io, top + room, room, end)}{label}"
    )


def _unknown(unknown_ns: list[int], runtime_ns: int, height: float, end: float) -> list[str]:
    """Over the rows of ranks that were killed: what nobody knows of them."""
    lengths = [(end - GUTTER) * time_ns / max(runtime_ns, 1) for time_ns in unknown_ns]
    return [
        f'<rect class="fill-unknown" x="{end - length:.1f}" y="{row * height:.1f}" '
        f'width="{length:.1f}" height="{height:.1f}"/>'
        for row, length in enumerate(lengths)
        if length
    ]


def _area(name: str, shares: np.ndarray, bottom: float, room: float, end: float) -> str:
    """One path of steps; what is there at all is at least a pixel high."""
    heights = np.where(shares > 1e-6, np.maximum(shares * room, SHOWN_PX), 0).round(1)
    if not heights.any():
        return ""
    edges = np.flatnonzero(np.diff(heights)) + 1
    begins = np.concatenate(([0], edges))
    places = GUTTER + (end - GUTTER) * np.concatenate((edges, [len(heights)])) / len(heights)
    steps = "".join(
        f"V{bottom - heights[begin]:.1f}H{place:.1f}"
        for begin, place in zip(begins, places, strict=True)
    )
    return f'<path class="{name}" d="M{GUTTER} {bottom:.1f}{steps}V{bottom:.1f}z"/>'


def _lane(rates: dict[str, Any], runtime_s: float, top: float, end: float) -> str:
    moved = {
        key: np.asarray(rates[f"bytes_{key}"], dtype=np.float64) for key in ("written", "read")
    }
    joined = {
        key: rebin(values[None], -(-len(values) // MOST_COLUMNS))[0]
        for key, values in moved.items()
    }
    most = max(values.max(initial=0) for values in joined.values())
    bin_s = runtime_s / max(len(joined["read"]), 1)
    label = f"{rate(most / bin_s)}" if most and bin_s else "no bytes"
    areas = (
        _area(f"fill-{key}", values / max(most, 1e-9), top + LANE, LANE, end)
        for key, values in joined.items()
    )
    return _text(GUTTER - 8, top + 10, label, "end") + "".join(areas)


def _axis(length_s: float, top: float) -> str:
    step = round_step(length_s, 8)
    texts = []
    for n in range(math.floor(length_s / step + 1e-9) + 1 if length_s else 1):
        x = GUTTER + (WIDTH - GUTTER) * (n * step / length_s if length_s else 0)
        anchor = "start" if n == 0 else "end" if x > WIDTH - 30 else "middle"
        texts.append(_text(x, top + 16, f"{n * step:.6g} s", anchor))
    return f'<path class="rule" d="M{GUTTER} {top:.1f}H{WIDTH}"/>' + "".join(texts)


def round_step(length: float, most: int) -> float:
    """The smallest of 1, 2, 5 × 10^n that divides `length` into at most `most` parts."""
    rough = length / most or 1.0
    scale = 10.0 ** math.floor(math.log10(rough))
    return next(factor * scale for factor in (1, 2, 5, 10) if factor * scale >= rough * 0.999)


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text class="tick" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{text}</text>'
