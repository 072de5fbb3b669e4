"""The raw formats, posix and mpiio, as kernels/gridio/raw_layout.h describes them: a header in
plain text, the variables written once, then step after step the others, each a whole array in C
order.
"""

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tailrace.bench.fingerprint import Box
from tailrace.bench.readers.stored import DTYPES, Block, File, Part, slices

FIRST_PAGE_BYTES = 4096
HEADER_AT_MOST_BYTES = 64 << 20


@dataclass
class RawVariable:
    path: Path
    dtype: np.dtype
    shape: tuple[int, ...]
    every_step: bool
    part: Part | None = None
    offset_bytes: int = 0  # in the file, or in its step
    first_step: int = 0
    step_bytes: int = 0

    def read(self, step: int, box: Box) -> np.ndarray:
        start = self.offset_bytes + (
            self.first_step + step * self.step_bytes if self.every_step else 0
        )
        if not self.shape:
            return np.fromfile(self.path, self.dtype, 1, offset=start).reshape(())
        return np.array(np.memmap(self.path, self.dtype, "r", start, self.shape)[slices(box)])

    @property
    def bytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


class RawFile(File):
    def __init__(self, path: Path) -> None:
        super().__init__(path)
        lines = _header(path)
        fields = dict(line.split(maxsplit=1) for line in lines[1:4])
        if fields.get("byte_order") != "little":
            raise ValueError(f"its byte order is {fields.get('byte_order')}, not little")
        self.steps = int(fields["steps"])
        self.variables: dict[str, RawVariable] = {}
        for line in lines[4 : lines.index("end")]:
            self._line(line.split())
        self._place(int(fields["header_bytes"]))

    def _line(self, words: list[str]) -> None:
        """A variable, or more about the one before."""
        if words[0] == "variable":
            _, name, _, kind, _, when, _, *size = words
            shape = tuple(map(int, size))
            self._last = self.variables[name] = RawVariable(
                self.path, np.dtype(DTYPES[kind]), shape, when == "every_step"
            )
        elif words[0] == "part":
            self._last.part = Part(tuple(map(int, words[2:])), ())
        elif words[0] == "block":
            numbers, part = list(map(int, words[1:])), self._last.part
            assert part is not None  # a block's line stands under a part's
            width = len(part.shape)
            block = Block(tuple(numbers[:width]), tuple(numbers[width:]))
            self._last.part = Part(part.shape, (*part.blocks, block))

    def _place(self, header_bytes: int) -> None:
        next_offset = {True: 0, False: header_bytes}
        for variable in self.variables.values():
            variable.offset_bytes = next_offset[variable.every_step]
            next_offset[variable.every_step] += variable.bytes
        for variable in self.variables.values():
            variable.first_step, variable.step_bytes = next_offset[False], next_offset[True]


def _header(path: Path) -> list[str]:
    with path.open("rb") as file:
        page = file.read(FIRST_PAGE_BYTES)
        if not page.startswith(b"gridio 1\n"):
            raise ValueError("it does not begin with 'gridio 1'")
        length = int(page.split(b"header_bytes ")[1].split()[0])
        if length > HEADER_AT_MOST_BYTES:
            raise ValueError(f"its header claims {length} bytes")
        return (page + file.read(max(0, length - len(page)))).decode().splitlines()
