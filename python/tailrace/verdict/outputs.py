"""Iterations: outputs of equal size at equal distance, as a model writes its history."""

from typing import NamedTuple

import numpy as np

from tailrace.units import byte_count, count, nanoseconds, percent, rate, to_seconds
from tailrace.verdict.advice import advice
from tailrace.verdict.evidence import Evidence, Finding, Kind
from tailrace.verdict.phases import phases_of
from tailrace.verdict.places import shortened

# Two outputs may be chance, and one distance says nothing about the next.
FEWEST = 3
# Less is a log, not an output.
SMALL_OUTPUT_BYTES = 64 * 1024
# Sizes within this factor are equal, as headers and compression vary; distances may differ by more,
# since steps take longer now and then.
EQUAL_SIZE = 1.1
EQUAL_DISTANCE = 1.5
# The outputs hold at least so much of all that is written: else something else is going on.
MOST_BYTES = 0.8
NOTABLE_SHARE = 0.01
# Of what file calls take, so much else that a routine does is worth a word.
NOTABLE_BESIDE = 0.01


# Worth a word: an output's stretch is so many times what its file calls take.
LONGER = 1.25


class Written(NamedTuple):
    """Stretches in which something is written, and what all of the run writes. `cost_ns`: what each
    costs, `in_files`: the share of it in file calls. `routine`: where they are known to be all of
    its, else empty."""

    begin_ns: np.ndarray
    length_ns: np.ndarray
    cost_ns: np.ndarray
    in_files: np.ndarray
    bytes: np.ndarray
    all_bytes: int
    routine: str = ""


class Outputs(NamedTuple):
    """Means over the outputs, as in Written."""

    number: int
    bytes: float
    every_ns: float
    each_ns: float
    length_ns: float
    in_files: float
    routine: str


def outputs_of(evidence: Evidence) -> Outputs | None:
    """The stretches that wrote most, if they are alike."""
    written = _by_routine(evidence) or _by_files(evidence)
    if written is None or written.bytes.max() < SMALL_OUTPUT_BYTES:
        return None
    large = 2 * written.bytes >= written.bytes.max()
    sizes = written.bytes[large]
    distances = np.diff(written.begin_ns[large])
    if (
        len(sizes) < FEWEST
        or sizes.max() > EQUAL_SIZE * sizes.min()
        or distances.max() > EQUAL_DISTANCE * distances.min()
        or sizes.sum() < MOST_BYTES * written.all_bytes
    ):
        return None
    chosen = (values[large] for values in (written.cost_ns, written.length_ns, written.in_files))
    size, every, cost, length, in_files = (
        float(values.mean()) for values in (sizes, distances, *chosen)
    )
    return Outputs(len(sizes), size, every, cost, length, in_files, written.routine)


def _by_routine(evidence: Evidence) -> Written | None:
    """Of the routine that writes nearly all, where that is known."""
    all_bytes = int(np.sum(evidence.columns["phases"]["bytes_written"], dtype=np.int64))
    for phases in phases_of(evidence):
        if all_bytes and phases.bytes_written.sum() >= MOST_BYTES * all_bytes:
            length_ns = phases.end_ns - phases.begin_ns
            in_files = phases.io_ns / np.maximum(length_ns * phases.ranks, 1)
            name = shortened(phases.output.routine.name[0])
            moved = phases.bytes_written
            return Written(phases.begin_ns, length_ns, length_ns, in_files, moved, all_bytes, name)
    return None


def _by_files(evidence: Evidence) -> Written | None:
    """Stretches with some rank in a file call, joined over pauses: their cost is without these."""
    phases = evidence.columns["phases"]
    io = np.flatnonzero([kind == "io" for kind in phases["kind"]])
    if not len(io):
        return None
    begin_ns, end_ns, busy_ns, moved = (
        np.asarray(phases[key], dtype=np.int64)[io]
        for key in ("begin_ns", "end_ns", "busy_ns", "bytes_written")
    )
    length_ns = end_ns - begin_ns
    in_files = busy_ns / np.maximum(length_ns, 1)
    return Written(begin_ns, length_ns, busy_ns, in_files, moved, int(moved.sum()))


def outputs(evidence: Evidence) -> Finding | None:
    found = outputs_of(evidence)
    if found is None:
        return None
    share = evidence.share(found.number * found.each_ns)
    if share < NOTABLE_SHARE:
        return None
    every, each = nanoseconds(int(found.every_ns)), nanoseconds(int(found.each_ns))
    in_files, beside = _spared_ns(evidence, found)
    spared = in_files + beside
    takes = f"takes {each} in {found.routine}" if found.routine else f"costs {each} in file calls"
    return Finding(
        Kind.OUTPUTS,
        f"{count(found.number, 'output')} of {byte_count(found.bytes)}, one every {every}; each "
        f"{takes}",
        _facts(found),
        share,
        f"writing every other one would save at most {nanoseconds(int(spared))}"
        f"{_of_which(found, in_files, beside)}",
        to_seconds(spared),
        advice=advice(Kind.OUTPUTS),
    )


def _spared_ns(evidence: Evidence, found: Outputs) -> tuple[float, float]:
    """What every other output costs, without waits for a processor: in file calls, which is no more
    than what an ideal file system would save, and in what else the routine does."""
    costs_ns = found.number // 2 * found.each_ns
    ideal_ns = float(evidence.losses.io_ns)
    if not found.routine:
        return min(costs_ns * evidence.ran_in_io, ideal_ns), 0.0
    useful_ns, waited_ns = evidence.times.useful_ns.sum(), evidence.waited_ns("useful")
    ran = 1 - min(waited_ns / max(int(useful_ns), 1), 1.0)
    of_calls_ns = costs_ns * found.in_files * evidence.ran_in_io
    return min(of_calls_ns, ideal_ns), costs_ns * (1 - found.in_files) * ran


def _of_which(found: Outputs, in_files: float, beside: float) -> str:
    """`: 53 ms in file calls and 23 ms in what else write_history does`, where that is notable;
    ` in file calls` where it is not known what else is done for an output, as formatting."""
    if not found.routine:
        return " in file calls"
    if beside < NOTABLE_BESIDE * in_files:
        return ""
    calls, other = nanoseconds(int(in_files)), nanoseconds(int(beside))
    return f": {calls} in file calls and {other} in what else {found.routine} does"


def _facts(found: Outputs) -> str:
    speed = rate(found.bytes * 1e9 / found.each_ns)
    if found.routine:
        return (
            f"from the first call of the routine to its last: its ranks are in file calls for "
            f"{percent(found.in_files)} of that; in all, an output is written at {speed}"
        )
    facts = f"while some rank is in a file call, an output is written at {speed}"
    if found.length_ns < LONGER * found.each_ns:
        return facts
    length = nanoseconds(int(found.length_ns))
    return f"{facts}; with the pauses between such calls it takes {length}"
