"""HDF5, by the h5py package: one data set per variable, the steps its first dimension."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from tailrace.bench.fingerprint import Box
from tailrace.bench.readers.stored import File, Part, part_of, slices


@dataclass
class Hdf5Variable:
    stored: Any
    dtype: np.dtype
    shape: tuple[int, ...]
    every_step: bool
    part: Part | None

    def read(self, step: int, box: Box) -> np.ndarray:
        return np.asarray(self.stored[((step,) if self.every_step else ()) + slices(box)])


def variable_of(stored: Any) -> Hdf5Variable:
    every_step = bool(int(np.ravel(stored.attrs.get("gridio_every_step", 0))[0]))
    part = None
    if "gridio_size" in stored.attrs:
        part = part_of(_numbers(stored, "gridio_size"), _numbers(stored, "gridio_blocks"))
    return Hdf5Variable(stored, stored.dtype, stored.shape[int(every_step) :], every_step, part)


def _numbers(stored: Any, attribute: str) -> list[int]:
    return [int(number) for number in np.ravel(stored.attrs.get(attribute, []))]


class Hdf5File(File):
    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._data = h5py.File(path, "r")
        # h5perf's file has one state, and no attributes.
        self.steps = int(np.ravel(self._data.attrs.get("gridio_steps", 1))[0])
        self.variables = {
            name: variable_of(stored)
            for name, stored in self._data.items()
            if isinstance(stored, h5py.Dataset)
        }

    def close(self) -> None:
        super().close()
        self._data.close()
