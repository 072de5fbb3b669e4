"""Iterations: outputs of equal size at equal distance, as a model writes its history."""

from dataclasses import dataclass

import numpy as np

from tailrace.units import byte_count, count, nanoseconds, rate, to_seconds
from tailrace.verdict.advice import advice
from tailrace.verdict.evidence import Evidence, Finding, Kind

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


@dataclass(frozen=True)
class Outputs:
    """`each_ns`: how long some rank is in a file call, on average over the outputs."""

    number: int
    bytes: float
    every_ns: float
    each_ns: float


def outputs_of(evidence: Evidence) -> Outputs | None:
    """The phases of I/O that wrote most, if they are alike."""
    phases = evidence.columns["phases"]
    io = np.flatnonzero([kind == "io" for kind in phases["kind"]])
    written = np.asarray(phases["bytes_written"], dtype=np.int64)[io]
    if not len(io) or written.max() < SMALL_OUTPUT_BYTES:
        return None
    large = 2 * written >= written.max()
    chosen, sizes = io[large], written[large]
    begins = np.asarray(phases["begin_ns"], dtype=np.int64)[chosen]
    distances = np.diff(begins)
    if (
        len(chosen) < FEWEST
        or sizes.max() > EQUAL_SIZE * sizes.min()
        or distances.max() > EQUAL_DISTANCE * distances.min()
        or sizes.sum() < MOST_BYTES * written.sum()
    ):
        return None
    busy = np.asarray(phases["busy_ns"], dtype=np.int64)[chosen]
    numbers = (float(values.mean()) for values in (sizes, distances, busy))
    return Outputs(len(chosen), *numbers)


def outputs(evidence: Evidence) -> Finding | None:
    found = outputs_of(evidence)
    if found is None:
        return None
    share = evidence.share(found.number * found.each_ns)
    if share < NOTABLE_SHARE:
        return None
    speed = rate(found.bytes * 1e9 / found.each_ns)
    every, each = nanoseconds(int(found.every_ns)), nanoseconds(int(found.each_ns))
    spared = min(found.number // 2 * found.each_ns, float(evidence.losses.io_ns))
    return Finding(
        Kind.OUTPUTS,
        f"{count(found.number, 'output')} of {byte_count(found.bytes)}, one every {every}; each "
        f"costs {each}",
        f"while some rank is in a file call, an output is written at {speed}",
        share,
        f"writing every other one would save at most {nanoseconds(int(spared))}",
        to_seconds(spared),
        advice=advice(Kind.OUTPUTS),
    )
