"""What tests/kernels/formats.c writes, and how to read it without gridio."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

import h5py
import netCDF4
import numpy as np

from tests.kernels.conftest import Solver

STEPS = 3


def write(
    solver: Solver, ranks: int, method: str, form: str, path: Path, *settings: str, empty: int = -1
) -> str:
    """Rank `empty` has no blocks. Returns the hints in force, as printed."""
    run = solver.run(ranks, "write", method, form, path, STEPS, empty, *settings, program="formats")
    assert run.returncode == 0, run.stderr
    return run.stdout


def read_back(
    solver: Solver, ranks: int, method: str, form: str, path: Path, empty: int = -1
) -> None:
    run = solver.run(ranks, "read", method, form, path, STEPS, empty, program="formats")
    assert run.returncode == 0, run.stderr


@dataclass(frozen=True)
class Variable:
    name: str
    number: int
    units: str
    dtype: str
    shape: tuple[int, ...]
    every_step: bool
    is_field: bool  # CGNS: part of a flow solution

    def expected(self, step: int) -> np.ndarray:
        """Element i of variable n at step s is 16 i + 4 s + n, as a letter that number modulo
        26."""
        value = (
            16 * np.arange(np.prod(self.shape, dtype=int))
            + (4 * step if self.every_step else 0)
            + self.number
        )
        if self.dtype == "S1":
            value = np.array([bytes([ord("a") + v % 26]) for v in value])
        return value.reshape(self.shape).astype(self.dtype)


VARIABLES = [
    Variable(name, number, *rest)
    for number, (name, *rest) in enumerate(
        [
            ("ozone", "ppm", "f8", (5, 7, 6), True, True),
            ("wind", "m/s", "f4", (11, 4), True, True),
            ("mixing", "1", "f8", (3, 2, 5, 6), True, False),
            ("depth", "m", "f4", (7, 6), False, True),
            ("mask", "1", "i4", (7, 6), False, True),
            ("land", "1", "S1", (7, 6), False, False),
            ("title", "1", "S1", (20,), False, False),
            ("time", "s", "f8", (), True, False),
            ("count", "1", "i4", (), False, False),
            ("level", "Pa", "f4", (5,), True, False),
            ("heat", "K", "f8", (7, 6), True, True),
            ("row_of", "1", "i4", (13,), True, False),
        ]
    )
]
NAMED = {
    "ozone": ("layer", "row", "column"),
    "depth": ("row", "column"),
    "title": ("letter",),
    "level": ("layer",),
}


def check(read, path: Path, steps: int = STEPS) -> None:
    """Compares every element; `read` gives one variable at one step as an array."""
    for variable in VARIABLES:
        for step in range(steps if variable.every_step else 1):
            got, wanted = read(path, variable, step), variable.expected(step)
            assert got.dtype == wanted.dtype, variable.name
            np.testing.assert_array_equal(got, wanted, err_msg=f"{variable.name} at step {step}")


def read_netcdf(path: Path, variable: Variable, step: int) -> np.ndarray:
    with netCDF4.Dataset(path) as dataset:
        dataset.set_auto_mask(False)
        found = dataset[variable.name]
        assert found.units == variable.units
        names = found.dimensions[variable.every_step :]
        assert not variable.every_step or found.dimensions[0] == "step"
        assert names == NAMED.get(variable.name, names)
        return np.asarray(found[step] if variable.every_step else found[...], variable.dtype)


def read_hdf5(path: Path, variable: Variable, step: int) -> np.ndarray:
    with h5py.File(path) as file:
        found = file[variable.name]
        assert found.attrs["units"].decode() == variable.units
        assert found.dtype == np.dtype(variable.dtype)
        return np.asarray(found[step] if variable.every_step else found[()])


def whole_steps(form: str, path: Path) -> int:
    if form in ("hdf5", "cgns"):
        with h5py.File(path) as file:
            return int(
                file.attrs["gridio_steps"]
                if form == "hdf5"
                else file["Base3/BaseIterativeData/ data"][0]
            )
    with netCDF4.Dataset(path) as dataset:
        return int(dataset.gridio_steps)


@dataclass(frozen=True)
class CgnsReader:
    """Through the CGNS project's serial library: tests/kernels/cgns_dump.c."""

    program: Path

    def arrays(self, path: Path) -> dict[str, np.ndarray]:
        kinds = {"RealDouble": "f8", "RealSingle": "f4", "Integer": "i4", "Character": "S1"}
        arrays = {}
        for line in self.lines(path):
            if " : " not in line:
                continue
            description, data = line.split(" : ")
            name, kind, *sizes = description.split()
            shape = [int(size) for size in reversed(sizes)]  # C's order
            arrays[name] = np.frombuffer(bytes.fromhex(data), kinds[kind]).reshape(shape)
        return arrays

    def lines(self, path: Path) -> list[str]:
        run = subprocess.run(
            [self.program, path], capture_output=True, text=True, check=True, timeout=60
        )
        return run.stdout.splitlines()

    def __call__(self, path: Path, variable: Variable, step: int) -> np.ndarray:
        arrays = self.arrays(path)
        when = f"Step{step:08d}" if variable.every_step else "Once"
        shape = "x".join(map(str, variable.shape))
        if variable.is_field:
            return arrays[
                f"Base{len(variable.shape)}/Zone_{shape}/{when}@CellCenter/{variable.name}"
            ]
        return arrays[f"Base3/{when}/{variable.name}"].reshape(variable.shape)
