"""What a person waits for: a report of a small trace, and what `tailrace run` adds to a program
that takes no time of its own."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from tests.bench.figure import Figure
from tests.bench.workspace import scratch

ROUNDS = 15
REPORT_S, ADDED_S = 0.3, 0.15
PROGRAM = ["dd", "if=/dev/zero", "of=zeros", "bs=4096", "count=100", "status=none"]


def figures() -> Iterator[Figure]:
    with scratch() as directory:
        run = [sys.executable, "-m", "tailrace", "run", "-o", "traces", "--"]
        _seconds([*run, *PROGRAM], directory)  # capture is compiled
        added = [
            _seconds([*run, *PROGRAM], directory) - _seconds(PROGRAM, directory)
            for _ in range(ROUNDS)
        ]
        trace = str(next((directory / "traces").glob("*.tailrace")))
        report = [sys.executable, "-m", "tailrace", "report", trace]
        reports = [_seconds(report, directory) for _ in range(ROUNDS)]
    yield Figure(
        "added by tailrace run, verdict and page included", statistics.median(added), "s", ADDED_S
    )
    yield Figure("tailrace report of a small trace", statistics.median(reports), "s", REPORT_S)


def _seconds(command: list[str], directory: Path) -> float:
    begin = time.perf_counter()
    subprocess.run(command, cwd=directory, check=True, capture_output=True)
    return time.perf_counter() - begin
