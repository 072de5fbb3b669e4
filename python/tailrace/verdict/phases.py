"""Phases of output and input: the stretches in which ranks are in the routine that writes, or
reads, from the first call of an entry to its last. They are known where the routine is, and where
its entries can be told apart."""

from typing import Any, NamedTuple

import numpy as np

from tailrace.names import printable
from tailrace.units import to_seconds
from tailrace.verdict.evidence import Evidence
from tailrace.verdict.routines import Output, routines_of

TIMES = ("begin", "end", "io")
COUNTS = ("ranks", "bytes_read", "bytes_written")


class Phases(NamedTuple):
    """Of one routine, in order of time. `ranks` are in it, `io_ns` is what they spend in file calls
    together."""

    output: Output
    begin_ns: np.ndarray
    end_ns: np.ndarray
    io_ns: np.ndarray
    ranks: np.ndarray
    bytes_read: np.ndarray
    bytes_written: np.ndarray


def phases_of(evidence: Evidence) -> list[Phases]:
    """The costliest routine first; each once, as it may write and read."""
    table = evidence.columns.get("routine_phases")
    if not table or not len(table["routine"]):
        return []
    routine = np.asarray(table["routine"])
    found: dict[int, Phases] = {}
    for output in routines_of(evidence).outputs:
        rows = np.flatnonzero(routine == output.routine.row)
        if len(rows):
            keys = (*(f"{key}_ns" for key in TIMES), *COUNTS)
            columns = (np.asarray(table[key], dtype=np.int64)[rows] for key in keys)
            found.setdefault(output.routine.row, Phases(output, *columns))
    return list(found.values())


def as_json(evidence: Evidence) -> list[dict[str, Any]]:
    """In order of time."""
    rows = [
        {
            "routine": printable(phases.output.routine.name[0]),
            **{f"{key}_s": to_seconds(getattr(phases, f"{key}_ns")[i]) for key in TIMES},
            **{key: int(getattr(phases, key)[i]) for key in COUNTS},
        }
        for phases in phases_of(evidence)
        for i in range(len(phases.begin_ns))
    ]
    return sorted(rows, key=lambda row: (row["begin_s"], -row["end_s"]))
