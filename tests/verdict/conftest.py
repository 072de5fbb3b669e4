"""The planted programs, compiled once for each MPI."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.conftest import Mpi

HERE = Path(__file__).parent
MILLISECOND = 1_000_000


@pytest.fixture(scope="session")
def planted(mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Path:
    binary = tmp_path_factory.mktemp(f"planted-{mpi.name}") / "planted"
    sources = sorted(HERE.glob("planted*.c"))
    subprocess.run([mpi.mpicc, "-O1", "-pthread", "-o", binary, *sources], check=True)
    return binary


@pytest.fixture(autouse=True)
def judged_however_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a fast disk some of the programs take a few milliseconds, in the same proportions. What is
    said of short runs is tested with runs built by arithmetic."""
    monkeypatch.setattr("tailrace.verdict.headline.TOO_SHORT_NS", MILLISECOND)
