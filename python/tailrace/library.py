"""A trace as a Python object: numbers, data frames whose columns carry their units, and plots."""

import os
import pathlib
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from tailrace import extras
from tailrace.calls import Calls
from tailrace.engine import Collectives, analyze
from tailrace.labels import labels_of
from tailrace.names import printable
from tailrace.store import opened_trace
from tailrace.units import MOST_BYTES, NANOSECONDS_PER_SECOND, count
from tailrace.verdict import dependences
from tailrace.verdict.as_json import report
from tailrace.verdict.efficiencies import (
    Efficiencies,
    PopEfficiencies,
    Times,
    efficiencies,
    pop_efficiencies,
    times_of,
)
from tailrace.verdict.evidence import Evidence, Finding
from tailrace.verdict.headline import Verdict, judge
from tailrace.verdict.phases import as_json as output_phases
from tailrace.verdict.scaling import scaling_table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


Path = str | os.PathLike[str]
MOST_BINS = 65_536
KINDS = ("auto", "strong", "weak")


def open(
    path: Path,
    *,
    eager_limit_bytes: int | None = None,
    collectives: Collectives = "data",
    bins: int = 4096,
    label: str = "",
) -> "Run":
    """Reads a trace: a `.tailrace`, the directory of a run, or Extrae's `.prv` or `.prv.gz` with
    its `.pcf`.

    `eager_limit_bytes`: larger messages make their sender wait for the receiver (default: 32 KiB).
    `collectives`: "data" (ranks wait only where data flow) or "all" (Dimemas' convention). `bins`:
    intervals of the timeline over the run time, at most 65,536. `label`: what the run is called in
    comparisons and plots. Raises TailraceError with the place when the file cannot be read as a
    trace, ValueError for an argument that is out of range.
    """
    _check("bins", bins, 1, MOST_BINS)
    if eager_limit_bytes is not None:
        _check("eager_limit_bytes", eager_limit_bytes, 0, MOST_BYTES)
    with opened_trace(pathlib.Path(path)) as trace:
        columns = analyze(
            trace, eager_limit_bytes=eager_limit_bytes, collectives=collectives, bins=bins
        )
        return Run(columns, os.fspath(trace), label)


