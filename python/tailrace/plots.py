"""Pictures of a run with matplotlib. Every function draws into the axes given, or into new ones,
and returns them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from tailrace.units import seconds
from tailrace.verdict.comparison import parts_of
from tailrace.verdict.efficiencies import TAILRACE_FACTORS
from tailrace.verdict.explanations import ACCEPTABLE, PARTS, grade

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tailrace.library import Run

# The page's colours: told apart by people with any of the usual kinds of colour vision, and in
# grey.
COLOURS = {"useful": "#4f86c6", "mpi": "#c9ced6", "io": "#e8743b"}
GRADES = {"good": "#58b681", "fair": "#e5b04a", "poor": "#e0715e", "unknown": "#c9ced6"}
LOSS_COLOURS = {
    "useful": "#4f86c6",
    "imbalance": "#a9c3e6",
    "serialization": "#8f7fd0",
    "io_balance": "#d6482b",
    "io_transfer": "#f0a04b",
    "transfer": "#a4aebb",
    "processors": "#6f7a3d",
}
MOST_ROWS, MOST_BINS, PIXELS = 100, 1000, 600
LABELS = {"useful": "useful", "mpi": "MPI", "io": "I/O"}


def _axes(axes: Any, width: float, height: float) -> Any:
    return (
        axes if axes is not None else plt.subplots(figsize=(width, height), layout="constrained")[1]
    )


def plot_timeline(run: "Run", axes: "Axes | None" = None) -> "Axes":
    """Ranks × time; each bin is stacked by the shares of its states, I/O at the bottom, where the
    shortest shows, and rows stand apart."""
    rows = _joined(run.columns["timeline"])
    axes = _axes(axes, 9, 1 + min(len(rows["io"]) * 0.25, 5))
    axes.imshow(
        _stacked(rows),
        aspect="auto",
        interpolation="nearest",
        cmap=ListedColormap(list(COLOURS.values())),
        vmin=0,
        vmax=len(COLOURS) - 1,
        extent=(0, run.metrics["runtime_s"], run.times.ranks - 0.5, -0.5),
    )
    axes.set(xlabel="time (s)", ylabel="rank")
    axes.yaxis.set_major_locator(MaxNLocator("auto", integer=True))
    axes.spines[["top", "right", "left"]].set_visible(False)
    handles = [Patch(color=COLOURS[state], label=LABELS[state]) for state in COLOURS]
    axes.legend(handles=handles, loc="lower right", bbox_to_anchor=(1, 1), ncols=3, frameon=False)
    return axes


def _joined(timeline: dict[str, Any]) -> dict[str, np.ndarray]:
    """Shares of the states; ranks and bins that would be too small to be seen are joined."""
    total = {state: np.atleast_2d(np.asarray(timeline[state], dtype=float)) for state in COLOURS}
    for axis, most in enumerate((MOST_ROWS, MOST_BINS)):
        length = total["io"].shape[axis]
        starts = np.arange(0, length, -(-length // most))
        total = {state: np.add.reduceat(table, starts, axis) for state, table in total.items()}
    whole = np.maximum(sum(total.values()), 1)
    return {state: values / whole for state, values in total.items()}


def _stacked(rows: dict[str, np.ndarray]) -> np.ma.MaskedArray:
    """Numbers of states, several pixels a row; a masked line keeps rows apart."""
    count, bins = rows["io"].shape
    pixels = max(5, min(24, PIXELS // max(count, 1)))
    height = np.arange(pixels)[None, :, None]

    def filled(state: str) -> np.ndarray:
        shares = rows[state][:, None, :]
        return np.where(shares > 1e-6, np.maximum(np.rint(shares * pixels), 1), 0)

    io = filled("io")
    state = np.where(height < io, 2, np.where(height < io + filled("mpi"), 1, 0))
    shape = (count, pixels + 1, bins)
    image = np.ma.MaskedArray(np.zeros(shape, dtype=int), mask=np.ones(shape, dtype=bool))
    image[:, :pixels] = state[:, ::-1]  # pictures count from the top
    return image.reshape(count * (pixels + 1), bins)


def plot_efficiency(run: "Run", axes: "Axes | None" = None) -> "Axes":
    """The factors as bars with their values, coloured as on the page; POP takes 80 % as
    acceptable."""
    axes = _axes(axes, 7, 3)
    values = [getattr(run.efficiency, factor.key) for factor in TAILRACE_FACTORS]
    names = ["   " * factor.depth + factor.name for factor in TAILRACE_FACTORS]
    colours = [GRADES[grade(value)] for value in values]
    bars = axes.barh(names, [100 * (value or 0) for value in values], color=colours, height=0.7)
    axes.bar_label(
        bars, ["–" if value is None else f"{100 * value:.1f} %" for value in values], padding=3
    )
    axes.axvline(100 * ACCEPTABLE, color="grey", linewidth=0.8, linestyle=":")
    axes.set_yticks(range(len(names)), names, ha="left")
    axes.tick_params(axis="y", length=0, pad=150)
    axes.invert_yaxis()
    axes.spines[["top", "right"]].set_visible(False)
    axes.set(xlabel="efficiency (%)", xlim=(0, 115))
    return axes


def plot_compare(
    runs: Sequence["Run"], labels: Sequence[str], axes: "Axes | None" = None
) -> "Axes":
    """Useful time and losses of each run, which add up to its run time."""
    axes = _axes(axes, 9, 1.8 + 0.45 * len(runs))
    parts = [parts_of(run.columns) for run in runs]
    places = np.arange(len(runs))
    left = np.zeros(len(runs))
    for key, name, _meaning in PARTS:
        widths = np.array([part[key] for part in parts])
        axes.barh(places, widths, left=left, label=name, color=LOSS_COLOURS[key], height=0.7)
        left += widths
    for place, end in zip(places, left, strict=True):
        axes.text(end, int(place), f"  {seconds(end)}", va="center")
    axes.set_yticks(places, labels)
    axes.invert_yaxis()
    axes.spines[["top", "right"]].set_visible(False)
    axes.set(xlabel="run time (s)", xlim=(0, 1.12 * max(left.max(initial=0), 1e-9)))
    axes.legend(
        loc="lower center",
        bbox_to_anchor=(0.5, 1),
        ncols=len(PARTS),
        frameon=False,
        handlelength=1,
    )
    return axes


def plot_io(run: "Run", axes: "Axes | None" = None) -> "Axes":
    """MB/s read and written, mean over each bin of the timeline."""
    axes = _axes(axes, 9, 3)
    rates = run.columns["rates"]
    edges = np.linspace(0, run.metrics["runtime_s"], len(rates["bytes_written"]) + 1)
    width = max(edges[1], 1e-9)
    for key, label, colour in (
        ("bytes_written", "written", COLOURS["io"]),
        ("bytes_read", "read", COLOURS["useful"]),
    ):
        axes.stairs(
            np.asarray(rates[key]) / width / 1e6,
            edges,
            label=label,
            color=colour,
            fill=True,
            alpha=0.8,
        )
    axes.set(xlabel="time (s)", ylabel="MB/s", xlim=(0, edges[-1]))
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False)
    return axes
