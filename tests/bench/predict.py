"""How fast predictions are: changes of a long trace, and runs of many ranks that nobody made."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from tailrace.predict.change import Change
from tailrace.predict.model import named
from tailrace.predict.whatif import Run
from tests.bench.fast import MILLION, synthesize
from tests.bench.figure import Figure
from tests.bench.workspace import scratch

TAILRACE = str(Path(sys.executable).with_name("tailrace"))
EVENTS_PER_S, ALL_S = 5, 5.0
TEN_THOUSAND_S, MILLION_S, MILLION_GIB = 2.0, 60.0, 8.0
GIB = 1 << 30
# Grows with the ranks: 8 × 8 columns of each, a halo in every step, 24 outputs.
SCALE = """\
name = "scale"
description = "A grid that grows with the ranks."
program = "solver"
methods = ["serial", "collective", "independent", "aggregated", "file-per-rank"]
formats = ["posix", "mpiio"]
default_size = "all"

[solver]
grid = [{columns}, {rows}, 20]
steps = 240
every = 10
tracers = 1

[size.all]

[[output]]
name = "history"
variable = [{{ names = ["a", "b", "c", "d"], type = "float32", source = "tracer:1" }}]
"""
WAYS = (
    ("serial", "posix"),
    ("file-per-rank", "posix"),
    ("independent", "posix"),
    ("aggregated", "posix"),
    ("collective", "mpiio"),
)


def figures() -> Iterator[Figure]:
    with scratch() as directory:
        for kind in ("pwrite", "mix"):
            yield from _changes(synthesize(directory, kind, ranks=4, events=MILLION))
        for ranks, bound in ((10_000, TEN_THOUSAND_S), (MILLION, MILLION_S)):
            yield from _simulated(directory, ranks, bound)


def _changes(trace: Path) -> Iterator[Figure]:
    name = f"1 M events of {trace.stem}, 4 ranks"
    run, change = Run(trace), Change(target=named(Path("lustre")), cache="cold")
    run._replay(change)
    begin = time.process_time()
    run._replay(change)
    per_s = 1 / (time.process_time() - begin)
    yield Figure(
        f"{name}: taken again on lustre", per_s, "M events/s", EVENTS_PER_S, at_least=True,
        remark="per second of a core",
    )  # fmt: skip
    command = [TAILRACE, "whatif", str(trace), "--target", "lustre", "--all"]
    seconds, _ = _timed(command)
    yield Figure(f"{name}: whatif --all --target lustre", seconds, "s", ALL_S)


def _simulated(directory: Path, ranks: int, bound_s: float) -> Iterator[Figure]:
    width = 1 << (ranks.bit_length() // 2)
    workload = directory / "scale.toml"
    workload.write_text(SCALE.format(columns=8 * width, rows=8 * -(-ranks // width)))
    for method, file_format in WAYS:
        command = [TAILRACE, "simulate", str(workload), "--ranks", str(ranks), "--json"]
        command += ["--method", method, "--format", file_format, "--target", "lustre"]
        seconds, gib = _timed([*command, "--step-seconds", "0.1"])
        yield Figure(
            f"{ranks:,} ranks simulated, {method} {file_format}", seconds, "s", bound_s,
            remark=f"{gib:.2f} GiB of at most {MILLION_GIB:g}",
        )  # fmt: skip


# Prints what its command took and kept, as a child of its own, so that each has its own peak.
MEASURE = """
import json, resource, subprocess, sys, time
begin = time.perf_counter()
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([time.perf_counter() - begin, usage.ru_maxrss * 1024]))
"""


def _timed(command: Sequence[str]) -> tuple[float, float]:
    """Seconds by the clock, and the peak of memory, GiB."""
    measured = [sys.executable, "-c", MEASURE, *command]
    done = subprocess.run(measured, check=True, stdout=subprocess.PIPE, text=True)
    seconds, peak_bytes = json.loads(done.stdout)
    return seconds, peak_bytes / GIB
