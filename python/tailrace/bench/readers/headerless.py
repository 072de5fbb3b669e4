"""Files that are nothing but numbers: what BT-IO's own modes and h5perf's POSIX and MPI-IO write.
Which numbers, the records say: a variable's type and size.
"""

import math
import re
from pathlib import Path

import numpy as np

from tailrace.bench.readers.raw import RawVariable
from tailrace.bench.readers.stored import DTYPES, Block, File, Part
from tailrace.bench.records import Record

OF_RANK = re.compile(r"\.(\d{4,})$")


class PlainFile(File):
    """Step after step all variables, each a whole array in C order."""

    def __init__(self, path: Path, described: dict[str, Record]) -> None:
        super().__init__(path)
        self.variables: dict[str, RawVariable] = {}
        for name, record in described.items():
            self.variables[name] = RawVariable(
                path, _dtype(record), tuple(record["size"]), True, None
            )
        self._place()

    def _place(self) -> None:
        step_bytes = 0
        for variable in self.variables.values():
            variable.offset_bytes, step_bytes = step_bytes, step_bytes + variable.bytes
        for variable in self.variables.values():
            variable.step_bytes = step_bytes
        self.steps = self.path.stat().st_size // step_bytes if step_bytes else 0


def _dtype(record: Record) -> np.dtype:
    return np.dtype(DTYPES[record["type"]])


class DiagonalFile(PlainFile):
    """One rank's file of BT-IO's mode epio: dump after dump, the rank's cells one after another."""

    def __init__(self, path: Path, described: dict[str, Record], ranks: int) -> None:
        File.__init__(self, path)
        found = OF_RANK.search(path.name)
        if found is None:
            raise ValueError("its name does not end with a rank")
        self.variables = {}
        for name, record in described.items():
            whole = tuple(record["size"])
            part = Part(whole, tuple(cells(int(found[1]), ranks, whole)))
            self.variables[name] = RawVariable(
                path, _dtype(record), _stored_shape(part), True, part
            )
        self._place()


def _stored_shape(part: Part) -> tuple[int, ...]:
    """One block as it is, several in a row: what `shares` expects of a part."""
    if len(part.blocks) == 1:
        return part.blocks[0].count
    return (sum(math.prod(block.count) for block in part.blocks),)


def cells(rank: int, ranks: int, whole: tuple[int, ...]) -> list[Block]:
    """The diagonal multi-partition of NAS BT: of p × p ranks, rank r's cell n is, in cells, at x =
    (r mod p + n) mod p, y = (r / p − n) mod p, z = n (NPB 3, BT, make_set). `whole` is z, y, x,
    component."""
    edge = round(ranks**0.5)
    column, row = rank % edge, rank // edge
    places = [(n, (row - n) % edge, (column + n) % edge) for n in range(edge)]
    return [_cell(place, edge, whole) for place in places]


def _cell(place: tuple[int, ...], edge: int, whole: tuple[int, ...]) -> Block:
    bounds = [
        (first(size, edge, at), first(size, edge, at + 1))
        for size, at in zip(whole, place, strict=False)
    ]
    rest = whole[len(place) :]
    start = tuple(low for low, _ in bounds) + (0,) * len(rest)
    return Block(start, tuple(high - low for low, high in bounds) + rest)


def first(points: int, edge: int, cell: int) -> int:
    """Where a cell begins: those that come first are one point longer where the points cannot be
    shared out evenly."""
    return points // edge * cell + min(cell, points % edge)
