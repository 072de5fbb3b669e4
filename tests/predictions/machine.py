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
# Of a round trip, beside what it takes by itself; these beds stand in a directory of their own.
FAR_LATENCY = "2ms"
FAR_DIRECTORY = ROOT / "build" / "testbed-far"
# Of all processors, what others may use for a run to count.
MOST_LOAD = 0.15
PROBE_S = 0.15
PATIENCE_S = 1800.0
LONGEST_RUN_S = 300.0
NODES = 8


@dataclass(frozen=True)
class Bed:
    """A file system behind links of a rate and, if they are to have one, a latency."""

    bed: str
    directory: Path
    environment: tuple[tuple[str, str], ...]
    is_what: str
    rate: str = RATE
    latency: str = ""

    @property
    def is_slow(self) -> bool:
        return self.rate == SLOW_RATE

    @property
    def has_other_link(self) -> bool:
        return self.is_slow or bool(self.latency)

    @property
    def name(self) -> str:
        other = self.latency or self.rate
        return f"{self.bed} at {other}" if self.has_other_link else self.bed

    @property
    def links(self) -> str:
        """What they are, in words."""
        return f"{self.rate} and {self.latency}" if self.latency else self.rate


def beds(names: list[str], slow: list[str], far: list[str], on_nodes: bool) -> list[Bed]:
    """Brings them up, and the nodes of a cluster where cases are to run there. `slow` and `far`:
    which of them are also measured with slower links, and with longer ones."""
    cluster = (CLUSTER, "--nodes", str(NODES)) if on_nodes else ()
    found = [_bed(each) for each in _up([*names, *cluster], RATE) if each["name"] != CLUSTER]
    away = ("--latency", FAR_LATENCY, "--directory", str(FAR_DIRECTORY))
    farther = [_bed(each) for each in (_up([*far, *away], RATE) if far else [])]
    return [
        *found,
        *(replace(bed, rate=SLOW_RATE) for bed in found if bed.bed in slow),
        *(replace(bed, latency=FAR_LATENCY) for bed in farther),
    ]


def _bed(up: Mapping[str, Any]) -> Bed:
    environment = tuple(up.get("environment", {}).items())
    return Bed(up["name"], Path(up["mounts"][0]), environment, up["file_system"])


def _up(words: list[str], rate: str) -> list[dict[str, Any]]:
    """Beds that are up get links of that rate."""
    command = [sys.executable, str(ROOT / "testbed" / "testbed"), "up", *words]
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
    """Writes the model, with nothing else beside it; its held-out error."""
    quiet(time.monotonic() + PATIENCE_S)
    with links(bed):
        return calibrated(bed.directory, bed.name, budget, seed, model)


def calibrated(directory: Path, name: str, budget: str, seed: int, model: Path) -> dict[str, float]:
    """Writes the model; its held-out error."""
    command = [TAILRACE, "calibrate", directory, "-o", model, "--name", name, "--json"]
    command += ["--budget", budget, "--seed", str(seed)]
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
