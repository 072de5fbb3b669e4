"""The planted programs, compiled once for each MPI."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.conftest import Mpi

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def planted(mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Path:
    binary = tmp_path_factory.mktemp(f"planted-{mpi.name}") / "planted"
    sources = sorted(HERE.glob("planted*.c"))
    subprocess.run([mpi.mpicc, "-O1", "-pthread", "-o", binary, *sources], check=True)
    return binary
