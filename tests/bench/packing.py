"""How fast raw streams become a trace. `python -m tests.bench.packing RAW TRACE` packs once in a
process of its own and prints what it took."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.bench.figure import Figure
from tests.bench.workspace import HERE, MPI, capturing, compile_program, output_of, scratch

MILLION = 1_000_000
# Of pack_loops.c: ranks and steps.
RUNS = {"pwrite": (1, 5 * MILLION), "mix": (2, 200_000), "files": (1, 200_000)}
ROUNDS = 3
EVENTS_PER_S, BYTES_PER_EVENT = 20, 4


@dataclass(frozen=True)
class Packing:
    seconds: float
    # of all threads together
    core_seconds: float
    events: int
    bytes_packed: int


def figures() -> Iterator[Figure]:
    """Streams of a loop of pwrite, of a mix of messages, collectives and writes, and of small
    files; the files they are about lie in memory."""
    with scratch() as directory, scratch("/dev/shm") as memory:
        program = compile_program(HERE / "pack_loops.c", directory, MPI.mpicc)
        for kind, (ranks, steps) in RUNS.items():
            raw = directory / kind
            command = [MPI.mpiexec, "-n", ranks, program, kind, steps, memory / "file"]
            words = [str(word) for word in command]
            output_of(words, capturing(words, raw, memory))
            best = min((pack(raw) for _ in range(ROUNDS)), key=lambda it: it.core_seconds)
            name = f"packing {best.events / MILLION:.1f} M events of {kind}"
            rate = best.events / best.core_seconds / MILLION
            bound = None if kind == "files" else EVENTS_PER_S
            yield Figure(f"{name}: per second of a core", rate, "M events/s", bound, at_least=True)
            yield Figure(f"{name}: elapsed", best.events / best.seconds / MILLION, "M events/s")
            size = best.bytes_packed / best.events
            yield Figure(f"{name}: packed", size, "bytes/event", BYTES_PER_EVENT)
            shutil.rmtree(raw)


def pack(raw: Path) -> Packing:
    command = [sys.executable, "-m", "tests.bench.packing", raw, raw.with_suffix(".tailrace")]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return Packing(**json.loads(done.stdout))


def main(raw: str, trace: str) -> None:
    from tailrace import engine

    begin, cpu_begin = time.perf_counter(), time.process_time()
    packed = engine.pack(Path(raw), Path(trace))[0]
    seconds, core_seconds = time.perf_counter() - begin, time.process_time() - cpu_begin
    answer = {
        "seconds": seconds,
        "core_seconds": core_seconds,
        "events": packed["events"],
        "bytes_packed": packed["packed_bytes"],
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main(*sys.argv[1:])
