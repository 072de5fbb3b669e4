"""What runs ask of their file system: bytes and calls, which are counted and not measured. What
takes time in files is so many bytes at a rate and so many calls of so long; how many there are on
another number of ranks follows laws of their own, without noise that could hide them. So a program
that locks only where ranks share a file, or of whose bytes each further rank reads more, is told
from a file system that becomes slower."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from tailrace.predict.cuts import Cut
from tailrace.predict.laws import FORMS, FURTHER, SHARED, Form, fitted, from_some_on
from tailrace.predict.spread import RUN_NOISE
from tailrace.units import byte_count, count, rate, seconds

KINDS = ("bytes_written", "bytes_read", "writes", "reads", "metadata_calls")
CALLS = KINDS[2:]
TIMES = ("read_ns", "write_ns", "metadata_ns")
# Of the time in files: a file that takes less says nothing of it.
LITTLE = 0.01


class Between(NamedTuple):
    """A number that is not known exactly."""

    low: float
    value: float
    high: float


class Asked(NamedTuple):
    """`by_kind`: for each of KINDS a number for each number of ranks, of all ranks together."""

    ranks: np.ndarray
    by_kind: dict[str, np.ndarray]

    def of(self, kinds: Sequence[str]) -> np.ndarray:
        return np.asarray(np.sum([self.by_kind[kind] for kind in kinds], axis=0), float)


def asked(runs: Sequence[tuple[int, dict[str, Any]]]) -> Asked:
    """By runs' numbers of ranks and columns of files; of several on one number the median."""
    by_ranks: dict[int, list[list[int]]] = {}
    for ranks, files in runs:
        by_ranks.setdefault(ranks, []).append(_counted(files))
    numbers = sorted(by_ranks)
    medians = [[median(kind) for kind in zip(*by_ranks[n], strict=True)] for n in numbers]
    by_kind = dict(zip(KINDS, np.asarray(medians, float).T, strict=True))
    return Asked(np.asarray(numbers, float), by_kind)


def _counted(files: dict[str, Any]) -> list[int]:
    """Of the files that take time: a log in memory has many calls and takes none."""
    times_ns = np.sum([np.asarray(files[kind], float) for kind in TIMES], axis=0)
    matter = times_ns >= LITTLE * times_ns.sum()
    return [int(np.sum(np.asarray(files[kind])[matter])) for kind in KINDS]


def forms(runs: Asked, wanted: int, cut: Cut | None = None) -> list[Form]:
    """Of a time, by what these runs asked for and one on `wanted` ranks will: by what is written,
    as what is read may go the other way meanwhile, and by all that is moved; the first is the
    likeliest. `cut`: how data may be cut there, as in none of the runs."""
    written, moved = ("bytes_written",), ("bytes_written", "bytes_read")
    kinds = {"written": written} | ({"moved": moved} if runs.of(("bytes_read",)).any() else {})
    found: list[Form] = []
    for words, kind in kinds.items():
        if runs.of(kind).any():
            by_law = _by(words, runs, kind, wanted)
            by_cut = _by_cut(words, runs, kind, wanted, cut) if cut else []
            found += by_cut + by_law if cut and cut.is_chosen else by_law + by_cut
    return found


def _by(words: str, runs: Asked, kinds: Sequence[str], wanted: int) -> list[Form]:
    """By what is most likely; and by as few and as many bytes, and calls, as are open."""
    bytes_, number = (_expected(runs, each, wanted) for each in (kinds, CALLS))
    told = [(bytes_.value, number.value)]
    told += [(edge, number.value) for edge in (bytes_.low, bytes_.high)]
    told += [(bytes_.value, edge) for edge in (number.low, number.high)]
    return [_form(words, runs.ranks, runs.of(kinds), runs.of(CALLS), wanted, at) for at in told]


def _by_cut(words: str, runs: Asked, kinds: Sequence[str], wanted: int, cut: Cut) -> list[Form]:
    """Parts have gaps, and before each write MPI-IO reads: by what is most likely, and as much as
    laws leave open."""
    expected = {kind: _expected(runs, (kind,), wanted) for kind in KINDS}
    found = []
    for edge in ("value", "high"):
        told = {kind: getattr(number, edge) for kind, number in expected.items()}
        told["bytes_written"] += cut.more_bytes
        told["bytes_read"] += cut.more_bytes
        told["reads"] = max(told["reads"], told["writes"])
        both = sum(told[kind] for kind in kinds), sum(told[kind] for kind in CALLS)
        found.append(_form(words, runs.ranks, runs.of(kinds), runs.of(CALLS), wanted, both))
    return found


def _expected(runs: Asked, kinds: Sequence[str], wanted: int) -> Between:
    """Each kind follows a law of its own, and what the run on most ranks has beyond that stays.
    How a program cuts its data differs by about as much as runs do: parts of a grid are not equal,
    and three ranks cut it another way than four."""
    total = np.zeros(3)
    forms = (*FORMS, *FURTHER, *SHARED, *from_some_on(runs.ranks))
    for kind in kinds:
        counts = runs.by_kind[kind]
        if not counts.any():
            continue
        noise = RUN_NOISE * np.maximum(counts, LITTLE * counts.max())
        found = fitted(runs.ranks, counts, noise, forms=forms)
        low, high = found.between(wanted)
        ends = np.asarray([low, float(found.best.at(wanted)), high])
        total += np.maximum(ends + found.beyond_law, 0.0)
    return Between(*map(float, total))


def _form(
    words: str,
    ranks: np.ndarray,
    moved: np.ndarray,
    calls: np.ndarray,
    wanted: int,
    told: tuple[float, float],
) -> Form:
    """Both in units of their largest, which keeps them alike in size."""
    most_moved, most_calls = float(moved.max()), max(float(calls.max()), 1.0)

    def described(moving_s: float, calling_s: float) -> str:
        parts = []
        if moving_s:
            parts.append(f"{byte_count(told[0])} {words} at {rate(most_moved / moving_s)}")
        if calling_s:
            each = seconds(calling_s / most_calls)
            parts.append(f"{count(round(told[1]), 'call')} of {each} each")
        return " and ".join(parts) or "nothing"

    return Form(
        "",
        _known(ranks, calls / most_calls, wanted, told[1] / most_calls),
        base=_known(ranks, moved / most_moved, wanted, told[0] / most_moved),
        described=described,
    )


def _known(
    ranks: np.ndarray, counts: np.ndarray, wanted: int, told: float
) -> Callable[[np.ndarray], np.ndarray]:
    """As counted where it was, and as told on the number that is wanted."""
    by_ranks = {float(wanted): told, **dict(zip(map(float, ranks), counts, strict=True))}
    numbers = sorted(by_ranks)
    return lambda at: np.asarray(np.interp(at, numbers, [by_ranks[n] for n in numbers]))
