"""A run's steps, to be taken again with something changed.

There are none where ranks waited for a processor, which they might do elsewhere then; where other
threads use files, which are not taken again; of very many calls, since that takes long; and where
the run as it was does not come out to the nanosecond.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

from tailrace import engine
from tailrace.errors import TailraceError
from tailrace.verdict.evidence import Evidence
from tailrace.verdict.off_path import overlapped_io_ns

# Steps of so many calls are there in a moment.
MOST_EVENTS = 2_000_000
# Of the time in files, what other threads may have.
OTHERS_SHARE = 0.02


def steps_of(evidence: Evidence) -> Any:
    """None where the run cannot be taken again, or should not."""
    path = evidence.columns.get("trace")
    busy = evidence.processors is not None and evidence.processors.notable
    others_ns = overlapped_io_ns(evidence)
    if path is None or busy or others_ns > OTHERS_SHARE * int(evidence.times.io_ns.sum()):
        return None
    if int(evidence.columns["capture"]["events"]) > MOST_EVENTS:
        return None
    try:
        status = Path(path).stat()
    except OSError:  # of a run that went on there was a trace for the moment only
        return None
    version = (status.st_ino, status.st_size, status.st_mtime_ns)
    return _known(str(path), evidence.columns.get("eager_limit_bytes"), version)


@lru_cache(maxsize=1)
def _known(path: str, eager_limit_bytes: int | None, _version: tuple[int, ...]) -> Any:
    try:
        steps = engine.steps(Path(path), eager_limit_bytes)
    except TailraceError:
        return None
    is_identical = steps.replay()["runtime_ns"] == steps.runtime_ns
    return steps if is_identical else None
