"""What every reader gives: files, and in them variables as they are stored."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from tailrace.bench import fingerprint
from tailrace.bench.fingerprint import Box

DTYPES = {"float64": "<f8", "float32": "<f4", "int32": "<i4", "character": "S1"}


@dataclass(frozen=True)
class Block:
    """A part of the whole array: first element and count along every dimension."""

    start: tuple[int, ...]
    count: tuple[int, ...]


@dataclass(frozen=True)
class Part:
    """Of which array, and which blocks of it, a variable in one of several files is."""

    shape: tuple[int, ...]
    blocks: tuple[Block, ...]


class StoredVariable(Protocol):
    """One variable in a file. `shape` is without the steps; `part` is None where the file has the
    whole."""

    @property
    def dtype(self) -> np.dtype: ...

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def part(self) -> Part | None: ...

    def read(self, step: int, box: Box) -> np.ndarray:
        """The values of a box at a step of the file (of what is written once, whichever step is
        given)."""


class File:
    """A file that was opened for reading. `steps`: how many it says are whole."""

    steps: int
    variables: Mapping[str, StoredVariable]

    def __init__(self, path: Path) -> None:
        self.path = path

    def close(self) -> None:
        self.variables = {}

    def __enter__(self) -> "File":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def shares(variable: StoredVariable, step: int) -> Iterator[int]:
    """The shares of a variable's fingerprint, box after box."""
    if variable.part is None:
        yield from _shares(variable, step, (0,) * len(variable.shape), variable.shape)
    elif len(variable.part.blocks) == 1:
        yield from _shares(variable, step, variable.part.blocks[0].start, variable.part.shape)
    else:
        yield from _shares_of_row(variable, step, variable.part)


def _shares(
    variable: StoredVariable, step: int, origin: tuple[int, ...], whole: tuple[int, ...]
) -> Iterator[int]:
    for box in fingerprint.boxes(variable.shape):
        start = [first + offset for (first, _), offset in zip(box, origin, strict=True)]
        yield fingerprint.of_box(variable.read(step, box), start, whole)


def _shares_of_row(variable: StoredVariable, step: int, part: Part) -> Iterator[int]:
    """Of several blocks, which follow one another in a row. A box is contiguous in its block's
    order, so in the row."""
    offset = 0
    for block in part.blocks:
        for box in fingerprint.boxes(block.count):
            inner = [first for first, _ in box]
            count = [number for _, number in box]
            begin = offset + _place(inner, block.count)
            values = variable.read(step, ((begin, math.prod(count)),)).reshape(count)
            start = [first + more for first, more in zip(block.start, inner, strict=True)]
            yield fingerprint.of_box(values, start, part.shape)
        offset += math.prod(block.count)


def _place(index: list[int], shape: tuple[int, ...]) -> int:
    return sum(first * math.prod(shape[axis + 1 :]) for axis, first in enumerate(index))


def slices(box: Box) -> tuple[slice, ...]:
    return tuple(slice(first, first + count) for first, count in box)


def part_of(size: list[int], numbers: list[int]) -> Part:
    """From a whole's size, and for each block its start and count in every dimension, one after
    another."""
    width = len(size)
    rows = (
        [numbers[place : place + 2 * width] for place in range(0, len(numbers), 2 * width)]
        if width
        else []
    )
    return Part(tuple(size), tuple(Block(tuple(row[:width]), tuple(row[width:])) for row in rows))
