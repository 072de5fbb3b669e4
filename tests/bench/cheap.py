"""What capture costs: nanoseconds a call, bytes an event, and the solver's run time."""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import sys
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

CALLS = {
    "pwrite": 2_000_000,
    "MPI_Test": 1_000_000,
    "MPI_Type_size": 1_000_000,
    "os.write": 1_000_000,
}
# 10,000 files each way
FILES, FILE_BATCHES = 250, 40
PAIRS = 10
STDIO = ("fwrite", "fread", "fprintf", "fscanf", "fputs", "fgets", "putc", "getc")
STDIO_SLOWDOWN, STDIO_ADDED_NS, STDIO_ROUNDS, STDIO_RUNS = 1.15, 10, 2000, 5
ADDED_NS, COUNTED_NS, RAW_BYTES, PACKED_BYTES = 60, 5, 8, 4
SLOWDOWN, SLOWDOWN_OF_FILES, OVER_FLOOR = 1.01, 1.02, 1.5


def figures() -> Iterator[Figure]:
    with scratch() as directory, scratch("/dev/shm") as memory:
        yield from pwrite(directory, memory)
        yield from mpi_calls(directory, memory)
        yield from python_calls(directory, memory)


def stdio_figures() -> Iterator[Figure]:
    with scratch() as directory, scratch("/dev/shm") as memory:
        yield from stdio(directory, memory)


def file_figures() -> Iterator[Figure]:
    with scratch() as directory, scratch("/dev/shm") as memory:
        yield from small_files("memory", memory, directory, memory)
        yield from small_files("the disk", directory, directory, memory)


def solver_figures() -> Iterator[Figure]:
    with scratch("/dev/shm") as memory:
        yield from solver(memory)


def pwrite(directory: Path, memory: Path) -> Iterator[Figure]:
    """The streams go to memory, as the floor's records do: the disk is not what is measured."""
    program = compile_program(ROOT / "tests" / "capture" / "bench_call.c", directory)
    for target in (memory / "target", Path("/dev/null")):
        command = [
            str(program),
            str(target),
            str(CALLS["pwrite"]),
            str(PAIRS),
            str(memory / "floor"),
        ]
        raw = memory / f"raw-pwrite-{target.name}"
        answer = json.loads(output_of(command, capturing(command, raw, memory)))
        name = "pwrite to /dev/null" if target.name == "null" else "pwrite to /dev/shm"
        yield Figure(f"{name}: added by capture", answer["added_ns"], "ns a call", ADDED_NS)
        floor = f"the floor, two time stamps and 32 bytes, is {answer['floor_ns']:.1f} ns"
        yield Figure(
            f"{name}: the same over the floor", answer["added_over_floor"], "", remark=floor
        )
        yield from sizes(name, raw)


def mpi_calls(directory: Path, memory: Path) -> Iterator[Figure]:
    """A call that is recorded, and one that is only counted."""
    program = compile_program(HERE / "added_mpi.c", directory, MPI.mpicc)
    for function, bound in (("MPI_Test", ADDED_NS), ("MPI_Type_size", COUNTED_NS)):
        calls = str(CALLS[function])
        words = [function, calls, str(PAIRS), place_of(function)]
        command = [MPI.mpiexec, "-n", "1", str(program), *words]
        raw = memory / f"raw-{function}"
        without_ns, with_ns = numbers_under_capture(command, raw)
        added_ns = with_ns - without_ns
        yield Figure(f"{function}: added by capture", added_ns, "ns a call", bound)
        if function == "MPI_Test":  # in a trace all of them are one
            yield from sizes(function, raw, CALLS[function] * PAIRS)


def place_of(function: str) -> str:
    """Where in the file of MPI's library the function is, which programs under capture are not
    told."""
    (library,) = Path(MPI.mpiexec).parent.parent.glob("lib/libmpi.so.[0-9]*")
    symbols = subprocess.run(["nm", "-D", library], capture_output=True, text=True, check=True)
    places = (line.split() for line in symbols.stdout.splitlines())
    return next(words[0] for words in places if words[-1] == f"P{function}")


