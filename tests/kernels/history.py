"""Reads and checks a history file without any of the project's own code: numpy and the header's plain text."""

from __future__ import annotations

import cmath
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

TYPES = {"float64": np.float64, "float32": np.float32, "int32": np.int32, "character": np.dtype("S1")}
FIRST_PAGE_BYTES = 4096

# kernels/solver/transport.h
COURANT_X, COURANT_Y, DIFFUSION_HORIZONTAL, DIFFUSION_VERTICAL = 0.30, 0.20, 0.05, 0.10


@dataclass(frozen=True)
class Variable:
    name: str
    units: str
    dtype: np.dtype
    tiled: bool
    every_step: bool
    shape: tuple[int, ...]
    offset_bytes: int  # in the file, or in its step

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
        self._place([line.split()[1:] for line in lines[4 : lines.index("end")]])

    @staticmethod
    def _header(path: Path) -> list[str]:
        with path.open("rb") as file:
            page = file.read(FIRST_PAGE_BYTES)
            length = int(page.split(b"header_bytes ")[1].split()[0])
            return (page + file.read(length - len(page))).decode().splitlines()

    def _place(self, words: list[list[str]]) -> None:
        next_offset = {True: 0, False: self.header_bytes}
        self.variables: dict[str, Variable] = {}
        for name, units, kind, tiled, when, _, *sizes in words:
            every = when == "every_step"
            variable = Variable(
                name, units, np.dtype(TYPES[kind]), tiled == "tiled", every, tuple(map(int, sizes)), next_offset[every]
            )
            next_offset[every] += variable.bytes
            self.variables[name] = variable
        self.first_step, self.step_bytes = next_offset[False], next_offset[True]

    def read(self, name: str, step: int = 0) -> np.ndarray:
        variable = self.variables[name]
        start = variable.offset_bytes + (self.first_step + step * self.step_bytes if variable.every_step else 0)
        count = math.prod(variable.shape)
        return np.fromfile(self.path, variable.dtype, count, offset=start).reshape(variable.shape)

    def expected_bytes(self) -> int:
        return self.first_step + self.steps * self.step_bytes


def exact_tracer(number: int, steps: int, grid: tuple[int, int, int]) -> np.ndarray:
    """Tracer `number` (from 0) after `steps` time steps, [z, y, x], by von Neumann's analysis of the scheme.

    The initial wave is an eigenvector of upwind advection with central diffusion; its eigenvalue G stands in
    kernels/solver/transport.h, so n steps multiply its amplitude by |G|^n and move its phase by n arg G.
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
