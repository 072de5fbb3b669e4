"""What a person waits for: a report of a small trace, and what `tailrace run` adds to a program
that takes no time of its own."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from tests.bench.figure import Figure
from tests.bench.workspace import scratch
from tests.processes import said_on_a_terminal

ROUNDS = 15
REPORT_S, ADDED_S = 0.3, 0.15
PROGRAM = ["dd", "if=/dev/zero", "of=zeros", "bs=4096", "count=100", "status=none"]
TAILRACE = [str(Path(sys.executable).with_name("tailrace"))]


def figures() -> Iterator[Figure]:
    with scratch() as directory:
        added: dict[str, list[float]] = {
            way: [] for way in ("--no-report", "verdict", "--report", "terminal")
        }
        for way in ("--no-report", "--report"):
            _seconds(_run(way), directory)  # capture is compiled
        for _ in range(ROUNDS):
            bare = _seconds(PROGRAM, directory)
            added["--no-report"].append(_seconds(_run("--no-report"), directory) - bare)
            added["--report"].append(_seconds(_run("--report"), directory) - bare)
            added["verdict"].append(_first_line(_run("--report"), directory) - bare)
            added["terminal"].append(_watched_seconds(_run("--report"), directory) - bare)
        trace = str(next((directory / "traces").glob("*.tailrace")))
        reports = [_seconds([*TAILRACE, "report", trace], directory) for _ in range(ROUNDS)]
        least = [_seconds([sys.executable, "-c", "pass"], directory) for _ in range(ROUNDS)]
    for what, way, bound in (
        ("added by tailrace run --no-report", "--no-report", ADDED_S),
        ("added by tailrace run, until the verdict is read", "verdict", None),
        ("added by tailrace run, verdict and page included", "--report", ADDED_S),
        ("the same on a terminal", "terminal", ADDED_S),
    ):
        yield Figure(what, statistics.median(added[way]), "s", bound)
    yield Figure("tailrace report of a small trace", statistics.median(reports), "s", REPORT_S)
    yield Figure("of each, Python itself", statistics.median(least), "s")


def _run(way: str) -> list[str]:
    return [*TAILRACE, "run", way, "-o", "traces", "--", *PROGRAM]


def _environment(directory: Path) -> dict[str, str]:
    """Modules are kept compiled, as pip keeps those of an installed package."""
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPYCACHEPREFIX": str(directory / "compiled")}


def _seconds(command: list[str], directory: Path) -> float:
    environment = _environment(directory)
    begin = time.perf_counter()
    subprocess.run(command, cwd=directory, check=True, capture_output=True, env=environment)
    return time.perf_counter() - begin


def _watched_seconds(command: list[str], directory: Path) -> float:
    """On a terminal, where a bar would be shown of what takes long."""
    begin = time.perf_counter()
    said_on_a_terminal(command, cwd=directory, env=_environment(directory))
    return time.perf_counter() - begin


def _first_line(command: list[str], directory: Path) -> float:
    environment = _environment(directory)
    begin = time.perf_counter()
    with subprocess.Popen(
        command, cwd=directory, stderr=subprocess.PIPE, env=environment
    ) as process:
        assert process.stderr is not None
        process.stderr.readline()
        return time.perf_counter() - begin
