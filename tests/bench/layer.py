"""What the output layer costs beside the same writes by MPI-IO alone, where aggregated is the
fastest method, and how much memory a rank needs."""

from __future__ import annotations

import statistics
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.bench.figure import Figure
from tests.bench.workspace import HERE, MPI, output_of, scratch

AS_FAST_AS_BARE = 0.97
PAIRS, ROUNDS = 20, 10
MIB = 1 << 20

# A large step, and one so small that the calls count: z x y x x x steps, of double.
GRIDS = {"8 MiB a step": "8x512x256x20", "64 KiB a step": "4x64x32x200"}
# A rank's rows of a tile are what a file gets in one piece without any exchange.
AGGREGATED = {
    "rows of 256 bytes, in memory": "64x512x64x4",
    "rows of 256 bytes, disk, synced": "64x512x64x4s",
    "rows of 4 KiB, in memory": "16x256x1024x4",
    "rows of 4 KiB, disk, synced": "16x256x1024x4s",
}
WAYS = ("aggregated/posix/writers=2", "serial/posix", "independent/posix", "collective/mpiio")
METHODS_RANKS = 4
BUFFER_BYTES = 4 * MIB
MEMORY_GRID = "16x1024x1024x3"  # 128 MiB in all, 32 MiB a rank


def figures() -> Iterator[Figure]:
    with scratch() as directory, scratch("/dev/shm") as memory:
        program = build(directory)
        yield from beside_bare(program, memory)
        yield from methods(program, directory, memory)
        yield from memory_of_a_rank(program, memory)


def build(directory: Path) -> Path:
    configure = ["cmake", "-S", HERE, "-B", directory / "build", f"-DCMAKE_C_COMPILER={MPI.mpicc}"]
    for command in (configure, ["cmake", "--build", directory / "build", "--parallel", "2"]):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return directory / "build" / "layer_loops"


def numbers(program: Path, ranks: int, *words: str | Path) -> list[list[float]]:
    """The rows that the program prints."""
    lines = output_of(
        MPI.launch(ranks, str(program), *map(str, words)), MPI.variables()
    ).splitlines()
    return [[float(word) for word in line.split()] for line in lines]


def beside_bare(program: Path, memory: Path) -> Iterator[Figure]:
    """In memory: a disk's own scatter is ten times what is looked for."""
    for method in ("collective", "independent"):
        for name, grid in GRIDS.items():
            rows = numbers(program, 2, "bare", method, memory / "file", str(PAIRS), grid)
            writes = statistics.median(row[0] / row[1] for row in rows)
            whole = statistics.median(row[2] / row[3] for row in rows)
            remark = f"with open and close {whole:.3f}"
            yield Figure(
                f"{method}, {name}: rate of MPI-IO alone", writes, "", AS_FAST_AS_BARE, True, remark
            )


def methods(program: Path, directory: Path, memory: Path) -> Iterator[Figure]:
    for name, grid in AGGREGATED.items():
        path = (directory if "disk" in name else memory) / "file"
        rows = numbers(program, METHODS_RANKS, "methods", path, str(ROUNDS), grid, *WAYS)
        aggregated = statistics.median(row[0] for row in rows)
        yield Figure(
            f"aggregated (2 writers of {METHODS_RANKS} ranks), {name}", aggregated * 1e3, "ms"
        )
        for column, way in enumerate(WAYS[1:], 1):
            ratio = statistics.median(row[column] / row[0] for row in rows)
            yield Figure(f"    {way.split('/')[0]} over aggregated", ratio, "")


def memory_of_a_rank(program: Path, memory: Path) -> Iterator[Figure]:
    """Beyond its block: the stated buffer, or in the serial master one variable."""
    ways = {
        f"aggregated/mpiio/buffer_bytes={BUFFER_BYTES}": BUFFER_BYTES,
        "serial/posix": 128 * MIB,
        "independent/posix": 0,
    }
    for way, stated in ways.items():
        ((grown,),) = numbers(program, 4, "memory", memory / "file", MEMORY_GRID, way)
        yield Figure(
            f"{way.split('/')[0]}: the largest rank grew by",
            grown / MIB,
            "MiB",
            None,
            remark=f"stated: {stated / MIB:.0f}",
        )
