"""Pictures of a run with matplotlib. Every function draws into the axes given, or into new ones, and returns them."""

from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.patches import Patch

from tailrace.explanations import TAILRACE_FACTORS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tailrace.library import Run

# The page's colours: told apart by people with any of the usual kinds of colour vision, and in grey.
COLOURS = {"useful": "#4f86c6", "mpi": "#c9ced6", "io": "#e8743b"}
LABELS = {"useful": "useful", "mpi": "MPI", "io": "I/O"}


def _axes(axes: Any, width: float, height: float) -> Any:
    return axes if axes is not None else plt.subplots(figsize=(width, height), layout="constrained")[1]


def plot_timeline(run: "Run", axes: "Axes | None" = None) -> "Axes":
    """Ranks × time; a bin has the colour of the state that most of it is spent in."""
    timeline = run.columns["timeline"]
    states = list(COLOURS)
    most = np.argmax([np.asarray(timeline[state]) for state in states], axis=0)
    axes = _axes(axes, 9, 1 + min(len(most) * 0.25, 5))
    axes.imshow(
        most,
        aspect="auto",
        interpolation="nearest",
        cmap=ListedColormap(list(COLOURS.values())),
        vmin=0,
        vmax=len(states) - 1,
        extent=(0, run.metrics["runtime_s"], run.times.ranks - 0.5, -0.5),
    )
    axes.set(xlabel="time (s)", ylabel="rank")
    axes.yaxis.get_major_locator().set_params(integer=True)
    handles = [Patch(color=COLOURS[state], label=LABELS[state]) for state in states]
    axes.legend(handles=handles, loc="lower right", bbox_to_anchor=(1, 1), ncols=3, frameon=False)
    return axes


def plot_efficiency(run: "Run", axes: "Axes | None" = None) -> "Axes":
    """The factors as bars with their values; POP takes 80 % as acceptable."""
    axes = _axes(axes, 7, 3)
    values = [getattr(run.efficiency, factor.key) for factor in TAILRACE_FACTORS]
    names = [factor.name for factor in TAILRACE_FACTORS]
    bars = axes.barh(names, [100 * (value or 0) for value in values], color=COLOURS["useful"])
    axes.bar_label(bars, ["–" if value is None else f"{100 * value:.1f} %" for value in values], padding=3)
    axes.axvline(80, color="grey", linewidth=0.8, linestyle=":")
    axes.invert_yaxis()
    axes.set(xlabel="efficiency (%)", xlim=(0, 115))
    return axes


def plot_io(run: "Run", axes: "Axes | None" = None) -> "Axes":
    """MB/s read and written, mean over each bin of the timeline."""
    axes = _axes(axes, 9, 3)
    rates = run.columns["rates"]
    edges = np.linspace(0, run.metrics["runtime_s"], len(rates["bytes_written"]) + 1)
    width = max(edges[1], 1e-9)
    for key, label, colour in (("bytes_written", "written", COLOURS["io"]), ("bytes_read", "read", COLOURS["useful"])):
        axes.stairs(np.asarray(rates[key]) / width / 1e6, edges, label=label, color=colour, fill=True, alpha=0.8)
    axes.set(xlabel="time (s)", ylabel="MB/s", xlim=(0, edges[-1]))
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False)
    return axes
