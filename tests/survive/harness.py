"""Runs a program bare and under capture in directories of its own, and reads what the program
counted."""

from __future__ import annotations

import hashlib
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.golden.harness import compile_program, find_trace

PROGRAMS = Path(__file__).resolve().parent / "programs"
COUNTERS, STRIDE = 64, 8
SECONDS_MAX = 600
Process = subprocess.CompletedProcess[str]


def build(compiler: str, name: str, directory: Path) -> Path:
    command = [compiler, "-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread"]
    return compile_program(command, [PROGRAMS / f"{name}.c"], directory / name)


def prepare(directory: Path) -> Path:
    """An empty place for one run's files and counters."""
    (directory / "many").mkdir(parents=True)
    (directory / "counters").write_bytes(bytes(COUNTERS * STRIDE * 8))
    return directory


def counted(directory: Path) -> list[int]:
    """Calls that each rank or thread knows to have completed."""
    return list(struct.unpack(f"<{COUNTERS * STRIDE}Q", (directory / "counters").read_bytes()))[
        ::STRIDE
    ]


def process_ids(directory: Path, ranks: int) -> list[int]:
    """Process ids of the ranks; 0 for one that has not introduced itself yet."""
    return list(struct.unpack(f"<{COUNTERS * STRIDE}Q", (directory / "counters").read_bytes()))[
        1::STRIDE
    ][:ranks]


@dataclass(frozen=True)
class Outcome:
    """What a user sees of a run."""

    status: int
    stdout: list[str]
    files: dict[str, str]


def outcome(process: subprocess.CompletedProcess[str], directory: Path) -> Outcome:
    """Lines in order of the alphabet: launchers merge the ranks' output as it comes."""
    files = {
        str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in directory.rglob("*")
        if path.is_file() and path.name != "counters"
    }
    return Outcome(process.returncode, sorted(process.stdout.splitlines()), files)


def captured(tailrace: list[str], output: Path, command: list[str], *options: str) -> list[str]:
    return [*tailrace, "run", "--no-report", "-o", str(output), *options, "--", *command]


def run(
    command: list[str], environment: dict[str, str], seconds_max: float = SECONDS_MAX
) -> Process:
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=seconds_max
    )


def columns(output: Path) -> dict:
    """The engine's columns of the trace that a run left: that they come is the test's first
    claim."""
    from tailrace import engine

    return engine.analyze(find_trace(output))


def calls(found: dict, *names: str) -> int:
    """Recorded calls of the functions of these names, over all ranks and threads."""
    functions = found["functions"]
    rows = zip(functions["name"], functions["calls"], strict=True)
    return sum(int(number) for name, number in rows if _text(name) in names)


def _text(name: str | bytes) -> str:
    return name.decode() if isinstance(name, bytes) else name


WRITES = ("pwrite", "pwrite64")


def check_nothing_lost(found: dict, known: int, in_flight: int = 0) -> None:
    """Every call that the program knows of is recorded or counted; `in_flight`: callers stopped in
    the middle."""
    recorded, lost = calls(found, *WRITES), int(found["capture"]["events_lost"])
    assert recorded + lost >= known
    assert recorded <= known + in_flight


def build_preload(directory: Path) -> Path:
    """A preload that does nothing."""
    source = directory / "nothing.c"
    source.write_text("int tailrace_test_nothing(void) { return 0; }\n")
    return compile_program(["cc", "-shared", "-fPIC"], [source], directory / "nothing.so")