def _check(name: str, value: int, least: int, most: int) -> None:
    """The engine takes unsigned integers, and reserves memory for as many bins."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} is an integer, not {value!r}")
    if not least <= value <= most:
        raise ValueError(f"{name} is between {least:,} and {most:,}, not {value:,}")


class Run:
    """One run of a program, as its trace tells it. `columns` is what the engine yielded, in
    integers of nanoseconds."""

    def __init__(self, columns: dict[str, Any], path: str = "", label: str = "") -> None:
        self.columns = columns
        self.path = path
        self.given_label = label

    @property
    def label(self) -> str:
        """What it is called: as given, else by its path."""
        return printable(self.given_label or self.path)

    def __repr__(self) -> str:
        ranks = count(self.times.ranks, "rank")
        return f"<tailrace.Run {self.label}: {ranks}, {self.metrics['runtime_s']:.6g} s>"

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

    @cached_property
    def _verdict(self) -> Verdict:
        return judge(Evidence(self.columns))

    @property
    def headline(self) -> str:
        """The verdict in one sentence."""
        return self._verdict.headline

    @property
    def findings(self) -> list[Finding]:
        """What holds the run back, largest share of the run time first."""
        return self._verdict.findings

    @cached_property
    def ranks(self) -> "pd.DataFrame":
        """One row per rank: useful_s, io_s, mpi_s, overlapped_io_s, bytes_read, bytes_written,
        events, host."""
        return frame(self.columns["rank"]).rename_axis("rank")

    @cached_property
    def files(self) -> "pd.DataFrame":
        """One row per file: path, ranks, bytes, numbers of calls, and seconds in them summed over
        ranks."""
        return frame(self.columns["files"]).rename_axis("file")

    @cached_property
    def file_ranks(self) -> "pd.DataFrame":
        """One row per file and rank that used it; `file` is the row of `files`."""
        return frame(self.columns["file_rank"])

    @cached_property
    def functions(self) -> "pd.DataFrame":
        """One row per function, most time first: layer, calls, time_s summed over ranks, bytes;
        `counted` of the calls were not timed."""
        table = frame(self.columns["functions"])
        return table.sort_values("time_s", ascending=False, kind="stable", ignore_index=True)

    @cached_property
    def phases(self) -> "pd.DataFrame":
        """One row per phase (compute or io): begin_s, end_s, bytes moved, io_s over ranks, busy_s
        with some rank in a file call, ranks in I/O."""
        return frame(self.columns["phases"]).rename_axis("phase")

    @cached_property
    def output_phases(self) -> "pd.DataFrame":
        """One row per stretch in which ranks are in a routine that writes or reads files, where
        these are known: routine, begin_s, end_s, io_s over ranks, ranks, bytes moved."""
        rows = output_phases(Evidence(self.columns))
        return frame_of_rows(rows, "begin_s", ascending=True).rename_axis("phase")

    @cached_property
    def critical_path(self) -> "pd.DataFrame":
        """What lies on the critical path of the run (replay "measured") and of its ideal replays:
        time_s by rank, state, function, place and file, most first."""
        return frame_of_rows(dependences.path_rows(self.columns), "time_s")

    @cached_property
    def wait_states(self) -> "pd.DataFrame":
        """How long ranks waited in a call (`function` at `place`) while rank `cause_rank`, for
        which they waited, did `cause_…`: time_s summed over ranks, most first."""
        return frame_of_rows(dependences.cause_rows(self.columns), "time_s")

    def calls(
        self,
        begin_s: float | None = None,
        end_s: float | None = None,
        ranks: Iterable[int] | None = None,
        file: str | bytes | None = None,
    ) -> Calls:
        """Every call, or those that touch a stretch of the run, of these ranks, on this file.

        Seconds count from the begin of the run; `file` is a path as in `files`. Nothing is read
        until the result is used: `.to_pandas()`, `.to_arrow()`, `len()`, or any library that reads
        Arrow streams.
        """
        return Calls(self.path, begin_s, end_s, ranks, file)

    def plot_timeline(self, axes: "Axes | None" = None) -> "Axes":
        """Ranks × time, each bin stacked by the shares of its states."""
        from tailrace.plots import plot_timeline

        return plot_timeline(self, axes)

    def plot_efficiency(self, axes: "Axes | None" = None) -> "Axes":
        """The factors as bars, coloured as good, fair or poor."""
        from tailrace.plots import plot_efficiency

        return plot_efficiency(self, axes)

    def plot_io(self, axes: "Axes | None" = None) -> "Axes":
        """Bytes per second read and written over the run time."""
        from tailrace.plots import plot_io

        return plot_io(self, axes)

    def _repr_html_(self) -> str:
        from tailrace.notebook import run_html

        return run_html(self)


def frame_of_rows(rows: list[dict[str, Any]], by: str, ascending: bool = False) -> "pd.DataFrame":
    """The rows in order of a column."""
    extras.need("data", "data frames")
    import pandas as pd

    table = pd.DataFrame(rows)
    if table.empty:
        return table
    return table.sort_values(by, ascending=ascending, kind="stable", ignore_index=True)


def frame(columns: dict[str, Any]) -> "pd.DataFrame":
    """The engine's columns as a data frame: nanoseconds become seconds, names become text, absent
    columns stay away."""
    extras.need("data", "data frames")
    import pandas as pd

    present = {key: values for key, values in columns.items() if values is not None}
    return pd.DataFrame({_name(key): _values(key, values) for key, values in present.items()})


def _name(key: str) -> str:
    return key.removesuffix("_ns") + "_s" if key.endswith("_ns") else key


def _values(key: str, values: Any) -> Any:
    if key.endswith("_ns"):
        return np.asarray(values, dtype="float64") / NANOSECONDS_PER_SECOND
    if len(values) and isinstance(values[0], bytes | str):
        return [printable(value) for value in values]
    return values


def compare(
    runs: Iterable["Run | Path"],
    reference_ranks: int | None = None,
    kind: str = "auto",
    labels: Sequence[str] | None = None,
) -> "pd.DataFrame":
    """The scaling table of several runs of one program, one row per run in order of ranks.

    Columns: label, runtime_s, speedup, global, one per efficiency, one per scalability (NaN without
    counters). `attrs` holds kind ("strong", "weak" or "none"), reference_ranks and counters. `kind`
    says which, or "auto" to tell by the work. `labels`: what the runs are called, instead of what
    tells them apart.
    """
    opened = open_all(runs)
    if kind not in KINDS:
        raise ValueError(f"kind is {', '.join(map(repr, KINDS))}, not {kind!r}")
    called = labels_of_runs(opened, labels)
    table = scaling_table([run.columns for run in opened], reference_ranks, kind)
    rows = [
        {"label": called[index]}
        | {key: row[key] for key in ("ranks", "runtime_s", "speedup", "global")}
        | {f"{key}_efficiency": value for key, value in row["efficiency"].items()}
        | {f"{key}_scalability": value for key, value in row["scalability"].items()}
        for index, row in zip(table["trace_index"], table["rows"], strict=True)
    ]
    extras.need("data", "data frames")
    import pandas as pd

    result = pd.DataFrame(rows).set_index("ranks")
    result = result.astype({name: "float64" for name in result.columns if name != "label"})
    result.attrs.update({key: table[key] for key in ("kind", "reference_ranks", "counters")})
    return result


def plot_compare(
    runs: Iterable["Run | Path"],
    axes: "Axes | None" = None,
    *,
    labels: Sequence[str] | None = None,
) -> "Axes":
    """Where the run time of each run goes: one bar a run, of the useful time and the losses that
    add up to it."""
    from tailrace.plots import plot_compare

    opened = open_all(runs)
    return plot_compare(opened, labels_of_runs(opened, labels), axes)


def open_all(runs: Iterable["Run | Path"]) -> list["Run"]:
    """Runs as they are, paths opened."""
    if isinstance(runs, str | bytes | os.PathLike | Run):
        raise TypeError("several runs are compared: give a list, as in compare([first, second])")
    opened = [run if isinstance(run, Run) else open(run) for run in runs]
    if not opened:
        raise ValueError("there is nothing to compare: the list of runs is empty")
    return opened


def labels_of_runs(runs: Sequence["Run"], given: Sequence[str] | None = None) -> list[str]:
    """The labels given here, else those that the runs were opened with, else what differs."""
    if given is None and all(run.given_label for run in runs):
        given = [run.given_label for run in runs]
    return labels_of([run.columns for run in runs], [run.path for run in runs], given)
