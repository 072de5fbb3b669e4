"""A trace as a Python object: numbers, data frames whose columns carry their units, and plots."""

import os
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pandas as pd

from tailrace.analysis import (
    Efficiencies,
    PopEfficiencies,
    Times,
    efficiencies,
    pop_efficiencies,
    times_of,
)
from tailrace.engine import EAGER_LIMIT_BYTES, analyze
from tailrace.evidence import Finding
from tailrace.names import printable
from tailrace.report_json import report
from tailrace.scaling import scaling_table
from tailrace.units import NANOSECONDS_PER_SECOND
from tailrace.verdict import findings, headline

if TYPE_CHECKING:
    from matplotlib.axes import Axes


Path = str | os.PathLike[str]


def open(
    path: Path, *, eager_limit_bytes: int = EAGER_LIMIT_BYTES, collectives: str = "data", bins: int = 4096
) -> "Run":
    """Reads a trace: a `.tailrace`, or Extrae's `.prv` or `.prv.gz` with its `.pcf`.

    `eager_limit_bytes`: larger messages make their sender wait for the receiver. `collectives`: "data" (ranks wait only
    where data flow) or "all" (Dimemas' convention). `bins`: intervals of the timeline over the run time.
    Raises TailraceError with the place when the file cannot be read as a trace.
    """
    options = {"eager_limit_bytes": eager_limit_bytes, "collectives": collectives, "bins": bins}
    return Run(analyze(os.fspath(path), **options), os.fspath(path))


class Run:
    """One run of a program, as its trace tells it. `columns` is what the engine yielded, in integers of nanoseconds."""

    def __init__(self, columns: dict[str, Any], path: str = "") -> None:
        self.columns = columns
        self.path = path

    def __repr__(self) -> str:
        return f"<tailrace.Run {printable(self.path)}: {self.times.ranks} ranks, {self.metrics['runtime_s']:.6g} s>"

    @cached_property
    def times(self) -> Times:
        """Run times and per-rank times in integers of nanoseconds."""
        return times_of(self.columns)

    @cached_property
    def efficiency(self) -> Efficiencies:
        """Factors between 0 and 1 with I/O as a factor of its own."""
        return efficiencies(self.times)

    @cached_property
    def pop(self) -> PopEfficiencies:
        """The official POP factors."""
        return pop_efficiencies(self.times)

    @cached_property
    def metrics(self) -> dict[str, Any]:
        """The object that `tailrace report --json` prints."""
        return report(self.columns)

    @property
    def headline(self) -> str:
        """The verdict in one sentence."""
        return headline(self.columns)

    @cached_property
    def findings(self) -> list[Finding]:
        """What holds the run back, largest share of the run time first."""
        return findings(self.columns)

    @cached_property
    def ranks(self) -> pd.DataFrame:
        """One row per rank: useful_s, io_s, mpi_s, overlapped_io_s, bytes_read, bytes_written, events, host."""
        return frame(self.columns["rank"]).rename_axis("rank")

    @cached_property
    def files(self) -> pd.DataFrame:
        """One row per file: path, ranks, bytes, numbers of calls, and seconds in them summed over ranks."""
        return frame(self.columns["files"]).rename_axis("file")

    @cached_property
    def file_ranks(self) -> pd.DataFrame:
        """One row per file and rank that used it; `file` is the row of `files`."""
        return frame(self.columns["file_rank"])

    @cached_property
    def functions(self) -> pd.DataFrame:
        """One row per function: layer, calls, time_s summed over ranks, bytes."""
        return frame(self.columns["functions"])

    @cached_property
    def phases(self) -> pd.DataFrame:
        """One row per phase (compute or io): begin_s, end_s, bytes moved, io_s over ranks, ranks in I/O."""
        return frame(self.columns["phases"]).rename_axis("phase")

    def plot_timeline(self, axes: "Axes | None" = None) -> "Axes":
        """Ranks × time, each bin in the colour of the state that takes most of it."""
        from tailrace.plots import plot_timeline

        return plot_timeline(self, axes)

    def plot_efficiency(self, axes: "Axes | None" = None) -> "Axes":
        """The factors as bars."""
        from tailrace.plots import plot_efficiency

        return plot_efficiency(self, axes)

    def plot_io(self, axes: "Axes | None" = None) -> "Axes":
        """Bytes per second read and written over the run time."""
        from tailrace.plots import plot_io

        return plot_io(self, axes)

    def _repr_html_(self) -> str:
        from html import escape

        return f"<p><b>{escape(self.headline)}</b></p><p>{escape(repr(self))}</p>"


def frame(columns: dict[str, Any]) -> pd.DataFrame:
    """The engine's columns as a data frame: nanoseconds become seconds, names become text, absent columns stay away."""
    present = {key: values for key, values in columns.items() if values is not None}
    return pd.DataFrame({_name(key): _values(key, values) for key, values in present.items()})


def _name(key: str) -> str:
    return key.removesuffix("_ns") + "_s" if key.endswith("_ns") else key


def _values(key: str, values: Any) -> Any:
    if key.endswith("_ns"):
        return pd.Series(values, dtype="float64") / NANOSECONDS_PER_SECOND
    if len(values) and isinstance(values[0], bytes | str):
        return [printable(value) for value in values]
    return values


def compare(runs: Iterable["Run | Path"], reference_ranks: int | None = None, kind: str = "auto") -> pd.DataFrame:
    """The scaling table of several runs of one program, one row per run in order of ranks.

    Columns: runtime_s, speedup, global, one per efficiency, one per scalability (NaN without counters). `attrs` holds
    kind ("strong", "weak" or "none"), reference_ranks and counters. `kind` says which, or "auto" to tell by the work.
    """
    opened = [run if isinstance(run, Run) else open(run) for run in runs]
    table = scaling_table([run.columns for run in opened], reference_ranks, kind)
    rows = [
        {key: row[key] for key in ("ranks", "runtime_s", "speedup", "global")}
        | {f"{key}_efficiency": value for key, value in row["efficiency"].items()}
        | {f"{key}_scalability": value for key, value in row["scalability"].items()}
        for row in table["rows"]
    ]
    result = pd.DataFrame(rows).set_index("ranks").astype("float64")
    result.attrs.update({key: table[key] for key in ("kind", "reference_ranks", "counters")})
    return result
