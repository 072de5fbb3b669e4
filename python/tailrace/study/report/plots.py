"""The chart of a response with matplotlib: the facets, lines and intervals of the page."""

from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import LogLocator, NullLocator

from tailrace.study.report import facets
from tailrace.study.report.notebook import HUES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tailrace.study.analysis.responses import Response
    from tailrace.study.analysis.summary import Summary

MARKERS = "os^DvP"
COLUMNS_AT_MOST = 3


def plot_response(summary: "Summary", response: "Response") -> "Figure":
    """An axes for each facet: typical values with their 95 % intervals, and ideal scaling."""
    sketch = facets.figure(summary, response)
    columns = min(len(sketch.facets), COLUMNS_AT_MOST)
    rows = -(-len(sketch.facets) // columns)
    drawn, grid = plt.subplots(
        *(rows, columns),
        figsize=(1 + 4 * columns, 0.6 + 3.2 * rows),
        sharex=True,
        squeeze=False,
        layout="constrained",
    )
    for axes, facet in zip(grid.flat, sketch.facets, strict=False):
        _draw(axes, sketch, facet)
    for axes in grid.flat[len(sketch.facets) :]:
        axes.set_visible(False)
    if grid[0, 0].get_legend_handles_labels()[1]:
        grid[0, 0].legend(frameon=False, fontsize="small")
    drawn.supylabel(response.words)
    drawn.supxlabel(sketch.axis_name)
    return drawn


def _draw(axes: "Axes", sketch: facets.Figure, facet: facets.Facet) -> None:
    for line in facet.lines:
        points = np.array([(point.x, point.value, point.low, point.high) for point in line.points])
        x, value, low, high = points.T
        axes.errorbar(
            *(x, value),
            yerr=np.nan_to_num([value - low, high - value]),
            label=line.name or None,
            color=HUES[line.number % len(HUES)],
            marker=MARKERS[line.number % len(MARKERS)],
            linestyle="-" if sketch.joined else "none",
            capsize=3,
        )
    if facet.ideal:
        axes.plot(*zip(*facet.ideal, strict=True), "--", color="#7a8494", label="ideal scaling")
    if not sketch.response.is_share:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(lambda value, _place: sketch.response.tick(value))
    axes.set_xticks(*zip(*sketch.ticks, strict=True))
    axes.set_title(facet.title, fontsize="medium")
    axes.spines[["top", "right"]].set_visible(False)
