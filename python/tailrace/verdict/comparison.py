"""Two runs side by side: what differs, and which part of the run time makes the difference.

The mean useful time and the losses, waits for a processor among them, add up to the run time, so
that their differences add up to the difference of the run times.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tailrace.labels import differences_of
from tailrace.names import base_name, printable
from tailrace.units import NANOSECONDS_PER_SECOND, byte_count, percent, seconds
from tailrace.verdict.efficiencies import by_key
from tailrace.verdict.evidence import NOTABLE_LOSS, Evidence
from tailrace.verdict.explanations import PARTS
from tailrace.verdict.processors import losses_of
from tailrace.verdict.requests import KINDS, calls_of

# About what two runs of one program differ by.
SAME_SHARE = 0.02
# And by so much at times, on a machine that others use.
BY_CHANCE = 0.1
# A second part, and what changes the other way, are worth a word from such a share of it on.
AGAINST = 0.25
# Runs move as much with files where no more than this is between them.
NOTABLE_BYTES = 1_000_000
# Calls of a kind explain what changed in all of them with so much of it.
MOST_OF_CHANGE = 0.5
# The parts of the run time that are about file calls.
IO_PARTS = ("I/O imbalance", "I/O transfer")


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
    """Which run takes longer, by how much, and where most of the difference comes from; what became
    worse meanwhile, where something did; and whether it may be chance."""
    whole, *parts = run_times(first, second)
    both = f"{seconds(whole.first)} and {seconds(whole.second)}"
    if abs(whole.change) <= SAME_SHARE * max(whole.first, 1e-12):
        same = f"{labels[0]} and {labels[1]} take the same time within 2 %: {both}"
        evened = _evened_out(parts, whole.first, labels)
        return f"{same}{evened}{_amounts(first, second, labels)}."
    sign = 1 if whole.change > 0 else -1
    most, more, *_ = sorted(parts, key=lambda part: -sign * part.change)
    because = [most] + [more] * (sign * more.change >= AGAINST * abs(whole.change))
    in_files = any(part.name in IO_PARTS for part in because)
    share = percent(abs(whole.change) / whole.first) if whole.first else "infinitely"
    return (
        f"{labels[1]} takes {seconds(whole.second)}, {share} "
        f"{'longer' if sign > 0 else 'less'} than"
        f" {labels[0]} ({seconds(whole.first)}), mostly because"
        f" {' and '.join(_goes(part) for part in because)}"
        f"{_calls(first, second, labels, sign) if in_files else ''}"
        f"{_although(parts, whole, sign)}"
        f"{_amounts(first, second, labels)}"
        f"{_chance(first, second, whole, most.name == 'processors')}."
    )


def _goes(part: Difference) -> str:
    return f"{_named(part.name)} goes from {seconds(part.first)} to {seconds(part.second)}"


def _evened_out(parts: Sequence[Difference], runtime_s: float, labels: tuple[str, str]) -> str:
    """What the one run gained and lost again in another part."""
    changes = [part for part in parts if abs(part.change) >= NOTABLE_LOSS * runtime_s]
    up = max(changes, key=lambda part: part.change, default=None)
    down = min(changes, key=lambda part: part.change, default=None)
    if up is None or down is None or up.change <= 0 or down.change >= 0:
        return ""
    return f"; but from {labels[0]} to {labels[1]} {_goes(down)}, and {_goes(up)}"


def _although(parts: Sequence[Difference], whole: Difference, sign: int) -> str:
    """What changed most the other way, where that is much of the difference."""
    against = min(parts, key=lambda part: sign * part.change)
    least = max(AGAINST * abs(whole.change), SAME_SHARE * whole.first)
    return f", although {_goes(against)}" if -sign * against.change >= least else ""


def _calls(
    first: dict[str, Any], second: dict[str, Any], labels: tuple[str, str], sign: int
) -> str:
    """`: 192 fsyncs of 4.91 ms each in base, none in tuned`: of the kind of file call whose time
    changed most, where that is most of what changed in all of them."""
    before, after = (Evidence(columns) for columns in (first, second))
    changes = {kind: after.use.time_ns(kind) - before.use.time_ns(kind) for kind in KINDS}
    kind = max(changes, key=lambda kind: sign * changes[kind])
    every = sum(abs(change) for change in changes.values())
    if sign * changes[kind] < MOST_OF_CHANGE * max(every, 1):
        return ""
    made = [
        calls_of(run.use, kind, run.columns["functions"]) if run.use.calls(kind) else "none"
        for run in (before, after)
    ]
    if made[0] == "none":  # who has them is said first
        made, labels = made[::-1], labels[::-1]
    return f" ({made[0]} in {labels[0]}, {made[1]} in {labels[1]})"


def _amounts(first: dict[str, Any], second: dict[str, Any], labels: tuple[str, str]) -> str:
    """`; before reads 671 MB, after 83.9 MB`: whatever part of the run time that is in, as ranks
    that share cores wait for each other's copies."""
    verbs = {"bytes read": "reads", "bytes written": "writes"}
    uses = [use for use in file_use(first, second) if use.name in verbs]
    differing = [
        use
        for use in uses
        if abs(use.change) >= max(AGAINST * max(use.first, use.second), NOTABLE_BYTES)
    ]
    return "".join(
        f"; {labels[0]} {verbs[use.name]} {byte_count(use.first)}, {labels[1]}"
        f" {byte_count(use.second)}"
        for use in differing
    )


def _chance(
    first: dict[str, Any], second: dict[str, Any], whole: Difference, explained: bool
) -> str:
    """Single runs of what does the same differ where others use the machine: by some per cent, and
    by more at times. `explained`: by the wait for processors."""
    uses = file_use(first, second)
    if any(abs(use.change) > SAME_SHARE * max(use.first, use.second) for use in uses):
        return ""
    if abs(whole.change) < BY_CHANCE * whole.first:
        return "; but both do as much with files, and two single runs may differ so much by chance"
    if explained or any(differences_of((first, second), paths=True)):
        return ""
    return "; both do as much with files: only more runs of each show how much of it is chance"
