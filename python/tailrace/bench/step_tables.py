"""The steps of a kernel's run for people: a row for each file that it wrote or read, or all steps.

Times are milliseconds. A step took as long as its slowest rank.
"""

import statistics
from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.text import Text

from tailrace.bench.figures import MB
from tailrace.bench.records import PHASES, Direction
from tailrace.terminal import print_numbers, table
from tailrace.units import byte_count, digits

MILLISECONDS = 1e3
# Shorter phases are not shown: of a step that has none of it, what remains is two readings of the
# clock.
SHOWN_FROM_S = 5e-5
# So long is what remains, at most. A sync may be quicker than what is shown.
CLOCK_S = 1e-6


def phases_of(streams: Iterable[dict[str, Any]]) -> list[str]:
    """The phases that took any time worth showing."""
    steps = [step for stream in streams for step in stream["steps"]]
    return [
        phase
        for phase in PHASES
        if any(step[f"{phase}_s"]["max"] >= SHOWN_FROM_S for step in steps)
    ]


def synced(streams: Iterable[dict[str, Any]]) -> bool:
    """Whether anything was asked to be on the disk. Single readings may have been disturbed."""
    times = [step["sync_s"]["max"] for stream in streams for step in stream["steps"]]
    return bool(times) and statistics.median(times) >= CLOCK_S


def print_summary(out: Console, streams: list[dict[str, Any]], title: str) -> None:
    """A row for each file, or row of files: what its phases took in all, and its steps."""
    phases = [phase for phase in phases_of(streams) if phase not in list(Direction)]
    headings = (">transfer", *(f">{phase}" for phase in phases), ">step", ">slowest @step", ">MB/s")
    rows = table("", "", "", ">steps", ">bytes", *headings)
    rows.title = None  # as one it would be folded to the table's width
    for stream in streams:
        if not stream["steps"]:
            continue
        times = [step["step_s"]["max"] for step in stream["steps"]]
        slowest = stream["steps"][times.index(max(times))]
        rows.add_row(
            stream["stream"],
            stream["direction"],
            f"{len(times):,}",
            byte_count(stream["bytes"]),
            *(
                _milliseconds(stream["total"][f"{phase}_s"]["max"])
                for phase in (stream["direction"], *phases)
            ),
            _milliseconds(statistics.median(times)),
            f"{_milliseconds(max(times))} @{slowest['step']}",
            _megabytes_per_s(stream["steps"]),
        )
    heading = "ms of the slowest rank: phases over all steps, the median step, the slowest step"
    out.print()
    out.print(Text(f"{title}{heading} (--all: every step)", style="bold"), soft_wrap=True)
    print_numbers(out, rows)


def print_steps(out: Console, stream: dict[str, Any], title: str) -> None:
    """Every step: shortest/mean/longest time of a rank, and which rank took longest."""
    phases = phases_of([stream])
    rows = table("", ">step", ">bytes", *(f">{phase}" for phase in phases), ">MB/s")
    rows.title = None  # as one it would be folded to the table's width
    for step in stream["steps"]:
        times = [_spread(step[f"{phase}_s"]) for phase in phases]
        rows.add_row(str(step["step"]), byte_count(step["bytes"]), *times, _megabytes_per_s([step]))
    verb = Direction(stream["direction"]).participle
    heading = f"{title}{stream['stream']}, {verb} by {stream['method']} in {stream['format']}"
    out.print()
    out.print(Text(f"{heading}; ms of a rank: min/mean/max @rank", style="bold"), soft_wrap=True)
    print_numbers(out, rows)
    for name, value in stream["rates"].items():
        if not name.startswith("best"):
            best = stream["rates"][f"best_step_{name}"]
            words = name.replace("_mb_per_s", "").replace("_", " ")
            out.print(f"  {words}: {value:,.1f} MB/s, best step {best:,.1f}")


def _spread(times: dict[str, Any]) -> str:
    spread = "/".join(_milliseconds(times[key]) for key in ("min", "mean", "max"))
    return f"{spread} @{times['rank_of_max']}"


def _milliseconds(time_s: float) -> str:
    return digits(time_s * MILLISECONDS)


def _megabytes_per_s(steps: list[dict[str, Any]]) -> str:
    """Everything that the steps cost included."""
    spent = sum(step["step_s"]["max"] for step in steps)
    return f"{sum(step['bytes'] for step in steps) / spent / MB if spent else 0.0:,.1f}"
