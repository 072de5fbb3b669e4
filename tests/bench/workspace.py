"""Programs and directories of the benchmark, and runs under capture whose raw streams can be
weighed."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tailrace import engine
from tailrace.capture import libraries
from tailrace.capture.environment import CaptureOptions, Place, capture_environment
from tailrace.capture.launch import read_command
from tailrace.capture.mpi import for_command
from tests.conftest import ROOT, find_mpi

HERE = Path(__file__).resolve().parent
SOLVER = ROOT / "build" / "solver" / "mpich" / "solver"
MPI = find_mpi("mpich")


@contextmanager
def scratch(parent: str | None = None) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="tailrace-bench-", dir=parent) as directory:
        yield Path(directory)


def compile_program(source: Path, directory: Path, compiler: str = "cc") -> Path:
    program = directory / source.stem
    subprocess.run([compiler, "-O2", "-o", program, source, "-ldl"], check=True)
    return program


def capturing(command: list[str], raw: Path, libraries_parent: Path) -> dict[str, str]:
    """The environment in which `command` is captured into `raw`, as `tailrace run` would set it."""
    raw.mkdir()
    launch = read_command(command)
    prepared = libraries.prepare(for_command(launch), lambda sentence: None)
    place = Place(raw.parent, raw, raw.parent / "trace")
    preload = libraries.preloadable(prepared, libraries_parent)
    return {
        **os.environ,
        **capture_environment(command, launch, CaptureOptions(directory=raw), place, preload),
    }


def output_of(command: list[str], environment: dict[str, str] | None = None) -> str:
    run = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return run.stdout


def bytes_in(directory: Path) -> int:
    return sum(stream.stat().st_size for stream in directory.glob("*.stream"))


def pack(raw: Path) -> tuple[Path, dict]:
    """The packed trace, and what the packer says of it."""
    trace = raw.parent / f"{raw.name}.tailrace"
    return trace, engine.pack(raw, trace)[0]


def cargo_example(package: str, example: str, *words: str) -> str:
    command = [
        "cargo",
        "run",
        "--quiet",
        "--release",
        "-p",
        package,
        "--example",
        example,
        "--",
        *words,
    ]
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
