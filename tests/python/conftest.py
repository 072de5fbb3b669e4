"""Columns made by arithmetic stand in for the engine in the tests of the Python side, under names
like a trace's."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailrace import engine

from .bench_runs import bench, built  # noqa: F401
from .columns import MILLISECOND, SECOND, Program, mpi, useful, write


class TraceError(Exception):
    """As the compiled engine's: (message, hint)."""


class ArithmeticEngine:
    """Answers `analyze` with the columns registered for a path, which it never reads."""

    TraceError = TraceError

    def __init__(self) -> None:
        self.programs: dict[str, Program] = {}

    def analyze(self, path: str, **_options: object) -> dict:
        if path not in self.programs:
            raise TraceError(f"{path}: not a trace", "give a .tailrace")
        return self.programs[path].columns()

    def Steps(self, path: str, **_options: object) -> object:  # noqa: N802
        """There are columns and no calls, so that nothing can be taken again."""
        raise TraceError(f"{path}: has no calls", "record a run")


@pytest.fixture
def arithmetic(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """A function that files a Program under a name and returns the path that `tailrace report` can
    be given."""
    stand_in = ArithmeticEngine()
    monkeypatch.setattr(engine, "_engine", lambda: stand_in)

    def register(name: str, program: Program) -> Path:
        path = tmp_path / name
        path.write_bytes(b"stands in for a trace")
        stand_in.programs[str(path)] = program
        return path

    register.stand_in = stand_in
    return register


@pytest.fixture
def master() -> Program:
    return serial_master(4)


def serial_master(ranks: int, work_ns: int = SECOND, write_ns: int = 750 * MILLISECOND) -> Program:
    """Ten steps of `work_ns` on every rank, after each rank 0 writes 200 MB in 20 requests while
    the others wait.

    No transfers, so T_net = T; spread over P ranks each write takes 1/P of its time; without it
    only the work is left.
    """
    step = [useful(work_ns), write(write_ns, size=200_000_000, calls=20)]
    wait = [useful(work_ns), mpi(write_ns, "MPI_Bcast")]
    everything, work = 10 * (work_ns + write_ns), 10 * work_ns
    return Program(
        [step * 10, *([wait * 10] * (ranks - 1))], everything, work + 10 * write_ns // ranks, work
    )
