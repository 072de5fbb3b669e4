"""CGNS files that gridio wrote, by h5py: kernels/gridio/format_cgns.c says where variables stand,
kernels/cgns/node.h how nodes lie in HDF5. `library_problems` has the CGNS library's own program
look at the same file.
"""

import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from tailrace.bench.fingerprint import Box
from tailrace.bench.readers.raw import RawFile, RawVariable
from tailrace.bench.readers.stored import File, Part, slices

NAME_CHARACTERS = 32
CHECK_TIMEOUT_S = 120


@dataclass
class CgnsVariable:
    name: str
    file: Any
    described: RawVariable
    is_tiled: bool

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(self._set(0).dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.described.shape

    @property
    def part(self) -> Part | None:
        return self.described.part

    def read(self, step: int, box: Box) -> np.ndarray:
        values = self._set(step)
        return np.asarray(values[slices(box)] if self.shape else values[0])

    def _set(self, step: int) -> Any:
        when = f"Step{step:08d}" if self.described.every_step else "Once"
        return self.file[f"{self._home()}/{when}/{self.name}/ data"]

    def _home(self) -> str:
        """A field stands in the zone of its shape; all else in the first base."""
        is_field = self.is_tiled and 2 <= len(self.shape) <= 3 and self.described.dtype.kind != "S"
        if is_field:
            zone = f"Zone_{'x'.join(map(str, self.shape))}"[:NAME_CHARACTERS]
            return f"Base{len(self.shape)}/{zone}"
        return _first_base(self.file)


def _first_base(file: Any) -> str:
    """Children in the order in which they were made, as CGNS counts them."""
    return next(
        name for name, node in file.items() if _text(node.attrs.get("label")) == "CGNSBase_t"
    )


def _text(value: Any) -> str:
    return bytes(value or b"").split(b"\0")[0].decode("ascii", "replace").strip()


class _Description(RawFile):
    """The node `gridio`: the raw formats' header, of which the offsets mean nothing here."""

    def __init__(self, text: str) -> None:
        File.__init__(self, Path())
        self.variables = {}
        lines = text.splitlines()
        self.tiled = {
            line.split()[1]: line.split()[4] == "tiled"
            for line in lines
            if line.startswith("variable ")
        }
        for line in lines[4 : lines.index("end")]:
            self._line(line.split())


class CgnsFile(File):
    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._data = h5py.File(path, "r", track_order=True)
        base = _first_base(self._data)
        characters = self._data[f"{base}/gridio/ data"][...]
        described = _Description(characters.astype(np.uint8).tobytes().decode("ascii"))
        counted = self._data.get(f"{base}/BaseIterativeData/ data")
        self.steps = 0 if counted is None else int(counted[0])
        self.variables = {
            name: CgnsVariable(name, self._data, variable, described.tiled[name])
            for name, variable in described.variables.items()
        }

    def close(self) -> None:
        super().close()
        self._data.close()


@dataclass
class NodeVariable:
    """The data of one node. h5py has its dimensions reversed with respect to CGNS's, so in C
    order."""

    stored: Any
    dtype: np.dtype
    shape: tuple[int, ...]
    part: Part | None = None

    def read(self, step: int, box: Box) -> np.ndarray:
        return np.asarray(self.stored[slices(box)])


class NodesFile(File):
    """What was written by the CGNS calls: a variable's name is its node's path."""

    def __init__(self, path: Path, names: Iterable[str]) -> None:
        super().__init__(path)
        self._data = h5py.File(path, "r")
        self.steps = 1
        found = {
            name: self._data[f"{name}/ data"] for name in names if f"{name}/ data" in self._data
        }
        self.variables = {
            name: NodeVariable(stored, stored.dtype, stored.shape) for name, stored in found.items()
        }

    def close(self) -> None:
        super().close()
        self._data.close()


def library_problems(path: Path) -> list[str]:
    """What cgnscheck, which reads by the serial CGNS library, finds wrong; nothing where it is not
    installed."""
    program = shutil.which("cgnscheck")
    if program is None:
        return []
    done = subprocess.run(
        [program, path],
        capture_output=True,
        text=True,
        errors="replace",
        timeout=CHECK_TIMEOUT_S,
        check=False,
    )
    errors = re.findall(r"^\s*(?:ERROR|FATAL ERROR)[^\n]*", done.stdout + done.stderr, re.MULTILINE)
    if not errors and done.returncode != 0:
        errors = [f"cgnscheck ended with status {done.returncode}"]
    return [error.strip() for error in errors]