def python_calls(directory: Path, memory: Path) -> Iterator[Figure]:
    """os.write of a Python program, by itself and twenty functions deep, beside the floor: a
    library that does no more than every recorder must."""
    floor = directory / "floor.so"
    source = [HERE / "floor.c", "-ldl"]
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", floor, *source], check=True)
    raws = iter(range(1000))
    for depth in (1, 20):
        words = [str(HERE / "python_loop.py"), str(CALLS["os.write"]), str(depth)]
        command = [sys.executable, *words]
        preloaded = {**os.environ, "LD_PRELOAD": str(floor)}
        rounds = [
            (
                float(output_of(command)),
                float(output_of(command, preloaded)),
                *numbers_under_capture(command, memory / f"raw-python-{next(raws)}"),
            )
            for _ in range(PAIRS)
        ]
        without_ns, floor_ns, with_ns = map(min, zip(*rounds, strict=True))
        floor_ns -= without_ns
        bound = max(ADDED_NS, OVER_FLOOR * floor_ns)
        name = "os.write in Python" if depth == 1 else f"the same {depth} functions deep"
        remark = f"the floor adds {floor_ns:.0f} ns to {without_ns:.0f} ns"
        added = with_ns - without_ns
        yield Figure(f"{name}: added by capture", added, "ns a call", bound, remark=remark)


def small_files(where: str, target: Path, directory: Path, memory: Path) -> Iterator[Figure]:
    program = compile_program(HERE / "small_files.c", directory)
    place = target / "small-files"
    place.mkdir()
    command = [str(program), str(place), str(FILES), str(FILE_BATCHES)]
    raw = memory / f"raw-files-{target.name}"
    answer = output_of(command, capturing(command, raw, memory)).split()
    processor, elapsed, added_ns, floor_ns = map(float, answer)
    what = f"{FILES * FILE_BATCHES:,} small files in {where}"
    remark = f"{added_ns:,.0f} ns a file of 5 calls, whose floor is {floor_ns:,.0f} ns"
    yield Figure(f"{what}: processor time", processor, "of bare", SLOWDOWN_OF_FILES, remark=remark)
    yield Figure(f"{what}: elapsed time", elapsed, "of bare", SLOWDOWN_OF_FILES)
    yield Figure(f"{what}: added over the floor", added_ns / floor_ns, "", OVER_FLOOR)


def stdio(directory: Path, memory: Path) -> Iterator[Figure]:
    """Of fwrite the ratio is bound, of the others what is added to a call: getc without capture
    takes a nanosecond or two. In a process of several threads every FILE is locked. A program that
    has its code elsewhere in memory can be some ns quicker or slower: medians of several runs."""
    program = compile_program(HERE / "stdio_loops.c", directory)
    raws = iter(range(1000))
    for threads in (1, 2):
        for function in STDIO:
            file, rounds = str(memory / "stdio"), str(STDIO_ROUNDS)
            command = [str(program), function, file, rounds, str(threads)]
            runs = [
                numbers_under_capture(command, memory / f"raw-stdio-{next(raws)}")
                for _ in range(STDIO_RUNS)
            ]
            bare_ns, captured_ns, added_ns, lock_ns = map(
                statistics.median, zip(*runs, strict=True)
            )
            name = function if threads == 1 else f"{function} beside a thread"
            bound = STDIO_SLOWDOWN if function == "fwrite" else None
            yield Figure(f"{name}: under capture / without", captured_ns / bare_ns, "", bound)
            remark = f"the lock alone adds {lock_ns:.1f} ns" if threads > 1 else ""
            yield Figure(
                f"{name}: added by capture", added_ns, "ns a call", STDIO_ADDED_NS, remark=remark
            )


def numbers_under_capture(command: list[str], raw: Path) -> list[float]:
    """What `command` prints while it is captured into `raw`, its libraries beside that."""
    libraries = raw.with_name(f"libraries-{raw.name}")
    libraries.mkdir()
    return [float(word) for word in output_of(command, capturing(command, raw, libraries)).split()]


def sizes(what: str, raw: Path, calls: int | None = None) -> Iterator[Figure]:
    trace, summary = pack(raw)
    calls = calls or summary["events"]
    yield Figure(f"{what}: raw", bytes_in(raw) / calls, "bytes/event", RAW_BYTES)
    yield Figure(f"{what}: packed", trace.stat().st_size / calls, "bytes/event", PACKED_BYTES)


def solver(directory: Path) -> Iterator[Figure]:
    """The solver's own time from its first to its last line; both ways of writing; 2 ranks. In
    memory: a disk's own scatter is ten times what is looked for."""
    for method in ("serial", "collective"):
        times = solver_pairs(directory, method)
        yield Figure(
            f"solver, {method}: run time under capture / without",
            times.ratio_of_medians,
            "",
            SLOWDOWN,
            remark=f"quartiles of the runs without: ±{times.noise:.1%};"
            f" of minima {times.ratio_of_minima:.3f}",
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
