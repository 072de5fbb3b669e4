"""Reads one trace in a process of its own and prints what it took: `python -m tests.bench.reading
TRACE THREADS`."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

KIB = 1024


@dataclass(frozen=True)
class Reading:
    seconds: float
    # of all threads together: what "a second of a core" means, however busy the machine is
    core_seconds: float
    events: int
    peak_bytes: int  # of the whole process, the pages of the mapped trace included

    @property
    def events_per_s(self) -> float:
        return self.events / self.seconds

    @property
    def events_per_core_s(self) -> float:
        return self.events / self.core_seconds


def read(trace: Path, threads: int = 0) -> Reading:
    """The second of two readings, from the page cache."""
    command = [sys.executable, "-m", "tests.bench.reading", str(trace), str(threads)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return Reading(
        **json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    )


def main(trace: str, threads: str) -> None:
    from tailrace import engine

    begin, cpu_begin = time.perf_counter(), time.process_time()
    columns = engine.analyze(trace, threads=int(threads))
    seconds, core_seconds = time.perf_counter() - begin, time.process_time() - cpu_begin
    peak_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * KIB
    events = int(columns["capture"]["events"])
    answer = {
        "seconds": seconds,
        "core_seconds": core_seconds,
        "events": events,
        "peak_bytes": peak_bytes,
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main(*sys.argv[1:])
