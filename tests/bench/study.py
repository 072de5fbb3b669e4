"""What the runner of studies adds to a run, and how long a report of many runs takes."""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from tests.bench.figure import Figure
from tests.bench.workspace import scratch

FEW, MANY = 20, 220
ADDED_MS, REPORT_S, REPORT_RUNS = 50, 10, 10_000
RESPONSES = (
    "user_s",
    "system_s",
    "create_s",
    "write_s",
    "read_s",
    "close_s",
    "output_s",
    "input_s",
    "compute_s",
)
RESPONSES += (
    "write_rate_mb_per_s",
    "efficiency_io",
    "efficiency_serialization",
    "pop_serialization",
)

# As many combinations as CMAQ's study has, of a program that does nothing.
STUDY = """\
schema = 1
name = "nothing"
description = "A program that does nothing."
repetitions = 1
[run]
command = ["true"]
launcher = "none"
[factor.ranks]
levels = [1, 2, 3, 4, 6, 8]
[factor.size]
kind = "placeholder"
levels = ["small", "large"]
[factor.target]
kind = "placeholder"
levels = ["local", "remote"]
[factor.from_where]
levels = ["local", "remote"]
"""
ONE = """\
schema = 1
name = "one"
description = "One combination of a program that does nothing."
[run]
command = ["true"]
launcher = "none"
[factor.none]
levels = ["none"]
"""


def figures() -> Iterator[Figure]:
    with scratch() as directory:
        yield added_by_the_runner(directory)
        yield from report_of_many(directory)


def added_by_the_runner(directory: Path) -> Figure:
    """Two studies that differ in the number of runs: what both cost once falls out. The runs' own
    time is taken off."""
    (whole_few, runs_few), (whole_many, runs_many) = (
        repeated(directory, count) for count in (FEW, MANY)
    )
    added_s = (whole_many - whole_few - (runs_many - runs_few)) / (MANY - FEW)
    return Figure("added by the runner to a run", added_s * 1e3, "ms", ADDED_MS)


def repeated(directory: Path, count: int) -> tuple[float, float]:
    """Seconds of a study of so many runs, and of its runs."""
    (directory / "one.toml").write_text(ONE)
    where = directory / f"runs-{count}"
    begun = time.monotonic()
    tailrace(
        "run", directory / "one.toml", "-o", where, "--set", f"repetitions={count}", "--no-report"
    )
    whole = time.monotonic() - begun
    return whole, sum(
        json.loads(line)["numbers"]["elapsed_s"] for line in (where / "runs.jsonl").open()
    )


def report_of_many(directory: Path) -> Iterator[Figure]:
    """One block is run; the others are its lines again, with made-up times."""
    (directory / "nothing.toml").write_text(STUDY)
    where = directory / "many"
    tailrace("run", directory / "nothing.toml", "-o", where, "--no-report")
    lines = [json.loads(line) for line in (where / "runs.jsonl").open()]
    with (where / "runs.jsonl").open("w") as file:
        for block in range(-(-REPORT_RUNS // len(lines))):
            file.writelines(json.dumps(made_up(line, block, len(lines))) + "\n" for line in lines)
    used, begun = processor_s(), time.monotonic()
    tailrace("report", where, "-o", where / "page.html")
    yield Figure(
        f"report and page of {REPORT_RUNS:,} runs", time.monotonic() - begun, "s", REPORT_S
    )
    yield Figure("the same, processor time", processor_s() - used, "s")


def made_up(line: dict, block: int, cells: int) -> dict:
    chance = random.Random(f"{block} {line['run']}")
    elapsed = (2 + line["levels"]["ranks"] ** 0.5) * chance.lognormvariate(0, 0.05)
    numbers = {name: elapsed * chance.uniform(0.1, 0.2) for name in RESPONSES} | {
        "elapsed_s": elapsed
    }
    run = block * cells + line["run"]
    return line | {"run": run, "block": block, "order": run, "numbers": line["numbers"] | numbers}


def processor_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def tailrace(*words: str | Path) -> None:
    command = [sys.executable, "-m", "tailrace", "study", *map(str, words)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
