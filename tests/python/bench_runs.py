"""`tailrace bench` by Debian's Open MPI, whose libraries the formats need: what the tests of it
share."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tailrace.bench import kernels, launcher
from tailrace.bench.kernels import Kernels
from tailrace.cli import cli

from ..conftest import ROOT, find_mpi

CACHE = ROOT / "build" / "bench-cache"


@dataclass(frozen=True)
class Bench:
    """Runs workloads below one directory, by one mpiexec."""

    mpiexec: str
    directory: Path
    kernels: Kernels

    def run(self, workload: str, *options: object, ranks: int = 1) -> Result:
        words = [
            "bench",
            workload,
            "--ranks",
            ranks,
            "--mpiexec",
            self.mpiexec,
            "--dir",
            self.directory,
            *options,
        ]
        return CliRunner().invoke(cli, [str(word) for word in words])

    def answer(
        self, workload: str, *options: object, ranks: int = 1, status: int = 0
    ) -> dict[str, Any]:
        """The JSON of a run that must end with that status."""
        result = self.run(workload, *options, "--json", ranks=ranks)
        assert result.exit_code == status, result.output[-2000:]
        return json.loads(result.stdout)

    def need(self, method: str, format_: str) -> None:
        if (method, format_) not in self.kernels.pairs:
            pytest.skip(
                f"{method} with {format_} is not in this build: `tailrace doctor` says "
                "what is missing"
            )

    def left(self) -> list[str]:
        """What runs have left in the directory."""
        return sorted(path.name for path in self.directory.iterdir())


@pytest.fixture(scope="session")
def built(made_once: Callable[..., Path]) -> tuple[str, Kernels]:
    """The mpiexec, and the kernels for it, kept in build/ for the next time."""
    mpi = find_mpi("system-openmpi")
    if shutil.which("cmake") is None:
        pytest.skip("there is no cmake")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TAILRACE_CACHE", str(CACHE))
        found = launcher.find(mpi.mpiexec)

        def build(_directory: Path) -> None:
            _ = kernels.existing(found.mpi) or kernels.build(found.mpi, print)

        made_once("kernels-of-bench", build)
        there = kernels.existing(found.mpi)
        assert there is not None
        return mpi.mpiexec, there


@pytest.fixture
def bench(built: tuple[str, Kernels], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setenv("TAILRACE_CACHE", str(CACHE))
    monkeypatch.chdir(tmp_path)
    directory = tmp_path / "target"
    directory.mkdir()
    return Bench(built[0], directory, built[1])
