"""A beam for CalculiX: a box of hexahedra, clamped at one end and loaded at the other, as an input
file (.inp).

The beam is LENGTH_M long, and as high and wide as elements of the same size along it make it;
steel, large displacements, so that the load is applied in increments. Every increment that is
written goes to the .frd file (displacements, stresses and strains) and to the .dat file
(displacements and reaction forces, stresses).
"""

from collections.abc import Iterator

import numpy as np

from tailrace.bench.workload import Calculix

LENGTH_M = 4.0
YOUNG_PA, POISSON = 210e9, 0.3
# End load over the beam's bending stiffness: in every size the beam bends by about a tenth of its
# length.
RELATIVE_LOAD = 0.3
# The corners of a hexahedron, and the middles of its edges in CalculiX's order, in halves of an
# element.
CORNERS = [(0, 0, 0), (2, 0, 0), (2, 2, 0), (0, 2, 0), (0, 0, 2), (2, 0, 2), (2, 2, 2), (0, 2, 2)]
MIDDLES = [
    *((1, 0, 0), (2, 1, 0), (1, 2, 0), (0, 1, 0)),
    *((1, 0, 2), (2, 1, 2), (1, 2, 2), (0, 1, 2)),
    *((0, 0, 1), (2, 0, 1), (2, 2, 1), (0, 2, 1)),
]
NUMBERS_IN_A_LINE = 16


class Beam:
    """Node numbers, coordinates and elements. Points are counted in halves of an element."""

    def __init__(self, table: Calculix) -> None:
        self.table = table
        counts = np.array(table.elements)
        points = np.stack(
            np.meshgrid(*(np.arange(2 * n + 1) for n in counts), indexing="ij"), axis=-1
        )
        odd = (points % 2).sum(axis=-1)
        there = odd <= (1 if table.element == "C3D20R" else 0)
        self.number = np.zeros(there.shape, np.int64)
        self.number[there] = np.arange(1, there.sum() + 1)
        self.edge_m = LENGTH_M / counts[0]
        self.coordinates = points[there] * self.edge_m / 2

    @property
    def elements(self) -> np.ndarray:
        """The node numbers of each element, a row each."""
        offsets = np.array(CORNERS + (MIDDLES if self.table.element == "C3D20R" else []))
        first = np.stack(
            np.meshgrid(*(2 * np.arange(n) for n in self.table.elements), indexing="ij"), axis=-1
        )
        x, y, z = np.moveaxis(first.reshape(-1, 1, 3) + offsets, -1, 0)
        return self.number[x, y, z]

    def end(self, x: int) -> np.ndarray:
        """The nodes of the first (0) or last (-1) cross section."""
        section = self.number[x]
        return section[section > 0]

    def force_n(self) -> float:
        """The whole load at the end, downwards."""
        width, height = (n * self.edge_m for n in self.table.elements[1:])
        return RELATIVE_LOAD * YOUNG_PA * width * height**3 / 12 / LENGTH_M**2


def input_file(table: Calculix) -> Iterator[str]:
    """The lines of the .inp file."""
    beam = Beam(table)
    yield from (
        "*HEADING",
        f"a beam of {' x '.join(map(str, table.elements))} {table.element} elements",
    )
    yield "*NODE, NSET=ALL"
    for number, (x, y, z) in enumerate(beam.coordinates, 1):
        yield f"{number}, {x:.9g}, {y:.9g}, {z:.9g}"
    yield f"*ELEMENT, TYPE={table.element}, ELSET=BEAM"
    for number, nodes in enumerate(beam.elements, 1):
        yield from _lines([number, *nodes])
    for name, x in (("CLAMPED", 0), ("LOADED", -1)):
        yield f"*NSET, NSET={name}"
        yield from _lines(beam.end(x).tolist())
    yield from ("*MATERIAL, NAME=STEEL", "*ELASTIC", f"{YOUNG_PA:g}, {POISSON}")
    yield "*SOLID SECTION, ELSET=BEAM, MATERIAL=STEEL"
    yield from ("*BOUNDARY", "CLAMPED, 1, 3")
    yield from _step(beam)


def _step(beam: Beam) -> Iterator[str]:
    table, loaded = beam.table, len(beam.end(-1))
    yield f"*STEP, NLGEOM, INC={10 * table.increments}"
    yield from ("*STATIC, DIRECT", f"{1 / table.increments:.9g}, 1.")
    yield from ("*CLOAD", f"LOADED, 3, {-beam.force_n() / loaded:.9g}")
    yield from (f"*NODE FILE, FREQUENCY={table.frequency}", "U, RF")
    yield from (f"*EL FILE, FREQUENCY={table.frequency}", "S, E")
    yield from (f"*NODE PRINT, NSET=ALL, FREQUENCY={table.frequency}", "U, RF")
    yield from (f"*EL PRINT, ELSET=BEAM, FREQUENCY={table.frequency}", "S")
    yield "*END STEP"


def _lines(numbers: list[int]) -> Iterator[str]:
    """At most 16 numbers stand in a line; one that goes on ends with a comma."""
    for place in range(0, len(numbers), NUMBERS_IN_A_LINE):
        text = ", ".join(map(str, numbers[place : place + NUMBERS_IN_A_LINE]))
        yield text + ("," if place + NUMBERS_IN_A_LINE < len(numbers) else "")
