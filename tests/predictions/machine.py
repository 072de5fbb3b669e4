"""The machine: its beds, calibrated, what a case takes on one of them, and whether anything else
ran meanwhile."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import tailrace
from tailrace.bench import launcher
from tailrace.bench.placement import Placement
from tailrace.study.running.placing import CLUSTER, nodes
from tailrace.units import to_seconds

from ..conftest import ROOT
from .cases import Case

TAILRACE = str(Path(sys.executable).with_name("tailrace"))
RATE = "100mbit"
SLOW_RATE = "50mbit"
# Of all processors, what others may use for a run to count.
MOST_LOAD = 0.15
PROBE_S = 0.15
PATIENCE_S = 1800.0
LONGEST_RUN_S = 300.0
NODES = 8


@dataclass(frozen=True)
class Bed:
    """A file system behind links of a rate."""

    bed: str
    directory: Path
    environment: tuple[tuple[str, str], ...]
    is_what: str
    rate: str = RATE

    @property
    def is_slow(self) -> bool:
        return self.rate == SLOW_RATE

    @property
    def name(self) -> str:
        return f"{self.bed} at {self.rate}" if self.is_slow else self.bed


def beds(names: list[str], slow: list[str], on_nodes: bool) -> list[Bed]:
    """Brings them up, and the nodes of a cluster where cases are to run there. `slow`: which of
    them are also measured with slower links."""
    cluster = (CLUSTER, "--nodes", str(NODES)) if on_nodes else ()
    up = _up([*names, *cluster], RATE)
    found = [
        Bed(
            each["name"],
            Path(each["mounts"][0]),
            tuple(each.get("environment", {}).items()),
            each["file_system"],
        )
        for each in up
        if each["name"] != CLUSTER
    ]
    return [*found, *(replace(bed, rate=SLOW_RATE) for bed in found if bed.bed in slow)]


def _up(names: list[str], rate: str) -> list[dict[str, Any]]:
    """Beds that are up get links of that rate."""
    command = [sys.executable, str(ROOT / "testbed" / "testbed"), "up", *names]
    command += ["--rate", rate, "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit("the test bed did not come up: its own words stand above")
    up: list[dict[str, Any]] = json.loads(done.stdout)["beds"]
    return up


@contextmanager
def links(bed: Bed) -> Iterator[None]:
    """Of the bed's rate."""
    if not bed.is_slow:
        yield
        return
    _up([bed.bed], bed.rate)
    try:
        yield
    finally:
        _up([bed.bed], RATE)


def calibrate(bed: Bed, budget: str, seed: int, model: Path) -> dict[str, float]:
    """Writes the model; its held-out error."""
    command = [TAILRACE, "calibrate", str(bed.directory), "-o", str(model), "--name", bed.name]
    command += ["--budget", budget, "--seed", str(seed), "--json"]
    quiet(time.monotonic() + PATIENCE_S)
    with links(bed):
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    errors: dict[str, float] = json.loads(done.stdout)["held_out"]
    return errors


@dataclass(frozen=True)
class Recorded:
    trace: Path
    elapsed_s: float


def record(case: Case, bed: Bed, into: Path) -> Recorded:
    """One run, with nothing else beside it; its trace lies in `into`. Raises TimeoutError."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        before = quiet(deadline)
        with links(bed):
            found = _run(case, bed, into)
        load = max(before, others())
        if load <= MOST_LOAD:
            return Recorded(found, to_seconds(tailrace.open(found).times.runtime_ns))
        print(f"{case.name} on {bed.name}: again, others used {load:.0%}", file=sys.stderr)


def _run(case: Case, bed: Bed, into: Path) -> Path:
    place = Path(tempfile.mkdtemp(dir=into, prefix=f"{bed.name}-"))
    launched, environment = _launched(case)
    done = subprocess.run(
        [TAILRACE, "bench", *case.options(), "--dir", bed.directory, "--capture", *launched],
        cwd=place,
        env={**os.environ, **dict(bed.environment), **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        timeout=LONGEST_RUN_S,
    )
    if done.returncode:
        raise RuntimeError(f"{case.name} on {bed.name} failed:\n{done.stderr}")
    (trace,) = place.rglob("*.tailrace")
    return trace


def _launched(case: Case) -> tuple[list[str], Mapping[str, str]]:
    """On nodes: the launcher that starts ranks there, and what it reads."""
    if not case.nodes:
        return [], {}
    placement = Placement(case.nodes, case.ranks_per_node, nodes(()))
    found = launcher.find(None)
    words = placement.launcher(found.words, found.mpi.soname)
    return ["--mpiexec", shlex.join(words)], placement.environment()


def quiet(deadline: float) -> float:
    """Waits until nothing else runs; what others use then. Raises TimeoutError."""
    while (load := others()) > MOST_LOAD:
        if time.monotonic() > deadline:
            raise TimeoutError(f"others use {load:.0%} of the processors")
        time.sleep(1)
    return load


def others() -> float:
    """What is used of all processors while this process sleeps."""
    begin = _busy()
    time.sleep(PROBE_S)
    return (_busy() - begin) / (PROBE_S * (os.cpu_count() or 1))


def _busy() -> float:
    """Seconds of all processors: all but idle, waiting for I/O, and guests counted twice."""
    user, nice, system, _, _, interrupt, soft, steal = map(
        int, Path("/proc/stat").read_text().splitlines()[0].split()[1:9]
    )
    ticks = user + nice + system + interrupt + soft + steal
    return ticks / os.sysconf("SC_CLK_TCK")
