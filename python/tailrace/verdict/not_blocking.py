"""Waits for reads and writes of MPI-IO that do not block, where the library makes them beside the
program: the time is in MPI_Wait and its like, and in no call on the file."""

import numpy as np

from tailrace.units import NANOSECONDS_PER_SECOND, byte_count, count, percent, rate
from tailrace.verdict.cause import CAUSE_SHARE, Cause, only_row, where_of
from tailrace.verdict.evidence import Evidence, Kind
from tailrace.verdict.requests import MPIIO_CALL, moved_column


def waits_for_requests(evidence: Evidence) -> Cause | None:
    """That they have most of the I/O time, whatever else is done to the files."""
    waited_ns = evidence.io_time_ns - evidence.use.time_ns()
    if waited_ns < CAUSE_SHARE * max(evidence.io_time_ns, 1):
        return None
    functions = evidence.columns["functions"]
    table = zip(map(str, functions["name"]), functions["calls"], functions["bytes"], strict=True)
    begun = [
        (int(size), int(calls), name, match["kind"])
        for name, calls, size in table
        if (match := MPIIO_CALL.match(name)) and match["begins"]
    ]
    if not begun:
        return None
    size, calls, name, kind = max(begun)
    rows = np.flatnonzero(np.asarray(evidence.files[f"mpiio_{moved_column(kind)}"]) > 0)
    where = f" ({where_of(evidence, rows)})" if len(rows) else ""
    part = percent(waited_ns / evidence.io_time_ns)
    text = f"waiting for {count(calls, 'call')} of {name}{where} takes {part} of the I/O time"
    speed = rate(size * NANOSECONDS_PER_SECOND / waited_ns)
    each = " a rank" if evidence.ranks > 1 else ""
    done = "read" if kind == "read" else "written"
    facts = f"{byte_count(size)} are {done}, at {speed}{each} while they are waited for"
    return Cause(Kind.SLOW_FILE_SYSTEM, text, facts, only_row(rows), (name,), "not blocking")
