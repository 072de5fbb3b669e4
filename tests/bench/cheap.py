"""What capture costs: nanoseconds a call, bytes an event, and the solver's run time."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from tests.bench.figure import Figure, Pairs, interleaved
from tests.bench.workspace import (
    HERE,
    MPI,
    ROOT,
    SOLVER,
    bytes_in,
    capturing,
    compile_program,
    output_of,
    pack,
    scratch,
)

CALLS = {"pwrite": 2_000_000, "MPI_Test": 1_000_000}
PAIRS = 10
ADDED_NS, RAW_BYTES, PACKED_BYTES, SLOWDOWN = 60, 8, 4, 1.01


def figures() -> Iterator[Figure]:
    with scratch() as directory, scratch("/dev/shm") as memory:
        yield from pwrite(directory, memory)
        yield from mpi_test(directory, memory)


def solver_figures() -> Iterator[Figure]:
    with scratch("/dev/shm") as memory:
        yield from solver(memory)


def pwrite(directory: Path, memory: Path) -> Iterator[Figure]:
    """The streams go to memory, as the floor's records do: the disk is not what is measured."""
    program = compile_program(ROOT / "tests" / "capture" / "bench_call.c", directory)
    for target in (memory / "target", Path("/dev/null")):
        command = [str(program), str(target), str(CALLS["pwrite"]), str(PAIRS), str(memory / "floor")]
        raw = memory / f"raw-pwrite-{target.name}"
        answer = json.loads(output_of(command, capturing(command, raw, memory)))
        name = "pwrite to /dev/null" if target.name == "null" else "pwrite to /dev/shm"
        yield Figure(f"{name}: added by capture", answer["added_ns"], "ns a call", ADDED_NS)
        floor = f"the floor, two time stamps and 32 bytes, is {answer['floor_ns']:.1f} ns"
        yield Figure(f"{name}: the same over the floor", answer["added_over_floor"], "", remark=floor)
        yield from sizes(name, raw)


def mpi_test(directory: Path, memory: Path) -> Iterator[Figure]:
    program = compile_program(HERE / "added_mpi.c", directory, MPI.mpicc)
    command = [MPI.mpiexec, "-n", "1", str(program), str(CALLS["MPI_Test"]), str(PAIRS)]
    raw = memory / "raw-mpi-test"
    without_ns, with_ns = map(float, output_of(command, capturing(command, raw, memory)).split())
    yield Figure("MPI_Test: added by capture", with_ns - without_ns, "ns a call", ADDED_NS)
    yield from sizes("MPI_Test", raw)


def sizes(what: str, raw: Path) -> Iterator[Figure]:
    trace, summary = pack(raw)
    yield Figure(f"{what}: raw", bytes_in(raw) / summary["events"], "bytes/event", RAW_BYTES)
    yield Figure(f"{what}: packed", trace.stat().st_size / summary["events"], "bytes/event", PACKED_BYTES)


def solver(directory: Path) -> Iterator[Figure]:
    """The solver's own time from its first to its last line; both ways of writing; 2 ranks. In memory: a disk's own
    scatter is ten times what is looked for."""
    for method in ("serial", "collective"):
        times = solver_pairs(directory, method)
        yield Figure(
            f"solver, {method}: run time under capture / without",
            times.ratio_of_medians,
            "",
            SLOWDOWN,
            remark=f"quartiles of the runs without: ±{times.noise:.1%}; of minima {times.ratio_of_minima:.3f}",
        )


def solver_pairs(directory: Path, method: str) -> Pairs:
    options = ["--grid", "128x128x16", "--variables", "4", "--steps", "2000", "--every", "200"]
    program = [str(SOLVER), *options, "--method", method, "--file", str(directory / "history")]
    command = MPI.launch(2, *program)
    raws = iter(range(1000))

    def seconds(environment: dict[str, str] | None) -> float:
        return float(re.search(r"([\d.]+) s in all", output_of(command, environment))[1])

    def under_capture() -> float:
        number = next(raws)
        scratch_libraries = directory / f"libraries-{method}-{number}"
        scratch_libraries.mkdir()
        return seconds(capturing(command, directory / f"raw-{method}-{number}", scratch_libraries))

    return interleaved(PAIRS, lambda: seconds(None), under_capture)
