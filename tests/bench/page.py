"""How large the page of a long trace is."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

from tests.bench.fast import synthesize
from tests.bench.figure import Figure
from tests.bench.workspace import scratch

EVENTS, PAGE_MB = 10_000_000, 3


def figures() -> Iterator[Figure]:
    for kind, ranks in (("mix", 4), ("mix", 256), ("pwrite", 4)):
        with scratch() as directory:
            trace = synthesize(directory, kind, ranks, EVENTS)
            page = directory / "page.html"
            report = [sys.executable, "-m", "tailrace", "report", str(trace), "-o", str(page)]
            subprocess.run(report, check=True, stdout=subprocess.DEVNULL)
            yield Figure(
                f"page of 10 M events of {kind}, {ranks} ranks",
                page.stat().st_size / 1e6,
                "MB",
                PAGE_MB,
            )
