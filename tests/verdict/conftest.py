"""The planted programs, compiled once for each MPI."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT, Mpi

HERE = Path(__file__).parent
MILLISECOND = 1_000_000
MPI4PY = "4.1.2"


@pytest.fixture(scope="session")
def planted(mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Path:
    binary = tmp_path_factory.mktemp(f"planted-{mpi.name}") / "planted"
    sources = sorted(HERE.glob("planted*.c"))
    subprocess.run([mpi.mpicc, "-O1", "-pthread", "-o", binary, *sources], check=True)
    return binary


@pytest.fixture(scope="session")
def modules() -> Path:
    """mpi4py as PyPI has it, beside this Python's own packages, made once and kept in build/."""
    folder = ROOT / "build" / f"mpi4py-{MPI4PY}-modules"
    command = [sys.executable, "-m", "pip", "install", "-q", "--only-binary", ":all:", "--no-deps"]
    if not (folder / "mpi4py").is_dir():
        command += ["--target", folder, f"mpi4py=={MPI4PY}"]
        if subprocess.run(command, capture_output=True).returncode:
            pytest.skip("pip cannot install mpi4py")
    return folder


@pytest.fixture(autouse=True)
def judged_however_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a fast disk some of the programs take a few milliseconds, in the same proportions. What is
    said of short runs is tested with runs built by arithmetic."""
    monkeypatch.setattr("tailrace.verdict.headline.TOO_SHORT_NS", MILLISECOND)
