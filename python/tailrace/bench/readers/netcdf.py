"""netCDF in all its formats, classic, 64-bit and netCDF-4, by the netCDF4 package."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np

from tailrace.bench.fingerprint import Box
from tailrace.bench.readers.stored import File, Part, part_of, slices


@dataclass
class NetcdfVariable:
    stored: Any
    dtype: np.dtype
    shape: tuple[int, ...]
    every_step: bool
    part: Part | None

    def read(self, step: int, box: Box) -> np.ndarray:
        place = ((step,) if self.every_step else ()) + slices(box)
        return np.asarray(self.stored[place if place else ...])


def _variable(stored: Any) -> NetcdfVariable:
    attributes = stored.ncattrs()
    every_step = (
        bool(int(stored.getncattr("gridio_every_step")))
        if "gridio_every_step" in attributes
        else False
    )
    part = None
    if "gridio_size" in attributes:
        blocks = _numbers(stored, "gridio_blocks") if "gridio_blocks" in attributes else []
        part = part_of(_numbers(stored, "gridio_size"), blocks)
    return NetcdfVariable(
        stored, np.dtype(stored.dtype), stored.shape[int(every_step) :], every_step, part
    )


def _numbers(stored: Any, attribute: str) -> list[int]:
    return [int(number) for number in np.atleast_1d(stored.getncattr(attribute))]


class NetcdfFile(File):
    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._data = netCDF4.Dataset(str(path), "r")
        self._data.set_auto_maskandscale(False)
        self._data.set_auto_chartostring(False)
        self.steps = int(self._data.getncattr("gridio_steps"))
        self.variables = {name: _variable(stored) for name, stored in self._data.variables.items()}

    def close(self) -> None:
        super().close()
        self._data.close()
