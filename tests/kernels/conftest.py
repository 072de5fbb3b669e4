"""The kernels, built once for each MPI library by CMake, as a user builds them."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.conftest import ROOT, Mpi, find_mpi

# No run here takes more than a few seconds on a quiet machine; one that is not over by then hangs.
LONGEST_RUN_S = 300


@dataclass(frozen=True)
class Solver:
    mpi: Mpi
    build: Path

    def run(
        self, ranks: int, *options: str | Path, program: str = "solver", **how
    ) -> subprocess.CompletedProcess[str]:
        command = self.mpi.launch(ranks, self.build / program, *options)
        return subprocess.run(
            command,
            env=self.mpi.variables(),
            capture_output=True,
            text=True,
            timeout=LONGEST_RUN_S,
            stdin=subprocess.DEVNULL,
            **how,
        )


# Debian's Open MPI loses data in its own MPI-IO, and PnetCDF crashes in it; in ROMIO, which it has
# too, neither is so.
ROMIO = {"OMPI_MCA_io": "^ompio"}


@pytest.fixture(scope="session")
def build_kernels(made_once: Callable[..., Path]) -> Callable[[str], Solver]:
    """Builds the kernels and the tests' own programs for one MPI library, once."""

    def build(name: str) -> Solver:
        mpi = find_mpi(name)
        if name == "system-openmpi":
            mpi = replace(mpi, environment=mpi.environment | ROMIO)

        def compile_all(directory: Path) -> None:
            source = ["-S", ROOT / "tests" / "kernels", f"-DCMAKE_C_COMPILER={mpi.mpicc}"]
            for command in (
                ["cmake", "-B", directory, *source],
                ["cmake", "--build", directory, "--parallel", "2"],
            ):
                subprocess.run(command, check=True, capture_output=True)

        return Solver(mpi, made_once(f"kernels-{name}", compile_all))

    return build


LIBRARIES = [
    "mpich",
    *(pytest.param(name, marks=pytest.mark.slow) for name in ("openmpi", "system-openmpi")),
]


@pytest.fixture(scope="session", params=LIBRARIES)
def solver(request: pytest.FixtureRequest, build_kernels: Callable[[str], Solver]) -> Solver:
    return build_kernels(request.param)


@pytest.fixture(scope="session")
def one_solver(build_kernels: Callable[[str], Solver]) -> Solver:
    """Any one library, for what does not depend on it."""
    return build_kernels("mpich")


@pytest.fixture(scope="session")
def debian(build_kernels: Callable[[str], Solver]) -> Solver:
    """For Debian's Open MPI, to which the parallel format libraries belong; skips where they are
    not installed."""
    solver = build_kernels("system-openmpi")
    cache = (solver.build / "CMakeCache.txt").read_text()
    for library in ("hdf5", "netcdf", "pnetcdf"):
        if not re.search(rf"gridio_{library}_.*_LINKS:INTERNAL=1", cache):
            pytest.skip(
                f"parallel {library} for Debian's Open MPI is not installed:"
                " see tools/system-packages"
            )
    return solver
