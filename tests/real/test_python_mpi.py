"""mpi4py, mpi4py.futures, parallel h5py and netCDF4 as Debian packages them: programs that see
nothing of capture, with the bytes that strace counts and the finding that an expert would give."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Mpi, find_mpi
from tests.never_harm.test_mpi4py_wheels import VERSION, wheel_environment
from tests.real.harness import Program, assert_same_bytes, compare

pytestmark = [pytest.mark.whole, pytest.mark.alone]

PYTHON = "/usr/bin/python3"
RANKS, ROWS, COLUMNS = 2, 16, 4096
# Compiled modules are kept beside no program.
ENVIRONMENT = {"PYTHONDONTWRITEBYTECODE": "1"}
# Read by the interpreter before MPI_Init, and so outside the run.
SCRIPT = "program.py"

MASTER = f"""
import numpy
from mpi4py import MPI
rank = MPI.COMM_WORLD.Get_rank()
part = numpy.full({ROWS * COLUMNS}, rank, dtype="f8")
for step in range(10):
    parts = MPI.COMM_WORLD.gather(part)
    if rank == 0:
        with open(f"step{{step}}.dat", "wb", buffering=0) as output:
            for values in parts:
                output.write(values.tobytes())
if rank == 0:
    print("done")
"""

FUTURES = """
from mpi4py.futures import MPIPoolExecutor
def square(number):
    with open(f"{number}.txt", "w") as output:
        output.write("x" * 1000 * number)
    return number * number
if __name__ == "__main__":
    with MPIPoolExecutor(max_workers=2) as pool:
        print(list(pool.map(square, range(1, 9))))
"""

HDF5 = f"""
import sys
import h5py, numpy
from mpi4py import MPI
world = MPI.COMM_WORLD
rank, ranks = world.Get_rank(), world.Get_size()
with h5py.File("out.h5", "w", driver="mpio", comm=world) as output:
    data = output.create_dataset("u", ({ROWS}, {COLUMNS} * ranks), dtype="f8")
    for row in range({ROWS}):
        values = numpy.full({COLUMNS}, rank * 1000 + row, dtype="f8")
        part = slice(rank * {COLUMNS}, (rank + 1) * {COLUMNS})
        if sys.argv[1] == "collective":
            with data.collective:
                data[row, part] = values
        else:
            data[row, part] = values
if rank == 0:
    print("written")
"""

NETCDF = f"""
import netCDF4, numpy
with netCDF4.Dataset("out.nc", "w", format="NETCDF4") as output:
    output.createDimension("t", None)
    output.createDimension("x", {COLUMNS})
    field = output.createVariable("field", "f8", ("t", "x"))
    for step in range({ROWS}):
        field[step, :] = numpy.arange({COLUMNS}) * step
        output.sync()
with netCDF4.Dataset("out.nc") as output:
    print(float(output["field"][:].sum()))
"""


@pytest.fixture
def debian() -> Mpi:
    return find_mpi("system-openmpi")


def modules(*names: str) -> None:
    """Skips with Debian's name of the package where Debian's Python lacks one of them."""
    packages = {
        "mpi4py": "python3-mpi4py",
        "h5py": "python3-h5py-mpi",
        "netCDF4": "python3-netcdf4",
    }
    for name in names:
        found = subprocess.run([PYTHON, "-c", f"import {name}"], capture_output=True)
        if found.returncode:
            package = packages.get(name, f"python3-{name.lower()}")
            pytest.skip(f"there is no {name} for {PYTHON}: apt-get install {package}")


def script(text: str) -> Callable[[Path], None]:
    def write(work: Path) -> None:
        (work / SCRIPT).write_text(text)

    return write


def of_ranks(mpi: Mpi, text: str, *arguments: str, ranks: int = RANKS) -> Program:
    command = mpi.launch(ranks, PYTHON, SCRIPT, *arguments)
    return Program(command, script(text), {**mpi.environment, **ENVIRONMENT})


@pytest.mark.measured("who writes, in a run of a fraction of a second")
def test_mpi4py_gathers_to_a_master_that_writes(debian: Mpi, tmp_path: Path) -> None:
    modules("mpi4py", "numpy")
    compared = compare(tmp_path, of_ranks(debian, MASTER))
    assert_same_bytes(compared, outside=(SCRIPT,))
    written = compared.run.ranks["bytes_written"]
    assert written[0] >= 10 * RANKS * ROWS * COLUMNS * 8
    assert written[1] < 1000
    said = [f"{f.code}: {f.finding}" for f in compared.run.findings]
    assert any("files alone" in finding for finding in said), said


@pytest.mark.parametrize("family", ["mpich", "openmpi"])
def test_mpi4py_futures_of_a_wheel(family: str, tmp_path: Path) -> None:
    mpi = find_mpi(family)
    folder = wheel_environment(family, f"mpi4py=={VERSION}", family)
    command = [folder / "bin" / "mpiexec", *mpi.launch(1)[1:], folder / "bin" / "python", SCRIPT]
    variables = {**mpi.environment, **ENVIRONMENT}
    variables["PATH"] = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    compared = compare(tmp_path, Program(command, script(FUTURES), variables))
    assert len(compared.run.ranks) == 3
    for number in range(1, 9):
        assert compared.file(f"{number}.txt")["bytes_written"] == 1000 * number


def test_mpi4py_futures_starts_workers(debian: Mpi, tmp_path: Path) -> None:
    modules("mpi4py")
    compared = compare(tmp_path, of_ranks(debian, FUTURES, ranks=1))
    assert len(compared.run.ranks) == 3
    for number in range(1, 9):
        assert compared.file(f"{number}.txt")["bytes_written"] == 1000 * number
    assert compared.run.metrics["capture"]["complete"], compared.said


@pytest.mark.parametrize("how", ["collective", "independent"])
def test_h5py_writes_in_parallel(debian: Mpi, how: str, tmp_path: Path) -> None:
    modules("mpi4py", "h5py", "numpy")
    compared = compare(tmp_path, of_ranks(debian, HDF5, how))
    assert_same_bytes(compared, outside=(SCRIPT,))
    assert compared.file("out.h5")["mpiio_bytes_written"] >= RANKS * ROWS * COLUMNS * 8


def test_netcdf_synchronises_each_step(tmp_path: Path) -> None:
    modules("netCDF4")
    program = Program([PYTHON, SCRIPT], script(NETCDF), ENVIRONMENT)
    compared = compare(tmp_path, program)
    # It reads the first bytes through a stdio buffer.
    (written,) = {moved[1] for path, moved in compared.moved.items() if path.endswith("/out.nc")}
    assert compared.file("out.nc")["bytes_written"] == written >= ROWS * COLUMNS * 8
    assert compared.file("out.nc")["syncs"] == 0
