"""Two runs side by side: what differs, and which part of the run time makes the difference.

The mean useful time and the losses, waits for a processor among them, add up to the run time, so
that their differences add up to the difference of the run times.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from tailrace.names import base_name, printable
from tailrace.units import NANOSECONDS_PER_SECOND, percent, seconds
from tailrace.verdict.efficiencies import by_key
from tailrace.verdict.explanations import PARTS
from tailrace.verdict.processors import losses_of

# About what two runs of one program differ by.
SAME_SHARE = 0.02


@dataclass(frozen=True)
class Difference:
    """One quantity of two runs; `unit` is "s", "bytes" or "" for a count."""

    name: str
    unit: str
    first: float
    second: float

    @property
    def change(self) -> float:
        return self.second - self.first

    @property
    def ratio(self) -> float | None:
        return self.second / self.first if self.first > 0 else None


def run_times(first: dict[str, Any], second: dict[str, Any]) -> list[Difference]:
    """The run time, then the parts that it consists of."""
    both = [parts_of(first), parts_of(second)]
    whole = Difference("run time", "s", *(sum(parts.values()) for parts in both))
    return [whole] + [
        Difference(name, "s", both[0][key], both[1][key]) for key, name, _meaning in PARTS
    ]


def parts_of(columns: dict[str, Any]) -> dict[str, float]:
    """Seconds of useful time and of each loss, by their keys in PARTS."""
    parts = by_key(losses_of(columns))
    parts["useful"] = int(columns["runtime_ns"]) - sum(parts.values())
    return {key: float(value) / NANOSECONDS_PER_SECOND for key, value in parts.items()}


def file_use(first: dict[str, Any], second: dict[str, Any]) -> list[Difference]:
    """Bytes and calls on files, over all files and ranks."""
    names = {
        "bytes_read": ("bytes read", "bytes"),
        "bytes_written": ("bytes written", "bytes"),
        "reads": ("reads", ""),
        "writes": ("writes", ""),
        "metadata_calls": ("other file calls", ""),
    }
    return [
        Difference(name, unit, *(float(sum(columns["files"][key])) for columns in (first, second)))
        for key, (name, unit) in names.items()
    ]


def functions(first: dict[str, Any], second: dict[str, Any], most: int = 8) -> list[Difference]:
    """The functions whose time, summed over ranks, differs most."""
    return _largest(_function_times(first), _function_times(second), printable, most)


def files(first: dict[str, Any], second: dict[str, Any], most: int = 8) -> list[Difference]:
    """The files whose time differs most; files of one name in different directories are one."""
    return _largest(_file_times(first), _file_times(second), str, most)


def _function_times(columns: dict[str, Any]) -> dict[str, float]:
    table = columns["functions"]
    return _sums(zip(table["name"], table["time_ns"], strict=True))


def _file_times(columns: dict[str, Any]) -> dict[str, float]:
    table = columns["files"]
    times = zip(*(table[f"{kind}_ns"] for kind in ("read", "write", "metadata")), strict=True)
    return _sums(zip(map(base_name, table["path"]), map(sum, times), strict=True))


def _sums(pairs: Iterable[tuple[str, int]]) -> dict[str, float]:
    result: dict[str, float] = {}
    for name, time_ns in pairs:
        result[name] = result.get(name, 0.0) + int(time_ns) / NANOSECONDS_PER_SECOND
    return result


def _largest(
    first: dict[str, float], second: dict[str, float], shown: Callable[[str], str], most: int
) -> list[Difference]:
    names = dict.fromkeys([*first, *second])
    every = [
        Difference(shown(name), "s", first.get(name, 0.0), second.get(name, 0.0)) for name in names
    ]
    return sorted(every, key=lambda difference: -abs(difference.change))[:most]


def part_names() -> dict[str, str]:
    """What each part of the run time is, inside a sentence."""
    return {key: _named(name) for key, name, _meaning in PARTS}


def _named(name: str) -> str:
    names = {"useful": "useful time", "processors": "the wait for processors"}
    names["network"] = "time lost to the network"
    return names.get(name, f"time lost to {name}")


def sentence(first: dict[str, Any], second: dict[str, Any], labels: tuple[str, str]) -> str:
    """Which run takes longer, by how much, and where most of the difference comes from."""
    whole, *parts = run_times(first, second)
    both = f"{seconds(whole.first)} and {seconds(whole.second)}"
    if abs(whole.change) <= SAME_SHARE * max(whole.first, 1e-12):
        return f"{labels[0]} and {labels[1]} take the same time within 2 %: {both}."
    sign = 1 if whole.change > 0 else -1
    part = max(parts, key=lambda part: sign * part.change)
    name = _named(part.name)
    share = percent(abs(whole.change) / whole.first) if whole.first else "infinitely"
    return (
        f"{labels[1]} takes {seconds(whole.second)}, {share} "
        f"{'longer' if sign > 0 else 'less'} than"
        f" {labels[0]} ({seconds(whole.first)}), mostly because {name} goes from"
        f" {seconds(part.first)} to {seconds(part.second)}."
    )
