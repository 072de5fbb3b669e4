"""Builds the exact program and its slow file system, and runs cases, with and without capture."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.conftest import Mpi
from tests.golden.cases import Case

HERE = Path(__file__).resolve().parent
SOURCES = sorted((HERE / "exact").glob("*.c"))
SERIAL_SOURCES = [
    HERE / "exact" / f"{name}.c"
    for name in ("exact", "expression", "program", "operations_posix", "waited")
]
WARNINGS = ("-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread")
SECONDS_MAX = 600


@dataclass(frozen=True)
class Account:
    """What one rank of the exact program knows about itself, in nanoseconds of CLOCK_MONOTONIC."""

    begin_ns: int
    end_ns: int
    useful_ns: int
    file_ns: int
    late_ns: int
    waited_ns: int


@dataclass(frozen=True)
class Run:
    accounts: list[Account]
    process: subprocess.CompletedProcess[str]
    directory: Path
    trace: Path | None

    @property
    def runtime_ns(self) -> int:
        """From the first rank out of MPI_Init to the last into MPI_Finalize."""
        return max(account.end_ns for account in self.accounts) - min(
            account.begin_ns for account in self.accounts
        )

    @property
    def late_ns(self) -> int:
        """How much too long the system let some rank sleep: beyond a few ms the run says nothing
        about the case."""
        return max(account.late_ns for account in self.accounts)


def compile_program(command: list[str], sources: list[Path], output: Path) -> Path:
    answer = subprocess.run(
        [*command, *map(str, sources), "-o", str(output)], capture_output=True, text=True
    )
    assert answer.returncode == 0, answer.stderr
    return output


def compile_slowfs(directory: Path) -> Path:
    command = ["cc", "-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    return compile_program(command, [HERE / "slowfs.c"], directory / "slowfs.so")


def compile_exact(mpi: Mpi | None, directory: Path) -> Path:
    """The interpreter for one MPI library, or without MPI."""
    if mpi is None:
        return compile_program(
            ["cc", *WARNINGS, "-DEXACT_SERIAL"], SERIAL_SOURCES, directory / "exact-serial"
        )
    return compile_program([mpi.mpicc, *WARNINGS], SOURCES, directory / f"exact-{mpi.name}")


def compile_fortran(mpi: Mpi, binding: int, directory: Path) -> Path:
    """The Fortran program by mpif.h (1), `use mpi` (2) or `use mpi_f08` (3)."""
    command = [mpi.mpifort, "-O1", f"-DBINDING={binding}"]
    sources = [HERE / "fortran" / "exact.F90", HERE / "exact" / "waited.c"]
    return compile_program(command, sources, directory / f"exact-fortran-{binding}")


def _prepare(case: Case, directory: Path) -> Path:
    files = directory / "files"
    files.mkdir(parents=True)
    (directory / "results").mkdir()
    for name, size in case.prepare.items():
        (files / name).write_bytes(bytes(size))
    return files


def _slow_environment(case: Case, slowfs: Path, directory: Path, files: Path) -> dict[str, str]:
    settings = case.environment | {
        "EXACT_DIRECTORY": str(files),
        "EXACT_RESULTS": str(directory / "results"),
        "LD_PRELOAD": str(slowfs),
        "SLOWFS_DIRECTORY": str(files),
        "SLOWFS_RATE": str(case.slowfs.get("rate", 10**12)),
        "SLOWFS_LATENCY": str(case.slowfs.get("latency", 0)),
    }
    if "queue" in case.slowfs:
        (directory / "queue").write_bytes(bytes(8))
        settings["SLOWFS_QUEUE"] = str(directory / "queue")
    return settings


def _accounts(directory: Path, ranks: int) -> list[Account]:
    texts = [(directory / "results" / f"rank.{rank}").read_text() for rank in range(ranks)]
    return [Account(*map(int, text.split())) for text in texts]


def find_trace(directory: Path, said: str = "") -> Path:
    """The one trace that a run left; `said`: what `tailrace run` told, for when it left none."""
    traces = list(directory.rglob("*.tailrace"))
    assert len(traces) == 1, f"{len(traces)} traces in {directory}. {said}"
    return traces[0]


def columns_of(
    mpi: Mpi, tailrace: Sequence[str], name: str, ranks: int, folder: Path
) -> dict[str, Any]:
    """Of a run of the program NAME.c beside this file, which is started in `folder`."""
    from tailrace import engine

    command = [mpi.mpicc, "-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror"]
    program = compile_program(command, [HERE / f"{name}.c"], folder / name)
    directory = folder / "run"
    done = subprocess.run(
        [*tailrace, "run", "--no-report", "-o", str(directory), "--", *mpi.launch(ranks, program)],
        cwd=folder,
        env=mpi.variables(),
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
    )
    assert done.returncode == 0, done.stderr
    return engine.analyze(find_trace(directory, done.stderr))


def run_case(
    case: Case,
    mpi: Mpi,
    program: Path,
    slowfs: Path,
    directory: Path,
    tailrace: list[str] | None = None,
) -> Run:
    """Runs a case in an empty directory; under capture where `tailrace` names the command line."""
    files = _prepare(case, directory)
    settings = _slow_environment(case, slowfs, directory, files)
    argument = case.name if "fortran" in program.name else case.path
    command = (
        [str(program), str(argument)]
        if case.ranks is None
        else mpi.launch(case.ranks, program, argument)
    )
    if tailrace:
        command = [*tailrace, "run", "-o", str(directory / "run"), "--", *command]
    process = subprocess.run(
        command,
        env=mpi.variables(**settings),
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    assert process.returncode == 0, process.stdout + process.stderr
    trace = find_trace(directory / "run", process.stderr) if tailrace else None
    return Run(_accounts(directory, case.ranks or 1), process, directory, trace)
