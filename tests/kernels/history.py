"""Reads and checks a history file without any of the project's own code: numpy and the header's
plain text."""

from __future__ import annotations

import cmath
import math
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

TYPES = {
    "float64": np.float64,
    "float32": np.float32,
    "int32": np.int32,
    "character": np.dtype("S1"),
}
FIRST_PAGE_BYTES = 4096

# kernels/solver/transport.h
COURANT_X, COURANT_Y, DIFFUSION_HORIZONTAL, DIFFUSION_VERTICAL = 0.30, 0.20, 0.05, 0.10


Block = tuple[slice, ...]


@dataclass
class Variable:
    name: str
    units: str
    dtype: np.dtype
    tiled: bool
    every_step: bool
    shape: tuple[int, ...]
    offset_bytes: int  # in the file, or in its step
    whole: tuple[int, ...] = ()  # of a part, in a file per rank
    blocks: list[Block] = field(default_factory=list)
    dimensions: tuple[str, ...] = ()

    @property
    def bytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


class History:
    def __init__(self, path: Path) -> None:
        self.path = path
        lines = self._header(path)
        assert lines[0] == "gridio 1"
        fields = dict(line.split(maxsplit=1) for line in lines[1:4])
        assert fields["byte_order"] == "little"
        self.steps = int(fields["steps"])
        self.header_bytes = int(fields["header_bytes"])
        self.variables: dict[str, Variable] = {}
        self._next_offset = {True: 0, False: self.header_bytes}
        for line in lines[4 : lines.index("end")]:
            word, *rest = line.split()
            getattr(self, f"_{word}")(*rest)
        self.first_step, self.step_bytes = self._next_offset[False], self._next_offset[True]

    @staticmethod
    def _header(path: Path) -> list[str]:
        with path.open("rb") as file:
            page = file.read(FIRST_PAGE_BYTES)
            length = int(page.split(b"header_bytes ")[1].split()[0])
            return (page + file.read(length - len(page))).decode().splitlines()

    def _variable(
        self, name: str, units: str, kind: str, tiled: str, when: str, _: str, *sizes: str
    ) -> None:
        every = when == "every_step"
        shape = tuple(map(int, sizes))
        self._last = Variable(
            name,
            units,
            np.dtype(TYPES[kind]),
            tiled == "tiled",
            every,
            shape,
            self._next_offset[every],
        )
        self._next_offset[every] += self._last.bytes
        self.variables[name] = self._last

    def _ordinal(self, number: str) -> None:
        assert int(number) > 0

    def _part(self, _: str, *sizes: str) -> None:
        self._last.whole = tuple(map(int, sizes))

    def _block(self, *numbers: str) -> None:
        half = len(numbers) // 2
        starts, counts = list(map(int, numbers[:half])), list(map(int, numbers[half:]))
        self._last.blocks.append(
            tuple(slice(a, a + n) for a, n in zip(starts, counts, strict=True))
        )

    def _dimensions(self, *names: str) -> None:
        self._last.dimensions = names

    def read(self, name: str, step: int = 0) -> np.ndarray:
        variable = self.variables[name]
        start = variable.offset_bytes + (
            self.first_step + step * self.step_bytes if variable.every_step else 0
        )
        count = math.prod(variable.shape)
        return np.fromfile(self.path, variable.dtype, count, offset=start).reshape(variable.shape)

    def expected_bytes(self) -> int:
        return self.first_step + self.steps * self.step_bytes


class Parts:
    """A directory of one file per rank, put together again."""

    def __init__(self, directory: Path) -> None:
        self.files = [History(path) for path in sorted(directory.iterdir())]
        self.steps = min(file.steps for file in self.files)
        self.variables = {
            name: part for file in self.files for name, part in file.variables.items()
        }

    def read(self, name: str, step: int = 0) -> np.ndarray:
        holders = [file for file in self.files if name in file.variables]
        if not self.variables[name].whole:
            return holders[0].read(name, step)
        whole = np.ma.masked_all(self.variables[name].whole, self.variables[name].dtype)
        for file in holders:
            values, used = file.read(name, step).reshape(-1), 0
            for block in file.variables[name].blocks:
                assert whole[block].mask.all(), "two ranks have the same element"
                count = whole[block].size
                whole[block] = values[used : used + count].reshape(whole[block].shape)
                used += count
        assert not np.ma.is_masked(whole), "no rank has this element"
        return whole.filled()


def exact_tracer(number: int, steps: int, grid: tuple[int, int, int]) -> np.ndarray:
    """Tracer `number` (from 0) after `steps` time steps, [z, y, x], by von Neumann's analysis of
    the scheme.

    The initial wave is an eigenvector of upwind advection with central diffusion; its eigenvalue G
    stands in kernels/solver/transport.h, so n steps multiply its amplitude by |G|^n and move its
    phase by n arg G.
    """
    nx, ny, nz = grid
    p, q = 2 * math.pi * (1 + number % 3) / nx, 2 * math.pi * (1 + number % 2) / ny
    r = math.pi * (number % 4) / nz
    growth = (
        1
        - COURANT_X * (1 - cmath.exp(-1j * p))
        - COURANT_Y * (1 - cmath.exp(-1j * q))
        + 2 * DIFFUSION_HORIZONTAL * (math.cos(p) + math.cos(q) - 2)
        + 2 * DIFFUSION_VERTICAL * (math.cos(r) - 1)
    )
    z, y, x = np.ogrid[:nz, :ny, :nx]
    wave = np.sin(p * x + q * y + steps * cmath.phase(growth))
    return 1 + 0.5 * abs(growth) ** steps * wave * np.cos(r * (z + 0.5))
